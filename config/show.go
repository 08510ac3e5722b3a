package config

import (
	"fmt"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

// With returns the settings with those of flags, where given, over them.
func (c Config) With(flags Config) Config { return over(c, flags) }

// Files lists the files that settings are read from, first to last. They need
// not exist. Root is "" outside a repository.
func Files(home, root string) []string {
	files := []string{filepath.Join(home, "config.toml")}
	if root != "" {
		files = append(files, filepath.Join(root, ".plan", "config.toml"))
	}
	return files
}

// TOML writes the settings as a configuration file would, as Public has them.
func (c Config) TOML() (string, error) {
	data, err := toml.Marshal(c.Public())
	if err != nil {
		return "", fmt.Errorf("write the settings as TOML: %w", err)
	}
	return string(data), nil
}

package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/plan-engine/plan"
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

// Layer is the settings as they are once a source was read, and those before it.
type Layer struct {
	Name   string // of the source
	Config Config
}

// Explained writes the settings of the last layer as a configuration file would,
// each with the first layer since which it is what it is. What is not set anywhere
// stands with the value that is used then, where there is one.
func Explained(layers []Layer) (string, error) {
	var text string
	values := make([]map[string]string, len(layers))
	for i, l := range layers {
		var err error
		if text, err = l.Config.asUsed().TOML(); err != nil {
			return "", err
		}
		values[i] = map[string]string{}
		eachValue(text, func(key, line string) string {
			values[i][key] = line
			return ""
		})
	}
	return eachValue(text, func(key, line string) string {
		from := len(layers) - 1
		for from > 0 && values[from-1][key] == line {
			from--
		}
		return fmt.Sprintf("%s  # %s", line, layers[from].Name)
	}), nil
}

// asUsed has the values that are used where the settings say none.
func (c Config) asUsed() Config {
	c.Sandbox = cmp.Or(c.Sandbox, "auto")
	c.Structured = cmp.Or(c.Structured, "auto")
	c.Compact.Level = cmp.Or(c.Compact.Level, "safe")
	c.Checks.Evidence = cmp.Or(c.Checks.Evidence, plan.EvidenceUnbroken)
	c.Walls.Environment = cmp.Or(c.Walls.Environment, "minimal")
	c.PublishInterval = Of(cmp.Or(c.PublishInterval.Duration, 2*time.Second))
	for _, choice := range []**bool{&c.Worktree, &c.ReplanOnDrift, &c.Critique, &c.ApprovePlan} {
		if *choice == nil {
			*choice = new(false)
		}
	}
	return c
}

// eachValue writes a file of settings with other lines in the place of those that
// give a key a value. A key of a list's item has its number.
func eachValue(text string, with func(key, line string) string) string {
	var out strings.Builder
	table := ""
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		name, _, isValue := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "[["):
			table = fmt.Sprintf("%s %d", line, n)
		case strings.HasPrefix(line, "["):
			table = line
		case isValue:
			line = with(table+name, line)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

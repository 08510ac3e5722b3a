package sandbox

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/plan-engine/plan/internal/plainfile"
)

// GoSetting is a setting of go in an environment: that of the variable, else what
// "go env -w" has kept, which a variable would hide; "" if there is neither.
func GoSetting(env []string, name string) string {
	if value := lookupEnv(env, name); value != "" {
		return value
	}
	file := lookupEnv(env, "GOENV")
	if file == "" {
		file = filepath.Join(configDir(env), "go", "env")
	}
	text, err := plainfile.Read(file)
	if err != nil || file == "off" {
		return ""
	}
	return lookupEnv(strings.Split(string(text), "\n"), name)
}

// configDir is os.UserConfigDir for another environment.
func configDir(env []string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(lookupEnv(env, "HOME"), "Library", "Application Support")
	}
	if dir := lookupEnv(env, "XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(lookupEnv(env, "HOME"), ".config")
}

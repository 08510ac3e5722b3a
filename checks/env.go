package checks

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// verbose has go test name each test that it runs. The other commands of go
// take no notice of it.
const verbose = "-test.v"

// Env is the environment of a check: env, with what makes test runners say what
// they ran, and without what would let them take a result from a folder that
// the work could have filled. tmp is a folder that only the check writes to; ""
// keeps the folders of caches as they are.
func Env(env []string, tmp string) []string {
	set := map[string]string{
		"GOFLAGS":                    strings.TrimSpace(goFlags(env) + " " + verbose),
		"NODE_DISABLE_COMPILE_CACHE": "1",
		"BABEL_DISABLE_CACHE":        "1",
		"TSX_DISABLE_CACHE":          "1",
		"TURBO_FORCE":                "true",
		"NX_SKIP_NX_CACHE":           "true",
		"RUFF_NO_CACHE":              "true",
	}
	if tmp != "" {
		set["PYTHONPYCACHEPREFIX"] = path.Join(tmp, "plan-pycache")
		set["MYPY_CACHE_DIR"] = path.Join(tmp, "plan-mypy")
		set["BOOTSNAP_CACHE_DIR"] = path.Join(tmp, "plan-bootsnap")
	}
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, again := set[name]
		return again
	})
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	slices.Sort(out[len(out)-len(set):])
	return out
}

// valueIn is the value of a variable in env, "" when it is not set.
func valueIn(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// goFlags are the flags that go would take by itself: those of the environment,
// else those that "go env -w" has kept, which a variable would hide.
func goFlags(env []string) string {
	if flags := valueIn(env, "GOFLAGS"); flags != "" {
		return flags
	}
	file := valueIn(env, "GOENV")
	if file == "" {
		file = filepath.Join(configDir(env), "go", "env")
	}
	text, err := os.ReadFile(file)
	if err != nil || file == "off" {
		return ""
	}
	return valueIn(strings.Split(string(text), "\n"), "GOFLAGS")
}

// configDir is os.UserConfigDir for another environment.
func configDir(env []string) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(valueIn(env, "HOME"), "Library", "Application Support")
	}
	if dir := valueIn(env, "XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(valueIn(env, "HOME"), ".config")
}

package checks

import (
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/sandbox"
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
		"GOFLAGS":                    strings.TrimSpace(sandbox.GoSetting(env, "GOFLAGS") + " " + verbose),
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

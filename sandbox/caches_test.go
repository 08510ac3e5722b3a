package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox"
)

// kept are files of a user's caches, and how commands name them who do as they are told.
var kept = map[string]string{
	".cache/go-build/ab/abcd-d":       "${GOCACHE:-$HOME/.cache/go-build}/ab/abcd-d",
	"go/pkg/mod/m@v1/m.go":            "${GOMODCACHE:-$HOME/go/pkg/mod}/m@v1/m.go",
	".npm/_npx/1a/run":                "${npm_config_cache:-$HOME/.npm}/_npx/1a/run",
	".gradle/caches/jars-9/a.jar":     "${GRADLE_USER_HOME:-$HOME/.gradle}/caches/jars-9/a.jar",
	".cargo/registry/src/crate/a.rs":  "${CARGO_HOME:-$HOME/.cargo}/registry/src/crate/a.rs",
	".m2/repository/g/a.jar":          "$(o=${MAVEN_OPTS#*maven.repo.local=}; o=${o%% *}; echo ${o:-$HOME/.m2/repository})/g/a.jar",
	".cache/pip/http/a":               "${PIP_CACHE_DIR:-$HOME/.cache/pip}/http/a",
	".local/share/pnpm/store/v3/file": "${npm_config_store_dir:-$HOME/.local/share/pnpm/store}/v3/file",
}

// What an implementer writes to caches reaches neither the user nor a check. What
// setup writes reaches both it and the checks, and what one check writes the next,
// and nothing writes to a layer that it was given to read.
func TestCachesAreLayers(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		y := newYard(t)
		write := func(root, text string) {
			for name := range kept {
				path := filepath.Join(root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
		}
		write(y.home, "user\n")
		before := contents(t, y.home)
		layers := t.TempDir()
		at := func(name string) string { return filepath.Join(layers, name) }
		// run runs a line for each cached file, behind a wall over layers that takes
		// the writes in upper, and returns what it printed in all.
		run := func(p sandbox.Policy, line, upper string, over ...string) string {
			t.Helper()
			for _, c := range sandbox.Caches(y.env(), time.Unix(1, 0)) {
				p.Caches = append(p.Caches, c.Over(over, upper))
			}
			w, run := y.wall(t, level, p)
			var out strings.Builder
			for name, told := range kept {
				if level == sandbox.LevelNone && strings.Contains(line, "$real") {
					break // nothing holds commands there that do not do as they are told
				}
				res := run("told=\"" + told + "\"; real=~/" + name + "; " + line)
				out.Write(res.Output)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			return out.String()
		}
		const put = `mkdir -p "$(dirname "$told")" && echo `
		check := sandbox.Policy{Discard: true}
		implement := sandbox.Policy{Network: true}
		run(implement, put+`setup >"$told.setup"`, at("start"))
		sealed := contents(t, at("start"))
		run(implement, put+`evil >"$told"; echo evil >"$told.evil"; cat "$told.setup"`, at("implement"), at("start"))
		run(implement, `echo evil >"$real"; rm -rf "$real"; echo evil >>"$real.evil"`, at("implement"), at("start"))
		if diff := cmp.Diff(before, contents(t, y.home)); diff != "" {
			t.Errorf("the user's caches changed (-before +after)\n%s", diff)
		}
		run(check, put+`check >"$told.check"; echo check >>"$told"`, at("check1"), at("start"))
		if got := run(check, `cat "$real" "$told"*`, at("check2"), at("start"), at("check1")); strings.Contains(got, "evil") {
			t.Errorf("the check sees what the implementer wrote:\n%s", got)
		} else if level == sandbox.LevelNamespaces {
			// The user's file with what the first check added to it, seen twice, and both files beside it.
			if n := strings.Count(got, "setup"); n != len(kept) || strings.Count(got, "user\ncheck") != 2*n ||
				strings.Count(got, "check\n") != 3*n {
				t.Errorf("the check does not see what lies below it:\n%s", got)
			}
		}
		if diff := cmp.Diff(sealed, contents(t, at("start"))); diff != "" {
			t.Errorf("a layer that was only to be read changed (-before +after)\n%s", diff)
		}
	})
}

// contents are the files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".work") { // the kernel's own
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || d.Name() == "testexpire.txt" {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

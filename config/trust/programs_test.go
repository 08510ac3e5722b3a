package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/internal/gittest"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.Write(t, root, map[string]string{
		"Makefile":           "x:\n",
		"main.go":            "package main\n",
		"src/a.js":           "1\n",
		"scripts/may-edit":   "#!/bin/sh\n",
		"scripts/lib.sh":     "true\n",
		"tools/check.py":     "print()\n",
		"tools/judge/j.go":   "package main\n",
		"tools/judge/deep/x": "x\n",
		"judge":              "true\n",
	})
	if err := os.Chmod(filepath.Join(root, "judge"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/true", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	mayEdit, none := []string{"scripts/may-edit"}, []string(nil)
	for command, want := range map[string]struct{ judges, advises []string }{
		"./scripts/may-edit":                                  {mayEdit, mayEdit},
		root + "/scripts/may-edit --all":                      {mayEdit, mayEdit},
		"cd scripts && ./may-edit":                            {mayEdit, mayEdit},
		"cd scripts; sh may-edit":                             {mayEdit, mayEdit},
		"D=scripts; $D/may-edit":                              {mayEdit, mayEdit},
		"$PWD/scripts/may-edit":                               {mayEdit, mayEdit},
		"~/elsewhere/scripts/may-edit":                        {mayEdit, mayEdit},
		`"$(git rev-parse --show-toplevel)"/scripts/may-edit`: {mayEdit, mayEdit},
		"for f in may-edit; do sh scripts/$f; done":           {mayEdit, mayEdit},
		"bash -c 'exec scripts/may-edit'":                     {mayEdit, mayEdit},
		"cat scripts/may-edit | sh":                           {mayEdit, mayEdit},
		"sh < scripts/lib.sh":                                 {[]string{"scripts/lib.sh"}, []string{"scripts/lib.sh"}},
		". scripts/lib.sh":                                    {[]string{"scripts/lib.sh"}, []string{"scripts/lib.sh"}},
		"sh scripts/*.sh":                                     {[]string{"scripts/lib.sh"}, []string{"scripts/lib.sh"}},
		"PATH=scripts:$PATH; grep x may-edit":                 {mayEdit, mayEdit},
		"grep() { sh scripts/lib.sh; }; grep":                 {[]string{"scripts/lib.sh"}, []string{"scripts/lib.sh"}},
		"cd tools && python3 -m check":                        {[]string{"tools/check.py"}, []string{"tools/check.py"}},
		"python3 -m tools.check":                              {[]string{"tools/check.py"}, []string{"tools/check.py"}},
		"go run ./tools/judge": {
			[]string{"judge", "tools/judge/j.go"}, // what is named like a folder may be meant as well
			[]string{"judge", "tools/judge/j.go"},
		},
		"make -f Makefile x":            {[]string{"Makefile"}, []string{"Makefile"}},
		"./judge":                       {[]string{"judge"}, []string{"judge"}},
		"./link":                        {[]string{"link"}, []string{"link"}},
		"if 'unfinished scripts/lib.sh": {[]string{"scripts/lib.sh"}, []string{"scripts/lib.sh"}},
		// What only reads, or is outside the tree, is as it is now.
		"grep -q main main.go || exit 1":                 {none, none},
		"cat scripts/may-edit":                           {none, none},
		"make fmt":                                       {[]string{"Makefile"}, none},
		"jq -r '.paths[]' | xargs -r gofmt -w":           {none, none},
		"touch src/a.js":                                 {[]string{"src/a.js"}, none},
		"./none > main.go":                               {none, none},
		"gofmt -l main.go":                               {none, none},
		"golangci-lint run ./...":                        {none, none},
		`prettier --check "src/**/*.js"`:                 {[]string{"src/a.js"}, none},
		"eslint src":                                     {none, none},
		"/usr/bin/env true":                              {none, none},
		"cat > /dev/null; echo '{\"context\": \"run\"}'": {none, none},
	} {
		if diff := cmp.Diff(want.judges, trust.Programs(root, command, true)); diff != "" {
			t.Errorf("%s, strictly (-want +got):\n%s", command, diff)
		}
		if diff := cmp.Diff(want.advises, trust.Programs(root, command, false)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

// What a command takes its tasks from counts beside what it runs; what programs compile
// or try is what is worked on.
func TestTasks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"Makefile": 0o600, "package.json": 0o600, "justfile": 0o600, "start": 0o700, "lib.sh": 0o600, "go.mod": 0o600,
		"a_test.go": 0o600, "conftest.py": 0o600, "Cargo.toml": 0o600, "sub/Makefile": 0o600, "tool.py": 0o600,
		"test_a.py": 0o600, "data.txt": 0o600,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string][]string{
		"make x":            {"Makefile"},
		"cd sub && make":    {"Makefile", "sub/Makefile"},
		"npm run x":         {"package.json"},
		"just x":            {"justfile"},
		"./start a":         {"start"},
		"bash lib.sh":       {"lib.sh"},
		"env A=1 ./start":   {"start"},
		"python3 tool.py":   {"tool.py"},
		"go test ./...":     nil,
		"pytest test_a.py":  nil,
		"cargo test":        nil,
		"cat Makefile":      nil,
		"cp data.txt x.txt": nil,
	} {
		if got := trust.Tasks(root, command); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

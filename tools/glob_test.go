package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	dir := plantGit(t, files{
		".gitignore":         "build/\n",
		".github/ci.yml":     "",
		"main.go":            "",
		"cmd/a/main.go":      "",
		"cmd/a/main_test.go": "",
		"cmd/b/main.c":       "",
		"build/out.go":       "",
		"gone.go":            "",
		"ta\tb.go":           "",
	})
	gitIn(t, dir, "add", "-A")
	must(t, os.Remove(filepath.Join(dir, "gone.go")))
	set := openSet(t, tools.Config{Root: dir})
	cases := []struct{ pattern, path, want string }{
		{"*.go", "", "cmd/a/main.go\ncmd/a/main_test.go\nmain.go\n\"ta\\tb.go\"\n"},
		{"/*.go", "", "main.go\n\"ta\\tb.go\"\n"},
		{"**/*.go", "", "cmd/a/main.go\ncmd/a/main_test.go\nmain.go\n\"ta\\tb.go\"\n"},
		{"cmd/**/main.{go,c}", "", "cmd/a/main.go\ncmd/b/main.c\n"},
		{"./cmd/a/", "", "cmd/a/main.go\ncmd/a/main_test.go\n"},
		{"a/*_test.go", "cmd", "cmd/a/main_test.go\n"},
		{"cmd/a/*_test.go", "cmd", "cmd/a/main_test.go\n"},
		{"!*.go", "", ".github/ci.yml\n.gitignore\ncmd/b/main.c\n"},
		{"!cmd/**", "", ".github/ci.yml\n.gitignore\nmain.go\n\"ta\\tb.go\"\n"},
		{"!a/**", "cmd", "cmd/b/main.c\n"},
		{"*.yml", "", ".github/ci.yml\n"},
		{"*.go", "build", "build/out.go\n"},
		{"[gm]ain.go", "cmd/a", "cmd/a/main.go\n"},
		{"*.rs", "", "no file below . matches the glob *.rs (8 files are there)\n"},
		{"gone.go", "", "every file that matches gone.go was deleted\n"},
	}
	for _, c := range cases {
		t.Run(c.pattern+" "+c.path, func(t *testing.T) {
			t.Parallel()
			res := ask(t, set, "glob", args{"pattern": c.pattern, "path": c.path})
			sameText(t, res.Output, c.want)
			if res.Error {
				t.Error("told as an error")
			}
		})
	}
	refused(t, ask(t, set, "glob", args{"pattern": ""}), "empty")
	refused(t, ask(t, set, "glob", args{"pattern": "/"}), "empty")
	refused(t, ask(t, set, "glob", args{"pattern": "!"}), "empty")
	refused(t, ask(t, set, "glob", args{"pattern": "a[b"}), "malformed")
	refused(t, ask(t, set, "glob", args{"pattern": "../**"}), "leads outside")
	refused(t, ask(t, set, "glob", args{"pattern": "*", "path": "main.go"}), "main.go is a file")
}

func TestGlobBounds(t *testing.T) {
	t.Parallel()
	tree := files{}
	for i := range 620 {
		tree[fmt.Sprintf("f%03d", i)] = ""
	}
	set := openSet(t, tools.Config{Root: plant(t, tree)})
	out := ask(t, set, "glob", args{"pattern": "f*"}).Output
	if strings.Count(out, "\n") != 501 || !strings.HasSuffix(out, "f499\n[120 more files match; narrow the pattern or the path]\n") {
		t.Errorf("ends with %q", out[len(out)-80:])
	}
}

// Git is found nowhere that is to be avoided.
func TestGlobAvoidsGit(t *testing.T) {
	dir, other := plantGit(t, files{".gitignore": "*.log\n", "a.go": "", "a.log": ""}), t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "git"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	t.Setenv("PATH", other+":"+os.Getenv("PATH"))
	set := openSet(t, tools.Config{Root: dir, Avoid: func(path string) bool {
		return strings.HasPrefix(path, other)
	}})
	if res := ask(t, set, "glob", args{"pattern": "a.*"}); res.Output != "a.go\n" {
		t.Errorf("%+v", res)
	}
}

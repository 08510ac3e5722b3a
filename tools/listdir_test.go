package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

func TestListDir(t *testing.T) {
	t.Parallel()
	tree := files{
		".gitignore":     "node_modules/\n*.o\n",
		"z/deep/er/f.go": "package er\n", "z/g.o": "x",
		"b.txt": strings.Repeat("x", 1536), "a.txt": "",
		"node_modules/x/y.js": "", "c.o": "",
		"ta\tb": "1",
	}
	dir := plantGit(t, tree)
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	must(t, os.Symlink("b.txt", filepath.Join(dir, "link")))
	mkfifo(t, filepath.Join(dir, "pipe"))
	set := openSet(t, tools.Config{Root: dir})
	const rest = ".gitignore 18 B\na.txt 0 B\nb.txt 1.5 KB\nlink -> b.txt\npipe (named pipe)\n\"ta\\tb\" 1 B\n"
	cases := []struct {
		name string
		args args
		want string
	}{
		{"root", args{}, "empty/\nz/\n" + rest + "[2 entries ignored by .gitignore left out]\n"},
		{"two levels", args{"depth": 2}, "empty/\nz/\n  deep/\n" + rest + "[3 entries ignored by .gitignore left out]\n"},
		{"below", args{"path": "z", "depth": 5}, "deep/\n  er/\n    f.go 11 B\n[1 entry ignored by .gitignore left out]\n"},
		{"empty", args{"path": "empty"}, "(empty is empty)\n"},
		{"ignored but named", args{"path": "node_modules", "depth": 2}, "x/\n  y.js 0 B\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sameText(t, ask(t, set, "list_dir", c.args).Output, c.want)
		})
	}
	refused(t, ask(t, set, "list_dir", args{"path": "b.txt"}), "b.txt is a file (1.5 KB)", "read")
	refused(t, ask(t, set, "list_dir", args{"path": "zz"}), "nearest: z")
}

func TestListDirBounds(t *testing.T) {
	t.Parallel()
	tree := files{}
	for i := range 30 {
		for j := range 30 {
			tree[fmt.Sprintf("d%02d/f%02d", i, j)] = ""
		}
	}
	for i := range 450 {
		tree[fmt.Sprintf("d00/sub/g%03d", i)] = ""
	}
	set := openSet(t, tools.Config{Root: plant(t, tree)})
	out := ask(t, set, "list_dir", args{"depth": 4}).Output
	if n := strings.Count(out, "\n"); n != 31 || !strings.HasSuffix(out, "d29/\n[shown to depth 1, because depth 2 has more than 400 entries; list a directory below]\n") {
		t.Errorf("%d lines: %s", n, out)
	}
	out = ask(t, set, "list_dir", args{"path": "d00/sub"}).Output
	if n := strings.Count(out, "\n"); n != 401 || !strings.HasSuffix(out, "g399 0 B\n[50 more entries not shown; use glob to find files by name]\n") {
		t.Errorf("%d lines: %s", n, out)
	}
}

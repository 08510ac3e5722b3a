package worktree_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

func TestInstructions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		files map[string]string
		links map[string]string // name → target
		want  []worktree.Instruction
	}{
		"none": {files: map[string]string{"README.md": "x", "agents.md": "x", "AGENTS.md.txt": "x"}},
		"root first, then by path": {
			files: map[string]string{"CLAUDE.md": "c\n", "AGENTS.md": "a\n", "z/AGENTS.md": "za", "B/c/CLAUDE.md": "bc", "AAA/CLAUDE.md": "aaa"},
			want:  []worktree.Instruction{{"AGENTS.md", "a"}, {"CLAUDE.md", "c"}, {"AAA/CLAUDE.md", "aaa"}, {"B/c/CLAUDE.md", "bc"}, {"z/AGENTS.md", "za"}},
		},
		"ignored and blank": {
			files: map[string]string{".gitignore": "vendor\n", "vendor/AGENTS.md": "v", "AGENTS.md": " \n\n"},
		},
		"equal":                 {files: map[string]string{"AGENTS.md": "same\n", "CLAUDE.md": "same"}, want: []worktree.Instruction{{"AGENTS.md", "same"}}},
		"link":                  {files: map[string]string{"AGENTS.md": "a"}, links: map[string]string{"CLAUDE.md": "AGENTS.md"}, want: []worktree.Instruction{{"AGENTS.md", "a"}}},
		"import":                {files: map[string]string{"AGENTS.md": "a", "CLAUDE.md": "@AGENTS.md\n"}, want: []worktree.Instruction{{"AGENTS.md", "a"}}},
		"pointer":               {files: map[string]string{"d/AGENTS.md": "a", "d/CLAUDE.md": "Read AGENTS.md.\n"}, want: []worktree.Instruction{{"d/AGENTS.md", "a"}}},
		"pointer the other way": {files: map[string]string{"AGENTS.md": "See CLAUDE.md", "CLAUDE.md": "c"}, want: []worktree.Instruction{{"CLAUDE.md", "c"}}},
		"pointer to nothing":    {files: map[string]string{"CLAUDE.md": "See AGENTS.md"}, want: []worktree.Instruction{{"CLAUDE.md", "See AGENTS.md"}}},
		"more than a pointer":   {files: map[string]string{"AGENTS.md": "a", "CLAUDE.md": "@AGENTS.md\nAnd be brief."}, want: []worktree.Instruction{{"AGENTS.md", "a"}, {"CLAUDE.md", "@AGENTS.md\nAnd be brief."}}},
		"leads out":             {links: map[string]string{"AGENTS.md": "../outside"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"f": "x"})
			put(t, filepath.Dir(dir), map[string]string{"outside": "secret"})
			put(t, dir, c.files)
			for link, target := range c.links {
				symlink(t, target, dir, link)
			}
			got, err := r.Instructions(t.Context())
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, instructions (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestInstructionsAreBounded(t *testing.T) {
	t.Parallel()
	r, dir := start(t, nil)
	files := map[string]string{"AGENTS.md": strings.Repeat("é", 20<<10), "e/AGENTS.md": "short"}
	for _, d := range []string{"a", "b", "c", "d"} {
		files[d+"/AGENTS.md"] = strings.Repeat(d, 12<<10)
	}
	put(t, dir, files)
	got, err := r.Instructions(t.Context())
	if err != nil || len(got) != 6 {
		t.Fatalf("%d instructions, %v", len(got), err)
	}
	var sizes []string
	for _, in := range got {
		if !utf8.ValidString(in.Text) {
			t.Errorf("%s is cut through a character", in.Path)
		}
		sizes = append(sizes, fmt.Sprintf("%s %d %v", in.Path, len(in.Text)>>10, in.Text != ""))
	}
	want := []string{"AGENTS.md 16 true", "a/AGENTS.md 12 true", "b/AGENTS.md 12 true", "c/AGENTS.md 0 false", "d/AGENTS.md 0 false", "e/AGENTS.md 0 false"}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Errorf("sizes in KiB, and whether there is text (-want +got):\n%s", diff)
	}
	if !strings.Contains(got[0].Text, "bytes left out") {
		t.Error("the cut is not marked")
	}
}

package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed list_dir.md
var listDirDoc string

const (
	listDepth   = 5   // levels shown at most
	listEntries = 400 // entries shown at most
)

type listDirArgs struct {
	Path  string `json:"path,omitempty"`
	Depth int    `json:"depth,omitempty" jsonschema:"minimum=1,maximum=5"`
}

func listDirTool() builtin {
	return builtin{
		info:    loop.Info{Spec: spec("list_dir", listDirDoc), Effect: plan.EffectReplay},
		purpose: Inspect,
		describe: described(func(_ string, a listDirArgs) Call {
			c := describePath(a.Path)
			c.Title = cmp.Or(a.Path, ".")
			return c
		}),
		open: opens((*Set).runListDir),
	}
}

func (s *Set) runListDir(ctx context.Context, a listDirArgs, _ loop.Input) (loop.Result, error) {
	dir, problem := s.rel(a.Path)
	if problem != "" {
		return loop.Failed(problem), nil
	}
	info, err := s.root.Stat(dir)
	if err != nil {
		return s.explain(ctx, dir, err), nil
	}
	if !info.IsDir() {
		return loop.Failed(
			fmt.Sprintf("%s is a file (%s); use read to see it", show(dir), sizeText(info.Size())),
		), nil
	}
	listed, err := s.list(ctx, dir)
	if err != nil {
		if ctx.Err() != nil {
			return loop.Result{}, err
		}
		return s.explain(ctx, dir, err), nil
	}
	t := tree{
		set:         s,
		top:         dir,
		listedPaths: listedPaths(listed),
	}
	wanted := min(max(a.Depth, 1), listDepth)
	depth, entries := wanted, []string(nil)
	for ; ; depth-- {
		if err := ctx.Err(); err != nil {
			return loop.Result{}, fmt.Errorf("list_dir: %w", err)
		}
		t.ignored, t.count = 0, 0
		entries, err = t.level(dir, "", depth)
		if err != nil {
			return s.explain(ctx, dir, err), nil
		}
		if t.count <= listEntries || depth == 1 {
			break
		}
	}
	return t.result(entries, wanted, depth), nil
}

// listedPaths is every path of a git listing and the directories they are in; nil if
// nothing is to be left out.
func listedPaths(l listing) map[string]bool {
	if !l.git {
		return nil
	}
	out := make(map[string]bool, len(l.files))
	for _, f := range withDirs(l.files) {
		out[f] = true
	}
	return out
}

// tree renders a directory.
type tree struct {
	set         *Set
	top         string
	listedPaths map[string]bool
	count       int // entries that the wanted depth has
	ignored     int // entries left out
}

// level returns the lines for the entries of a directory, and depth-1 levels
// below each. Past the bound it counts and renders nothing.
func (t *tree) level(dir, indent string, depth int) ([]string, error) {
	entries, err := t.entries(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if t.count++; t.count > listEntries {
			continue
		}
		name := join(dir, e.Name())
		if !e.IsDir() {
			out = append(out, indent+t.file(name, e))
			continue
		}
		out = append(out, indent+show(e.Name())+"/")
		if depth > 1 {
			below, err := t.level(name, indent+"  ", depth-1)
			if err != nil {
				out[len(out)-1] += " (" + cause(err).Error() + ")"
			}
			out = append(out, below...)
		}
	}
	return out, nil
}

// entries reads a directory: directories first, by name, without what git
// ignores.
func (t *tree) entries(dir string) ([]fs.DirEntry, error) {
	f, err := t.set.root.Open(dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // explain words it for the model
	}
	defer f.Close() //nolint:errcheck // only read from
	entries, err := f.ReadDir(-1)
	if err != nil && len(entries) == 0 {
		return nil, err //nolint:wrapcheck // explain words it for the model
	}
	out := entries[:0]
	for _, e := range entries {
		switch {
		case e.Name() == ".git":
		case t.leftOut(join(dir, e.Name()), e):
			t.ignored++
		default:
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name(), b.Name())
	})
	return out, nil
}

// leftOut reports whether git ignores an entry. Git does not list empty
// directories, pipes and the like, but does not ignore them either.
func (t *tree) leftOut(name string, e fs.DirEntry) bool {
	if t.listedPaths == nil {
		return false
	}
	if below, ok := strings.CutPrefix(name, t.top+"/"); ok {
		name = below
	}
	if t.listedPaths[name] {
		return false
	}
	if e.IsDir() {
		return !t.empty(join(t.top, name))
	}
	return e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0
}

func (t *tree) empty(dir string) bool {
	f, err := t.set.root.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read from
	some, _ := f.ReadDir(1)
	return len(some) == 0
}

// file is the line for something that is not a directory.
func (t *tree) file(name string, e fs.DirEntry) string {
	label := show(path.Base(name))
	if e.Type()&fs.ModeSymlink != 0 {
		to, err := t.set.root.Readlink(name)
		if err != nil {
			to = "?"
		}
		return label + " -> " + show(to)
	}
	if !e.Type().IsRegular() {
		return label + " (" + notRegular{e.Type()}.kind() + ")"
	}
	info, err := t.set.root.Lstat(name)
	if err != nil {
		return label
	}
	return label + " " + sizeText(info.Size())
}

// result is the tree as a tool's result.
func (t *tree) result(lines []string, wanted, depth int) loop.Result {
	var b strings.Builder
	if len(lines) == 0 {
		fmt.Fprintf(&b, "(%s is empty)\n", show(t.top))
	}
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	if depth < wanted {
		fmt.Fprintf(
			&b,
			"[shown to depth %d, because depth %d has more than %d entries; list a directory below]\n",
			depth,
			depth+1,
			listEntries,
		)
	}
	if more := t.count - len(lines); more > 0 {
		fmt.Fprintf(&b, "[%s not shown; use glob to find files by name]\n", count(more, "more entry", "more entries"))
	}
	if t.ignored > 0 {
		fmt.Fprintf(&b, "[%s by .gitignore left out]\n", count(t.ignored, "entry ignored", "entries ignored"))
	}
	return loop.Result{Output: b.String()}
}

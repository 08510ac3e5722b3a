package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/worktree/git"
)

// runs are the endings, in order, of files that a program or an interpreter runs or
// loads, that say what a build has it run, or that keep what a tool came to, to be
// believed the next time.
var runs = []string{
	"a", "bash", "bat", "beam", "bin", "cjs", "class", "cma", "cmake", "cmd", "cmo", "cmxa", "cmxs", "com", "cts",
	"dill", "dll", "dylib", "egg", "eslintcache", "ex", "exe", "exs", "fish", "gradle", "groovy", "hs", "jar", "jl",
	"js", "jsx", "ko", "ksh", "kts", "lib", "lua", "mjs", "mk", "mts", "ninja", "node", "o", "phar", "php", "pl", "pm",
	"ps1", "pth", "py", "pyc", "pyd", "pyo", "pyw", "r", "rb", "rlib", "rmeta", "sh", "so", "stylelintcache", "tcl",
	"ts", "tsbuildinfo", "tsx", "war", "wasm", "whl", "zsh",
}

// runNames are files that decide what runs, whatever they end in.
var runNames = []string{
	"GNUmakefile", "Makefile", "makefile", "Rakefile", "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", "pyvenv.cfg",
	"pytest.ini", "tox.ini", "setup.cfg", "go.work", "CMakeCache.txt", "meson_test_setup.dat", "package_config.json",
	"entry_points.txt", ".mocharc.json", ".jestrc.json",
}

// tool is an ignored file that a check may execute.
type tool struct {
	path    string
	says    string // all that tells that it was written to
	changed time.Time
}

// Tools tells how the ignored files look that a check may execute: programs,
// scripts, libraries and bytecode, but not what python keeps in __pycache__. It
// gives a digest for each top folder (a file at the top is one itself), and one
// of everything under "", which is always there. The digest is made of paths,
// sizes, modes, targets of links and times; contents are not read.
func (r *Repo) Tools(ctx context.Context) (map[string]string, error) {
	files, err := r.tools(ctx)
	if err != nil {
		return nil, err
	}
	whole := sha256.New()
	out := map[string]string{}
	for top, list := range byTop(files) {
		sum := sha256.New()
		for _, t := range list {
			_, _ = sum.Write([]byte(t.says)) // a hash takes everything
		}
		out[top] = hex.EncodeToString(sum.Sum(nil))[:32]
	}
	for _, top := range slices.Sorted(maps.Keys(out)) {
		_, _ = whole.Write([]byte(top + "\x00" + out[top] + "\x00"))
	}
	out[""] = hex.EncodeToString(whole.Sum(nil))[:32]
	return out, nil
}

// ToolsSince lists, for each top folder, the files of Tools that were written to
// or replaced after a time, sorted.
func (r *Repo) ToolsSince(ctx context.Context, since time.Time) (map[string][]string, error) {
	files, err := r.tools(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for top, list := range byTop(files) {
		for _, t := range list {
			if t.changed.After(since) {
				out[top] = append(out[top], t.path)
			}
		}
	}
	return out, nil
}

// byTop sorts tools by the first element of their paths.
func byTop(found []tool) map[string][]tool {
	slices.SortFunc(found, func(a, b tool) int { return strings.Compare(a.path, b.path) })
	out := map[string][]tool{}
	for _, t := range found {
		top, _, _ := strings.Cut(t.path, "/")
		out[top] = append(out[top], t)
	}
	return out
}

func (r *Repo) tools(ctx context.Context) ([]tool, error) {
	names, err := r.git.Run(
		ctx,
		git.Call{Dir: r.root, Args: []string{"ls-files", "-o", "-i", "--exclude-standard", "-z"}},
	)
	if err != nil {
		return nil, fmt.Errorf("list the ignored files of %q: %w", r.root, err)
	}
	var out []tool
	for _, name := range splitNUL(names) {
		if !strings.HasSuffix(name, "/") {
			out, err = addTool(out, r.root, name)
		} else {
			out, err = addRepo(out, r.root, strings.TrimSuffix(name, "/"))
		}
		if err != nil {
			return nil, fmt.Errorf("look at the ignored files of %q: %w", r.root, err)
		}
	}
	return withoutReports(r.root, out), nil
}

const (
	// reportAssets is where istanbul, which measures coverage for jest and others, keeps
	// the scripts of its pages, and reportHeader is what it writes before them.
	reportAssets = "/istanbul-reports/lib/html/assets/"
	reportHeader = "/* eslint-disable */\n"
)

// withoutReports leaves out the scripts of coverage reports, which each run of the tests
// writes anew: those that are, byte for byte, copies of an asset of the tool that writes
// them. That is a tool in the tree itself, so nothing runs that is not looked at.
func withoutReports(root string, found []tool) []tool {
	assets := map[string][]string{} // by base name
	for _, t := range found {
		if strings.Contains(t.path, reportAssets) {
			assets[path.Base(t.path)] = append(assets[path.Base(t.path)], t.path)
		}
	}
	return slices.DeleteFunc(found, func(t tool) bool {
		return !strings.Contains(t.path, reportAssets) && slices.ContainsFunc(
			assets[path.Base(t.path)],
			func(asset string) bool { return isReport(root, t.path, asset) },
		)
	})
}

// isReport reports whether a plain file is a copy of an asset.
func isReport(root, name, asset string) bool {
	full := filepath.Join(root, filepath.FromSlash(name))
	from := filepath.Join(root, filepath.FromSlash(asset))
	info, err := os.Lstat(full)
	source, missing := os.Lstat(from)
	if err != nil || missing != nil || info.Mode()&(fs.ModeType|0o111) != 0 || !source.Mode().IsRegular() ||
		info.Size() != source.Size()+int64(len(reportHeader)) {
		return false
	}
	copied, err := plainfile.Read(full)
	original, missing := plainfile.Read(from)
	return err == nil && missing == nil && string(copied) == reportHeader+string(original)
}

// addRepo adds the tools of a repository in the tree, which git lists by its
// name alone.
func addRepo(out []tool, root, name string) ([]tool, error) {
	err := filepath.WalkDir(filepath.Join(root, name), func(full string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err) || os.IsPermission(err):
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(root, full)
		if err == nil {
			out, err = addTool(out, root, filepath.ToSlash(rel))
		}
		return err
	})
	return out, err //nolint:wrapcheck // names the path
}

// addTool adds a file if it is a tool. One that is gone by now is none.
func addTool(out []tool, root, name string) ([]tool, error) {
	if strings.Contains("/"+name, "/__pycache__/") {
		return out, nil
	}
	full := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Lstat(full)
	if os.IsNotExist(err) || os.IsPermission(err) {
		return out, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	target := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err = os.Readlink(full); err != nil {
			return nil, err //nolint:wrapcheck // names the path
		}
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0 && !runsByName(name):
		return out, nil
	}
	changed := changeTime(info)
	times := fmt.Sprintf("%d %d", info.ModTime().UnixNano(), changed.UnixNano())
	return append(out, tool{
		path:    name,
		says:    fmt.Sprintf("%s\x00%s\x00%v %d %s\x00", name, target, info.Mode(), info.Size(), times),
		changed: changed,
	}), nil
}

// runsByName reports whether a file without the right to be executed may be run
// all the same. A library may have its version behind its ending: x.so.1.
func runsByName(name string) bool {
	base := path.Base(name)
	ending := strings.ToLower(strings.TrimPrefix(path.Ext(base), "."))
	_, found := slices.BinarySearch(runs, ending)
	return found || strings.Contains(base, ".so.") || slices.Contains(runNames, base)
}

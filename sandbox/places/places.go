// Package places knows what of a home directory the commands of a run need: where
// managers of tools keep them, which variables name them, and which settings files
// stand there, without the credentials in them.
//
// It reads the home and an environment, and nothing else: what a wall shows is decided
// by who builds it.
package places

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/subpath"
)

// Home is a home directory, with the environment of its user.
type Home struct {
	dir  string // "" if there is none of its own
	real string // dir without symbolic links
	tree string
	env  map[string]string
}

// Of is the home directory of an environment (NAME=value), for the work on a tree.
func Of(env []string, tree string) Home {
	h := Home{tree: tree, env: map[string]string{}}
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			h.env[name] = value
		}
	}
	dir := h.env["HOME"]
	real, err := filepath.EvalSymlinks(dir)
	if !filepath.IsAbs(dir) || err != nil || real == "/" {
		return h
	}
	h.dir, h.real = filepath.Clean(dir), real
	if real, err := filepath.EvalSymlinks(tree); err == nil {
		h.tree = real
	}
	return h
}

// Dir is the directory, "" where there is none that could be hidden.
func (h Home) Dir() string { return h.dir }

// Shown lists what commands need of the home, as far as it exists: the managers' roots,
// what the environment names, and where programs of the PATH keep what they are made
// of. It is never the home itself, nor what the home or the tree lies in.
func (h Home) Shown() []string {
	if h.dir == "" {
		return nil
	}
	var out []string
	add := func(paths ...string) {
		for _, path := range paths {
			if h.showable(path) && !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	for _, m := range managers {
		for _, root := range m.roots {
			matches, _ := filepath.Glob(h.path(root)) // the patterns are fine
			add(matches...)
		}
		for _, name := range m.vars {
			add(filepath.SplitList(h.env[name])...)
		}
	}
	for _, dir := range filepath.SplitList(h.env["GOPATH"]) { // it may hold the tree
		add(filepath.Join(dir, "bin"), filepath.Join(dir, "pkg"))
	}
	for name, value := range h.env {
		if namesTools(name) {
			add(filepath.SplitList(value)...)
		}
	}
	for _, dir := range filepath.SplitList(h.env["PATH"]) {
		add(h.program(dir)...)
	}
	add(h.versionFiles()...)
	slices.Sort(out)
	return out
}

// Ask turns paths that a user writes, absolute or with ~, into what is to be shown.
// Refused are those that would show the home as a whole.
func (h Home) Ask(paths []string) (show, refused []string) {
	for _, text := range paths {
		path := filepath.Clean(text)
		if text == "~" || strings.HasPrefix(text, "~/") {
			path = filepath.Join(h.dir, text[1:])
		}
		real, err := filepath.EvalSymlinks(path)
		switch {
		case h.dir == "" || err != nil: // there is nothing to show
		case subpath.Within(real, h.real):
			refused = append(refused, text)
		default:
			show = append(show, path)
		}
	}
	return show, refused
}

// path is a path of the table, which stands elsewhere where the environment says so.
func (h Home) path(name string) string {
	for _, base := range [][2]string{
		{".cache/", "XDG_CACHE_HOME"},
		{".config/", "XDG_CONFIG_HOME"},
		{".local/share/", "XDG_DATA_HOME"},
		{".local/state/", "XDG_STATE_HOME"},
	} {
		if rest, ok := strings.CutPrefix(name, base[0]); ok && filepath.IsAbs(h.env[base[1]]) {
			return filepath.Join(h.env[base[1]], rest)
		}
	}
	return filepath.Join(h.dir, name)
}

// shared are folders of a home that belong to no tool alone.
var shared = []string{
	".cache", ".config", ".local", ".local/share", ".local/state", "Library", "Library/Application Support",
	"Library/Caches", "Library/Preferences", "Desktop", "Documents", "Downloads",
}

// showable reports whether a path exists that may be shown without being asked for:
// something below the home that is no folder of many tools, and does not hold the tree.
func (h Home) showable(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if !filepath.IsAbs(path) || err != nil {
		return false
	}
	rel, ok := subpath.Of(h.real, real)
	if !ok { // only a link in the home leads there
		_, ok = subpath.Of(h.dir, path)
		return ok && !subpath.Within(real, h.real)
	}
	return rel != "." && !slices.Contains(shared, rel) && !subpath.Within(real, h.tree)
}

// beside are the folders next to one of programs that hold what those are made of.
var beside = []string{"lib", "lib64", "libexec", "share", "include"}

// mostLinks bounds how many programs of one folder are looked at.
const mostLinks = 500

// program lists what the programs of a folder of the PATH need: the folder, what
// stands beside it, and where links in it lead.
func (h Home) program(dir string) []string {
	if !h.showable(dir) {
		return nil
	}
	out := append([]string{dir}, around(dir)...)
	entries, _ := os.ReadDir(dir) // what cannot be read shows nothing
	for _, e := range entries[:min(len(entries), mostLinks)] {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil || !isProgram(real) {
			continue
		}
		out = append(out, real)
		if inBin(real) {
			out = append(out, append(around(filepath.Dir(real)), filepath.Dir(real))...)
		}
	}
	return out
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func inBin(path string) bool {
	return slices.Contains([]string{"bin", "sbin", "shims"}, filepath.Base(filepath.Dir(path)))
}

// around lists the folders that stand beside a folder of programs.
func around(bin string) []string {
	if !inBin(filepath.Join(bin, "program")) {
		return nil
	}
	var out []string
	for _, name := range beside {
		out = append(out, filepath.Join(filepath.Dir(bin), name))
	}
	return out
}

// versionFiles lists the files that say which version of a tool is meant, in the home
// and in the folders between it and the tree.
func (h Home) versionFiles() []string {
	var out []string
	for dir := filepath.Dir(h.tree); subpath.Within(h.real, dir); dir = filepath.Dir(dir) {
		for _, name := range versionNames {
			out = append(out, filepath.Join(dir, name))
		}
	}
	for _, name := range versionNames {
		out = append(out, filepath.Join(h.dir, name))
	}
	return out
}

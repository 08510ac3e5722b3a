package places

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/internal/subpath"
)

// Folder is a folder of the home outside of the tree that a manifest of the tree names.
type Folder struct {
	Manifest string // its path in the tree
	Name     string // as the manifest has it
	Path     string
}

// naming has, for each kind of manifest, by the pattern of its name, what it names
// folders with.
var naming = []struct {
	name string
	as   []func() *regexp.Regexp
}{
	{"go.mod", []func() *regexp.Regexp{replaced}},
	{"go.work", []func() *regexp.Regexp{replaced, used}},
	{"package.json", []func() *regexp.Regexp{linked, above}},
	{"pnpm-workspace.yaml", []func() *regexp.Regexp{listed}},
	{"Cargo.toml", []func() *regexp.Regexp{pathKey, above}},
	{"pyproject.toml", []func() *regexp.Regexp{pathKey, linked, above}},
	{"requirements*.txt", []func() *regexp.Regexp{required}},
	{"Gemfile", []func() *regexp.Regexp{gemPath}},
	{"composer.json", []func() *regexp.Regexp{above}},
}

var (
	replaced = lazy.Regexp(`(?m)=>\s*"?(\.{1,2}/[^\s"]*|\.\.|/[^\s"]+)"?\s*(?://.*)?$`)
	used     = lazy.Regexp(`(?m)^\s*(?:use\s+)?"?(\.{1,2}/[^\s"]*|\.\.|/[^\s"]+)"?\s*(?://.*)?$`)
	linked   = lazy.Regexp(`(?:file|link|portal):(?://)?([^"'\s]+)`)
	above    = lazy.Regexp(`"(\.\./[^"\n]*)"`)
	listed   = lazy.Regexp(`(?m)^\s*-\s*['"]?(\.\./[^'"\s]*)`)
	pathKey  = lazy.Regexp(`\bpath\s*=\s*["']([^"'\n]+)["']`)
	required = lazy.Regexp(
		`(?m)^\s*(?:-e\s+|--editable[ =]\s*)?(?:[\w.-]+\s*@\s*)?(?:file:(?://)?)?(\.{1,2}/[^\s#;\[]*|\.\.|/[^\s#;\[]+)`,
	)
	gemPath = lazy.Regexp(`\bpath:?\s*(?:=>\s*)?["']([^"'\n]+)["']`)
)

const (
	deepestManifest = 5       // folders below the root of the tree
	mostEntries     = 20_000  // files and folders that are looked at
	mostManifest    = 1 << 20 // bytes of one that are read
)

// withoutManifests are folders of a tree whose manifests are others'.
var withoutManifests = []string{".git", "node_modules", "vendor", "target", ".venv", "venv", "testdata"}

// Named lists the folders of the home outside of the tree that manifests of the tree
// name.
func (h Home) Named() []Folder {
	if h.dir == "" {
		return nil
	}
	var out []Folder
	entries := 0
	_ = filepath.WalkDir(h.tree, func(at string, d fs.DirEntry, err error) error {
		rel, _ := subpath.Of(h.tree, at)
		switch entries++; {
		case entries > mostEntries:
			return fs.SkipAll
		case err != nil:
			return nil //nolint:nilerr // what cannot be read names nothing
		case d.IsDir():
			if strings.Count(rel, "/") >= deepestManifest || slices.Contains(withoutManifests, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		for _, f := range h.namedBy(rel) {
			if !slices.ContainsFunc(out, func(known Folder) bool { return known.Path == f.Path }) {
				out = append(out, f)
			}
		}
		return nil
	})
	return out
}

// namedBy lists those that one file names.
func (h Home) namedBy(name string) []Folder {
	var out []Folder
	for _, n := range naming {
		if ok, _ := path.Match(n.name, filepath.Base(name)); !ok { // the patterns are fine
			continue
		}
		info, err := os.Lstat(filepath.Join(h.tree, name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostManifest {
			continue
		}
		data, err := plainfile.Read(filepath.Join(h.tree, name))
		if err != nil {
			continue
		}
		for _, as := range n.as {
			for _, match := range as().FindAllSubmatch(data, -1) {
				out = append(out, h.outside(name, string(match[1]))...)
			}
		}
	}
	return out
}

// outside lists what a name in a manifest means, if that is to be asked about.
func (h Home) outside(manifest, name string) []Folder {
	at := name
	if !filepath.IsAbs(at) {
		at = filepath.Join(h.tree, filepath.Dir(manifest), at)
	}
	matches, _ := filepath.Glob(at) // what is no pattern names nothing
	var out []Folder
	for _, path := range matches {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || subpath.Within(h.tree, real) || !subpath.Within(h.real, real) || !h.showable(real) {
			continue
		}
		out = append(out, Folder{
			Manifest: filepath.ToSlash(manifest),
			Name:     name,
			Path:     real,
		})
	}
	return out
}

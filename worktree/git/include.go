package git

import (
	"path/filepath"
	"slices"
	"strings"
)

// included lists the files on which it depends what a setting in another file
// includes: they count from the moment that they are there, and those for a branch
// once it is checked out.
func (g *guard) included(s setting, from string) []string {
	section, rest, _ := strings.Cut(s.name, ".")
	if section != "include" && section != "includeif" {
		return nil
	}
	path := s.value
	below, home := strings.CutPrefix(path, "~/")
	switch {
	case home:
		path = filepath.Join(valueOf(g.plain.env, "HOME"), below)
	case strings.HasPrefix(path, "~"), strings.HasPrefix(path, "%("):
		g.loose = true // it is git that knows
	case !filepath.IsAbs(path):
		path = filepath.Join(filepath.Dir(from), path)
	}
	out := []string{path}
	if strings.HasPrefix(rest, "onbranch:") {
		for _, dir := range g.dirs {
			out = append(out, filepath.Join(dir, "HEAD"), filepath.Join(dir, "reftable", "tables.list"))
		}
	}
	return out
}

// missing adds to some paths those that are not among them.
func missing(paths []string, more ...string) []string {
	for _, path := range more {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

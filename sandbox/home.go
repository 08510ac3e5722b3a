package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// homeDirName and settingsDirName are folders of a wall's own: what stands in for
// the home directory, and the settings files that are seen in it.
const (
	homeDirName     = "home"
	settingsDirName = "settings"
)

// shownInHome lists what a policy shows of its home, as the kernel knows it, the
// outermost of those that lie in each other. What is hidden for itself is left out, and
// so is all that would show the home as a whole.
func (p Policy) shownInHome(home string) []string {
	hidden := realPaths(p.Hidden)
	visible := slices.DeleteFunc(realPaths(p.Shown), func(path string) bool {
		return path == home || !within(path, home) || inAny(path, hidden)
	})
	slices.Sort(visible)
	var out []string
	for _, path := range visible { // what lies in another comes behind it
		if !inAny(path, out) {
			out = append(out, path)
		}
	}
	return out
}

// shownIn lists what a policy shows of further homes.
func (p Policy) shownIn(homes []string) []string {
	var out []string
	for _, home := range homes {
		out = append(out, p.shownInHome(home)...)
	}
	return out
}

// settingsInHome are the settings files of a home that are not shown as they are.
func (p Policy) settingsInHome(home string) []Setting {
	return slices.DeleteFunc(slices.Clone(p.Settings), func(s Setting) bool {
		real, err := filepath.EvalSymlinks(s.Path)
		return err != nil || !within(real, home)
	})
}

// settingFile is where the wall keeps a settings file that commands see.
func settingFile(scratch string, nth int) string {
	return filepath.Join(scratch, settingsDirName, strconv.Itoa(nth))
}

// writeSettings writes the settings files that commands see.
func (p Policy) writeSettings(scratch string) error {
	home := p.ownHome()
	if home == "" || len(p.Settings) == 0 {
		return nil
	}
	err := os.MkdirAll(filepath.Join(scratch, settingsDirName), 0o755)
	for i, s := range p.settingsInHome(home) {
		err = errors.Join(err, os.WriteFile(settingFile(scratch, i), s.Data, 0o600))
	}
	if err != nil {
		return fmt.Errorf("make the settings that commands see: %w", err)
	}
	return nil
}

// settingVars are the variables that lead tools to settings files that cannot be put
// in the place of their own.
func (p Policy) settingVars(level Level, scratch string) map[string]string {
	out, home := map[string]string{}, p.ownHome()
	if home == "" || level.mounts() || level == LevelNone {
		return out
	}
	for i, s := range p.settingsInHome(home) {
		if s.Changed && s.Var != "" {
			out[s.Var] = settingFile(scratch, i)
		}
	}
	return out
}

// readInHome lists what commands may read of a home where nothing is mounted: what
// the policy and their PATH show, the settings that need no change, and what they work
// with. None of it holds anything hidden.
func (p Policy) readInHome(home string, path []string) []string {
	visible := slices.Concat(p.shownInHome(home), p.programsInHome(home, path))
	hidden := realPaths(p.Hidden)
	for _, s := range p.settingsInHome(home) {
		if s.Changed {
			hidden = append(hidden, realPaths([]string{s.Path})...)
		} else {
			visible = append(visible, realPaths([]string{s.Path})...)
		}
	}
	var out []string
	for _, dir := range visible {
		out = append(out, pathsAround(dir, hidden)...)
	}
	for _, c := range p.Caches {
		out = append(out, c.Dir)
	}
	return slices.Concat(out, p.ExtraDirs, p.Fixed)
}

// programsInHome lists the folders of a home in which programs are found. The home
// itself is none, nor what the tree lies in.
func (p Policy) programsInHome(home string, path []string) []string {
	hidden := realPaths(p.Hidden)
	tree := realPaths([]string{p.Tree})
	return slices.DeleteFunc(realPaths(path), func(dir string) bool {
		return dir == home || !within(dir, home) || inAny(dir, hidden) ||
			slices.ContainsFunc(tree, func(tree string) bool { return tree != dir && within(tree, dir) })
	})
}

// programs lists the folders in which commands find programs.
func (w *Wall) programs() []string { return filepath.SplitList(lookupEnv(w.env, "PATH")) }

// link is a symbolic link in a home.
type link struct{ at, to string }

// linksIn lists the links of a home that lead to a path, in the order in which they
// are followed.
func linksIn(home, path string) []link {
	var out []link
	rest, at := strings.Split(path, "/"), "/"
	for hops := 0; len(rest) > 0 && hops < 40; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." || name == ".." {
			at = filepath.Join(at, name)
			continue
		}
		next := filepath.Join(at, name)
		to, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		hops++
		if within(next, home) {
			out = append(out, link{at: next, to: to})
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return out
}

// realPaths are those of the paths that exist, as the kernel knows them.
func realPaths(paths []string) []string {
	var out []string
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// inAny reports whether a path is one of the directories or lies in one.
func inAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// pathsAround lists dir, or what is in it, as far as it holds nothing hidden.
func pathsAround(dir string, hidden []string) []string {
	inside := false
	for _, h := range hidden {
		if within(dir, h) {
			return nil
		}
		inside = inside || within(h, dir)
	}
	if !inside {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // what it leads to has a path of its own
			out = append(out, pathsAround(filepath.Join(dir, e.Name()), hidden)...)
		}
	}
	return out
}

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// showHome puts a folder of the wall's own over the home, and what the policy shows of
// the home into it, with the links that lead there. It returns what else is to be
// seen: programs, and what is mounted in what is shown.
func (l *layoutBuilder) showHome(p Policy, home string) []string {
	own := filepath.Join(l.scratch, homeDirName)
	l.add(kindOwn, home, own)
	more := resolvers()
	for _, path := range p.shownInHome(home) {
		if !inWorkDirs(p, path) {
			l.add(kindView, path, "")
			more = append(more, below(path, l.mounts)...)
		}
	}
	hidden := realPaths(p.Hidden)
	for _, path := range realPaths(p.Shown) { // which the links of the home may lead out to
		if !within(path, home) && !within(home, path) && !inAny(path, hidden) {
			more = append(more, path)
		}
	}
	for _, dir := range realPaths(l.shown) {
		if !within(dir, home) {
			more = append(more, dir)
		}
	}
	for _, dir := range p.programsInHome(home, l.shown) {
		if !l.isSeen(p, home, dir) {
			more = append(more, dir)
		}
	}
	l.linkHome(p, home, own)
	return more
}

// linkHome makes the links of the home that lead to what is seen.
func (l *layoutBuilder) linkHome(p Policy, home, own string) {
	named := slices.Concat(p.Shown, l.shown, []string{p.Tree}, p.ExtraDirs)
	for _, c := range p.Caches {
		named = append(named, c.Dir)
	}
	for _, s := range p.Settings {
		named = append(named, s.Path)
	}
	for _, path := range named {
		for _, k := range linksIn(home, path) {
			if !l.isSeen(p, home, filepath.Dir(k.at)) { // else it is there with what holds it
				l.addLink(rebase(k.at, home, own), k.to)
			}
		}
	}
}

// addLink makes a link in what stands in for the home.
func (l *layoutBuilder) addLink(at, to string) {
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if err == nil {
		err = os.Symlink(to, at)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		l.errs = append(l.errs, fmt.Errorf("plan the wall: %w", err))
	}
}

// putSettings puts the settings that commands see in the place of the user's own.
func (l *layoutBuilder) putSettings(p Policy, home string) {
	if err := p.writeSettings(l.scratch); err != nil {
		l.errs = append(l.errs, err)
		return
	}
	for i, s := range p.settingsInHome(home) {
		if !inWorkDirs(p, s.Path) {
			l.add(kindPut, s.Path, settingFile(l.scratch, i))
		}
	}
}

// isSeen reports whether a path that exists can be seen behind the wall: outside of
// the home, with what commands work with, or with what has been planned to be shown.
func (l *layoutBuilder) isSeen(p Policy, home, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if !within(real, home) || inWorkDirs(p, real) {
		return true
	}
	return slices.ContainsFunc(p.Caches, func(c Cache) bool { return within(real, c.Dir) }) ||
		slices.ContainsFunc(l.steps, func(s step) bool {
			return s.At != home && within(s.At, home) && within(real, s.At)
		})
}

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// layoutInput is what a layout is made on.
type layoutInput struct {
	home    string   // of the user
	shown   []string // what is seen wherever it lies: where programs are found
	scratch string   // the wall's own folder, outside the wall
	mounts  []string // where something is mounted
	// written and read are seen wherever they lie, besides what the policy names.
	written, read []string
}

// temporary folders are replaced by the wall's own.
func temporary() []string { return []string{"/tmp", "/var/tmp"} }

// layout turns a policy into mounts, and makes the folders that they need.
func layout(p Policy, g layoutInput) ([]step, error) {
	l := &layoutBuilder{layoutInput: g}
	for i, dir := range temporary() {
		l.add(kindOwn, dir, filepath.Join(g.scratch, "tmp"+strconv.Itoa(i)))
	}
	l.add(kindEmpty, "/run", "")
	l.add(kindView, "/var", "")
	others := l.hideHomes(p)
	visible, home := slices.Concat(g.shown, resolvers(), below(g.home, g.mounts)), p.ownHome()
	if home == "" {
		visible = append(visible, p.shownIn(others)...)
		l.add(kindView, g.home, "")
	} else {
		visible = l.showHome(p, home)
	}
	for _, dir := range visible {
		if l.hiddenByWall(dir) && !inWorkDirs(p, dir) {
			l.add(kindShow, dir, "")
		}
	}
	for _, path := range p.Hidden {
		if !slices.Contains(others, path) && (home == "" || l.isSeen(p, home, path)) {
			l.add(kindEmpty, path, "")
		}
	}
	if home != "" {
		l.putSettings(p, home)
	}
	for _, c := range p.Caches {
		l.layer(c.Dir, c)
	}
	for _, dir := range p.layered() {
		l.layer(dir, Cache{})
	}
	for _, dir := range p.writable() {
		l.add(kindBind, dir, "")
		for _, path := range p.Fixed {
			l.add(kindShow, path, "")
		}
	}
	for _, dir := range g.written {
		l.add(kindBind, dir, "")
	}
	for _, dir := range g.read {
		l.add(kindShow, dir, "")
	}
	slices.SortStableFunc(l.steps, func(a, b step) int { return cmp.Compare(depth(a.At), depth(b.At)) })
	return l.steps, errors.Join(l.errs...)
}

// hideHomes hides further homes, and returns them.
func (l *layoutBuilder) hideHomes(p Policy) []string {
	homes := p.otherHomes()
	for _, home := range homes {
		l.add(kindEmpty, home, "")
	}
	return homes
}

// inWorkDirs reports whether a place is seen with the directories that commands work in
// anyway, and may be written like them.
func inWorkDirs(p Policy, place string) bool {
	return slices.ContainsFunc(
		slices.Concat(p.writable(), p.layered()),
		func(dir string) bool { return within(place, dir) },
	)
}

type layoutBuilder struct {
	layoutInput
	steps  []step
	layers int
	errs   []error
}

// add plans one mount. A place that does not exist needs none.
func (l *layoutBuilder) add(k kind, at, from string) {
	at, err := filepath.EvalSymlinks(at)
	if errors.Is(err, fs.ErrNotExist) || at == "/" {
		return
	}
	info, statErr := os.Stat(at)
	if err := errors.Join(err, statErr); err != nil {
		if k == kindEmpty {
			return // what we cannot look at, our children cannot read
		}
		l.errs = append(l.errs, fmt.Errorf("plan the wall: %w", err))
		return
	}
	s := step{
		Kind: k,
		At:   at,
		From: from,
		Dir:  info.IsDir(),
	}
	if k == kindOwn {
		l.make(from, info)
	}
	l.steps = append(l.steps, s)
}

// layer plans a layer over a directory, as a cache wants it: with what lies between,
// with its own upper folder and with a seed. The zero cache wants nothing.
func (l *layoutBuilder) layer(dir string, c Cache) {
	n := len(l.steps)
	l.add(kindLayer, dir, "")
	if len(l.steps) == n {
		return
	}
	s := &l.steps[n]
	base := filepath.Join(l.scratch, "layer"+strconv.Itoa(l.layers))
	l.layers++
	s.Upper, s.Work = filepath.Join(base, "upper"), filepath.Join(base, "work")
	if c.Upper != "" {
		s.Upper, s.Work = c.Upper, c.Upper+workSuffix
	}
	s.Between = c.layers()
	info, err := os.Stat(s.At)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("plan the wall: %w", err))
		return
	}
	l.make(s.Upper, info)
	l.make(s.Work, info)
	if err := c.sow(s.Upper); err != nil {
		l.errs = append(l.errs, fmt.Errorf("plan the wall: %w", err))
	}
}

// make makes a folder that looks like another one.
func (l *layoutBuilder) make(dir string, like fs.FileInfo) {
	err := os.MkdirAll(dir, 0o700)
	if st, ok := like.Sys().(*syscall.Stat_t); ok && err == nil && os.Getuid() == 0 {
		err = os.Chown(dir, int(st.Uid), int(st.Gid))
	}
	if err == nil {
		err = os.Chmod(dir, like.Mode().Perm()|like.Mode()&fs.ModeSticky)
	}
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("plan the wall: %w", err))
	}
}

// hiddenByWall reports whether a place would be lost under what the wall puts over
// the temporary folders and /run.
func (l *layoutBuilder) hiddenByWall(path string) bool {
	path, err := filepath.EvalSymlinks(path)
	return err == nil && slices.ContainsFunc(l.steps, func(s step) bool {
		return (s.Kind == kindOwn || s.Kind == kindEmpty || s.Kind == kindView) && within(path, s.At) && path != s.At
	})
}

// resolvers is where the name servers stand, which is often below /run.
func resolvers() []string { return []string{"/etc/resolv.conf"} }

// below lists the paths that lie below a directory.
func below(dir string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == dir || !within(p, dir) })
}

// mountPoints lists where something is mounted.
func mountPoints() []string {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			out = append(out, unescapeMount(fields[4]))
		}
	}
	return out
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func depth(path string) int { return strings.Count(filepath.Clean(path), "/") }

// Layerable returns nil if a layer can be laid over a directory, and otherwise
// says why not.
func Layerable(dir string) error {
	if mounted := below(dir, mountPoints()); len(mounted) > 0 {
		return fmt.Errorf("something is mounted in it, at %s", mounted[0])
	}
	return nil
}

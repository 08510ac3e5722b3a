package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/internal/scratch"
)

// stagePrefix begins the name of the folder, at the top of a work tree, in which
// new contents wait for their names and old ones are kept until all have theirs.
const stagePrefix = ".plan-move-"

// stageIgnore is the .gitignore in that folder.
const stageIgnore = "*\n"

// mover makes the files of a work tree those of another tree: all or none. Until
// all new contents are on the disk no file is touched; from then on files change
// their names only, which takes no room and can be taken back.
type mover struct {
	repo    *Repo
	root    *os.Root // nothing outside is reached, wherever links lead
	stage   string
	changes []delta
	back    []backStep // takes what was done back, the last first
	dirs    map[string]bool
	// stays says that the folder is still needed: the files stand between before and after.
	stays bool
}

// backStep takes a step back.
type backStep struct {
	file string // whose step it was; "" for a directory's
	undo func() error
}

// newMover makes the folder that things wait in.
func (r *Repo) newMover(changes []delta) (*mover, error) {
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	dir, err := os.MkdirTemp(r.root, stagePrefix)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	m := &mover{
		repo:    r,
		root:    root,
		stage:   filepath.Base(dir),
		changes: changes,
		dirs:    map[string]bool{},
	}
	err = errors.Join(
		root.WriteFile(path.Join(m.stage, ".gitignore"), []byte(stageIgnore), 0o600),
		root.Mkdir(path.Join(m.stage, "new"), 0o700),
		root.Mkdir(path.Join(m.stage, "old"), 0o700),
	)
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// close removes the folder, unless it is needed. Where it cannot be removed, the next
// move of this tree, or a collection, does so.
func (m *mover) close() {
	if !m.stays {
		_ = removeStage(m.root, m.stage)
	}
	_ = m.root.Close() // nothing was written through it
}

func (m *mover) old(name string) string { return path.Join(m.stage, "old", name) }
func (m *mover) new(name string) string { return path.Join(m.stage, "new", name) }

// fill writes the new contents, through git's own filters, and syncs them.
func (m *mover) fill(ctx context.Context, to string) error {
	var paths []string
	for _, c := range m.changes {
		if c.to.isFile() {
			paths = append(paths, c.path)
		}
	}
	if len(paths) > 0 {
		if err := m.checkOut(ctx, to, paths); err != nil {
			return err
		}
	}
	for _, name := range paths { // git does not always say what it could not write
		if _, err := m.root.Lstat(m.new(name)); err != nil {
			return err //nolint:wrapcheck // names the path
		}
	}
	return durable.SyncTree(filepath.Join(m.repo.root, m.stage))
}

// checkOut has git write files of a tree to where they wait.
func (m *mover) checkOut(ctx context.Context, to string, paths []string) error {
	room, err := scratch.New(m.repo.scratch(), scratch.Index)
	if err != nil {
		return err
	}
	defer func() { _ = room.Close() }()
	a := area{dir: m.repo.root, index: filepath.Join(room.Dir, "index")}
	if _, err := m.repo.git.Run(ctx, m.repo.call(a, "", "read-tree", to)); err != nil {
		return err
	}
	dir := filepath.Join(m.repo.root, m.stage, "new")
	call := m.repo.call(a, joinNUL(paths), "checkout-index", "-q", "-z", "--stdin", "--prefix="+dir+"/")
	_, err = m.repo.git.Run(ctx, call)
	return unwritten(err, dir)
}

// unchanged makes sure that the files are what the index of an area says, which was
// made of them a moment ago.
func (m *mover) unchanged(ctx context.Context, a area) error {
	// What came in from a nested repository has not been looked at yet. It fails
	// where a file differs, which diff-files finds too.
	_, _ = m.repo.git.Run(ctx, m.repo.call(a, "", "update-index", "-q", "--refresh"))
	call := m.repo.call(a, "", "diff-files", "--name-only", "--no-renames", "--ignore-submodules=all", "-z")
	out, err := m.repo.git.Run(ctx, call)
	if err != nil {
		return err
	}
	differ := map[string]bool{}
	for _, name := range splitNUL(out) {
		differ[name] = true
	}
	var changed []string
	for _, c := range m.changes {
		if differ[c.path] && c.from.isFile() {
			changed = append(changed, c.path)
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		return &Conflict{Paths: changed, Why: "these files are being changed right now"}
	}
	return m.repo.inTheWay(m.changes)
}

// rename gives all files their names. After an error all have the ones they had, and
// have them for good; a [*halfwayError] says where that is not so.
func (m *mover) rename() error {
	err := m.forward()
	if err == nil {
		err = m.syncDirs()
	}
	if err == nil {
		return nil
	}
	half := &halfwayError{err: err, all: len(m.changes)}
	for _, step := range slices.Backward(m.back) {
		half.add(step.file, step.undo())
	}
	if half.back == nil {
		half.back = m.syncDirs()
	}
	if half.back == nil {
		return err
	}
	m.stays = true
	return half
}

// forward takes out what goes, and then puts in what comes: a file can come in the
// place of a directory, a directory in that of a file, a name in that of itself in
// other letters.
func (m *mover) forward() error {
	for _, c := range m.changes {
		if err := m.takeOut(c); err != nil {
			return err
		}
	}
	for _, c := range m.changes {
		if c.to.mode == absentMode {
			m.prune(path.Dir(c.path))
		}
	}
	for _, c := range m.changes {
		failpoint.Hit("before a move")
		if err := m.putIn(c); err != nil {
			return err
		}
	}
	failpoint.Hit("after a move")
	return nil
}

// takeOut keeps what is in the place of a change, and frees it where nothing comes
// there at once.
func (m *mover) takeOut(c delta) error {
	switch {
	case c.from.mode == gitlinkMode:
		if err := m.removeDir(c.path); err != nil && c.to.isFile() {
			return err
		}
		return nil
	case !c.from.isFile():
		return nil
	}
	m.dirs[path.Dir(c.path)] = true
	if err := m.makeDirs(path.Dir(m.old(c.path))); err != nil {
		return err
	}
	m.back = append(m.back, backStep{c.path, func() error {
		if _, err := m.root.Lstat(m.old(c.path)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return m.carry(m.old(c.path), c.path)
	}})
	if c.to.isFile() && m.root.Link(c.path, m.old(c.path)) == nil {
		return nil // until the new one has its name there is the old one
	}
	failpoint.Hit("before a move")
	return m.carry(c.path, m.old(c.path))
}

// putIn puts what waits for it in a place.
func (m *mover) putIn(c delta) error {
	if c.to.mode == absentMode {
		return nil
	}
	m.dirs[path.Dir(c.path)] = true
	if c.to.mode == gitlinkMode {
		return m.makeDirs(c.path)
	}
	if err := m.makeDirs(path.Dir(c.path)); err != nil {
		return err
	}
	if !c.from.isFile() {
		if _, err := m.root.Lstat(c.path); err == nil {
			return &Conflict{Paths: []string{c.path}, Why: "this file came in the way"}
		}
		m.back = append(m.back, backStep{c.path, func() error { return m.root.Remove(c.path) }})
	}
	err := m.carry(m.new(c.path), c.path)
	if err != nil && !c.from.isFile() {
		m.back = m.back[:len(m.back)-1]
	}
	return err
}

// carry renames a file, in the place of what is there. Between two disks, where that
// cannot be, the file is copied beside its place first.
func (m *mover) carry(from, to string) error {
	err := m.root.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err //nolint:wrapcheck // names the paths
	}
	beside := path.Join(path.Dir(to), stagePrefix+path.Base(to))
	if err := m.copyFile(from, beside); err != nil {
		return errors.Join(err, m.root.RemoveAll(beside))
	}
	return errors.Join(m.root.Rename(beside, to), m.root.Remove(from))
}

// copyFile copies a file or a link, and syncs it.
func (m *mover) copyFile(from, to string) error {
	info, err := m.root.Lstat(from)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := m.root.Readlink(from)
		return errors.Join(err, m.root.Symlink(target, to))
	}
	src, err := m.root.Open(from)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer src.Close() //nolint:errcheck // only read
	dst, err := m.root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	_, err = dst.ReadFrom(src)
	return errors.Join(err, dst.Chmod(info.Mode().Perm()), dst.Sync(), dst.Close())
}

// makeDirs makes a directory and those that it is in.
func (m *mover) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	if err := m.makeDirs(path.Dir(dir)); err != nil {
		return err
	}
	if info, err := m.root.Lstat(dir); err == nil && info.IsDir() {
		return nil
	} // nothing is written through a link
	if err := m.root.Mkdir(dir, 0o777); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	m.back = append(m.back, backStep{undo: func() error { return m.root.Remove(dir) }})
	if !strings.HasPrefix(dir, m.stage+"/") {
		m.dirs[path.Dir(dir)], m.dirs[dir] = true, true
		return nil
	}
	m.back = m.back[:len(m.back)-1] // the folder goes as a whole
	return nil
}

// prune removes a directory and those that it is in, as far as nothing is left there.
func (m *mover) prune(dir string) {
	for ; dir != "." && m.removeDir(dir) == nil; dir = path.Dir(dir) {
		continue
	}
}

// removeDir removes an empty directory.
func (m *mover) removeDir(dir string) error {
	info, err := m.root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "remove directory", Path: dir, Err: errors.New("it is none")}
	}
	if err == nil {
		err = m.root.Remove(dir)
	}
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	m.dirs[path.Dir(dir)] = true
	m.back = append(m.back, backStep{undo: func() error {
		if err := m.root.Mkdir(dir, 0o777); err != nil {
			return err //nolint:wrapcheck // names the path
		}
		return m.root.Chmod(dir, info.Mode().Perm())
	}})
	return nil
}

// syncDirs makes the names outlast a loss of power.
func (m *mover) syncDirs() error {
	for dir := range m.dirs {
		err := durable.SyncDir(filepath.Join(m.repo.root, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // then its own name's absence is synced
			return err
		}
	}
	return nil
}

// isFile reports whether there is a file or a link.
func (e entryState) isFile() bool { return e.mode != absentMode && e.mode != gitlinkMode }

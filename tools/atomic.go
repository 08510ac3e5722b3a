package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/plan-engine/plan/internal/failpoint"
)

const (
	// maxFile bounds the files that are edited in memory, in bytes.
	maxFile = 32 << 20
	// maxLinks bounds how many symbolic links one path may lead through.
	maxLinks = 40
	// newFile and newDir are the modes of what is created, before the umask.
	newFile fs.FileMode = 0o644
	newDir  fs.FileMode = 0o755
)

// file is one file as the writing tools found it, or as they want it.
type file struct {
	path   string // as the model named it, relative to the root
	target string // where it really is, symbolic links followed
	exists bool
	data   []byte
	mode   fs.FileMode // 0 for a new file without a wish
}

// names returns the names that the file is remembered under.
func (f file) names() []string {
	if f.path == f.target {
		return []string{f.path}
	}
	return []string{f.path, f.target}
}

// load finds the file behind a model's path and reads it. A file that does not
// exist is no error; one that must not or cannot be written is.
func (s *Set) load(name string) (file, error) {
	if strings.TrimSpace(name) == "" {
		return file{}, errors.New("the path is empty; give a path relative to the repository root")
	}
	p, problem := s.rel(name)
	if problem != "" {
		return file{}, errors.New(problem)
	}
	target, err := s.resolve(p)
	if err != nil {
		return file{}, err
	}
	if inGit(p) || inGit(target) {
		return file{}, fmt.Errorf(
			"%s is inside .git, which these tools never change, because the run's own record depends on it; leave "+
				"it to git",
			show(p),
		)
	}
	f := file{path: p, target: target}
	in, info, err := openRegular(s.root, target)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return file{}, unwritable(p, err)
	}
	defer in.Close() //nolint:errcheck // only read from
	switch perm := info.Mode().Perm(); {
	case perm&0o222 == 0:
		return file{}, fmt.Errorf(
			"%s is read-only (mode %04o), so it was left alone; if it must change, make it writable with chmod first",
			show(p),
			perm,
		)
	case info.Size() > maxFile:
		return file{}, fmt.Errorf(
			"%s is too large to change here (%s, at most %s); use a command instead",
			show(p),
			sizeText(info.Size()),
			sizeText(maxFile),
		)
	}
	f.data, err = io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return file{}, unwritable(p, err)
	}
	f.exists, f.mode = true, info.Mode()
	return f, nil
}

// unwritable words why a path cannot be written.
func unwritable(p string, err error) error {
	special, odd := errors.AsType[notRegular](err)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s cannot exist: a part of its path is a file, not a directory", show(p))
	case odd && special.mode.IsDir():
		return fmt.Errorf("%s is a directory; give the path of a file", show(p))
	}
	return fmt.Errorf("%s cannot be changed: %w", show(p), cause(err))
}

// resolve follows the symbolic links in p, so that a replacement lands on the
// file and not on a link to it. os.Root guards every later step; resolve only
// finds the name, and says in words when it leads outside.
func (s *Set) resolve(p string) (string, error) {
	done, rest, links := ".", strings.Split(p, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." && done == "." {
			return "", fmt.Errorf(
				"%s leads outside the repository through a symbolic link; only files inside can be written",
				show(p),
			)
		}
		next := path.Join(done, name)
		info, err := s.root.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next // what is wrong with it, if anything, is said when it is used
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s leads through too many symbolic links; name the file itself", show(p))
		}
		to, err := s.root.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("read the symbolic link %s: %w", show(next), cause(err))
		}
		if filepath.IsAbs(to) {
			inside := s.inside(to)
			if !filepath.IsLocal(inside) {
				return "", fmt.Errorf(
					"%s leads outside the repository through a symbolic link to %s; only files inside can be written",
					show(p),
					show(to),
				)
			}
			done, to = ".", inside
		}
		rest = append(strings.Split(filepath.ToSlash(to), "/"), rest...)
	}
	return done, nil
}

// inGit reports whether a path goes through a .git, in any case, because some
// file systems do not tell cases apart.
func inGit(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// replace puts f.data in the place of the file in one step: a reader sees
// the whole old content or the whole new one. It returns the directories that
// it had to make, outermost first. Key names the call that does it.
func (s *Set) replace(f file, key string) (created []string, err error) {
	dir := path.Dir(f.target)
	created, err = s.makeDirs(dir)
	if err == nil {
		err = s.putIn(dir, f, key)
	}
	if err != nil {
		return nil, errors.Join(err, s.removeDirs(created))
	}
	return created, s.syncDirs(append([]string{dir}, parents(created)...))
}

// putIn writes f beside its place and moves it there.
func (s *Set) putIn(dir string, f file, key string) error {
	temp := tempName(dir, key)
	if err := s.writeTemp(temp, f); err != nil {
		return err
	}
	failpoint.Hit("before a rename")
	if err := s.root.Rename(temp, f.target); err != nil {
		return errors.Join(fmt.Errorf("put the new %s in place: %w", show(f.path), cause(err)), s.root.Remove(temp))
	}
	failpoint.Hit("after a rename")
	return nil
}

// makeDirs makes dir and what is missing above it.
func (s *Set) makeDirs(dir string) (created []string, err error) {
	for d := dir; d != "."; d = path.Dir(d) {
		if _, err := s.root.Lstat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		created = append([]string{d}, created...)
	}
	for i, d := range created {
		if err := s.root.Mkdir(d, newDir); err != nil && !errors.Is(err, fs.ErrExist) {
			return created[:i], fmt.Errorf("make the directory %s: %w", show(d), cause(err))
		}
	}
	return created, nil
}

// removeDirs takes makeDirs back.
func (s *Set) removeDirs(created []string) error {
	for _, d := range slices.Backward(created) {
		if err := s.root.Remove(d); err != nil {
			return fmt.Errorf("remove the directory %s again: %w", show(d), cause(err))
		}
	}
	return nil
}

// writeTemp writes f.data to a new file of the name temp.
func (s *Set) writeTemp(temp string, f file) error {
	perm := f.mode.Perm()
	if f.mode == 0 {
		perm = newFile
	}
	out, err := s.createTemp(temp, perm)
	if err != nil {
		return err
	}
	_, err = out.Write(f.data)
	if err == nil && f.exists {
		err = out.Chmod(f.mode) // exact, past the umask: the file has had it
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", show(f.path), cause(err)), s.root.Remove(temp))
	}
	return nil
}

// createTemp creates the file of a call that it will move into place. One of
// that name was left by the same call in a process that was killed.
func (s *Set) createTemp(temp string, perm fs.FileMode) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := s.root.OpenFile(temp, flags, perm)
	if errors.Is(err, fs.ErrExist) {
		if err = s.root.Remove(temp); err == nil {
			f, err = s.root.OpenFile(temp, flags, perm)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create a file in %s: %w", show(path.Dir(temp)), cause(err))
	}
	return f, nil
}

// remove deletes a file for good.
func (s *Set) remove(target string) error {
	failpoint.Hit("before a deletion")
	if err := s.root.Remove(target); err != nil {
		return fmt.Errorf("delete %s: %w", show(target), cause(err))
	}
	failpoint.Hit("after a deletion")
	return s.syncDirs([]string{path.Dir(target)})
}

// syncDirs makes what happened to names in these directories survive a loss of
// power.
func (s *Set) syncDirs(dirs []string) error {
	for _, dir := range dirs {
		d, err := s.root.Open(dir)
		if err != nil {
			return fmt.Errorf("sync %s: %w", show(dir), cause(err))
		}
		err = d.Sync()
		if errors.Is(err, syscall.EINVAL) {
			err = nil // a file system that cannot sync directories
		}
		if err = errors.Join(err, d.Close()); err != nil {
			return fmt.Errorf("sync %s: %w", show(dir), cause(err))
		}
	}
	return nil
}

// parents names the directory above each.
func parents(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = path.Dir(d)
	}
	return out
}

// cause takes the names off a path error, because temporary and absolute ones
// tell a model nothing.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

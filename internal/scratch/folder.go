package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// What the names of folders begin with, by what is in them.
const (
	View    = "plan-view-"    // a copy of a work tree, or of parts of a snapshot
	Index   = "plan-index-"   // a private index
	Patch   = "plan-diff-"    // a repository that a patch is written with
	Wall    = "plan-wall-"    // what commands behind a wall see of their own
	Probe   = "plan-probe-"   // the trial of a wall
	Layer   = "plan-layer-"   // a run's own layers of build caches
	Publish = "plan-publish-" // the text of a publication
	Skill   = "plan-skill-"   // the trial of a draft
	Edit    = "plan-edit-"    // a text in a person's editor
	Hook    = "plan-hook-"    // a work tree as it was, for commands outside of walls
	Bundle  = "plan-bundle-"  // snapshots that came from another machine
	Clone   = ".clone-"       // a clone that is not whole yet
	Draft   = ".staged-"      // a draft that is not whole yet
)

// Temporary are those that lie in the system's temporary folder, or in the git
// directory of a work tree that this one lies in.
func Temporary() []string {
	return []string{View, Index, Patch, Wall, Probe, Layer, Publish, Skill, Edit, Hook, Bundle}
}

// oldLock is the file that earlier versions locked in folders of theirs, in place
// of the folder itself.
const oldLock = ".lock"

// Folder is a folder that one process uses. Its lock is the folder's own, so there
// is no moment at which it is there and tells nothing of its process: one whose
// lock can be had belongs to no process.
type Folder struct {
	Dir  string
	lock *flock.Flock
}

// New makes a folder in another one, "" for the system's temporary folder.
func New(in, prefix string) (*Folder, error) {
	for {
		dir, err := os.MkdirTemp(in, prefix)
		if err != nil {
			return nil, fmt.Errorf("make a folder: %w", err)
		}
		before, err := os.Lstat(dir)
		lock := lockOf(dir)
		if err == nil {
			_, err = lock.TryLock()
		}
		now, statErr := os.Lstat(dir)
		if err == nil && statErr == nil && lock.Locked() && os.SameFile(before, now) {
			return &Folder{Dir: dir, lock: lock}, nil
		}
		_ = lock.Close()
		if statErr == nil && err != nil { // this disk has no locks: without one it is never swept
			return &Folder{Dir: dir, lock: lock}, nil
		}
		// A process that sweeps was faster than the lock.
	}
}

// Close removes the folder. Closing twice is fine.
func (f *Folder) Close() error { return errors.Join(Remove(f.Dir), f.Release()) }

// Release gives the folder up, which stays: it was renamed to where it belongs.
func (f *Folder) Release() error {
	if err := f.lock.Close(); err != nil {
		return fmt.Errorf("release %s: %w", f.Dir, err)
	}
	return nil
}

func lockOf(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// Left are the folders of a prefix whose process has died. What belongs to another
// user, or cannot be locked, is none of them.
func Left(in, prefix string) []string {
	entries, err := os.ReadDir(in)
	if err != nil {
		return nil
	}
	var left []string
	for _, e := range entries {
		dir := filepath.Join(in, e.Name())
		if !isName(e.Name(), prefix) || !e.IsDir() || !own(dir) {
			continue
		}
		if lock, free := take(dir); free {
			left = append(left, dir)
			_ = lock.Close()
		}
	}
	return left
}

// isName reports whether New makes such names: a prefix and digits.
func isName(name, prefix string) bool {
	if len(name) <= len(prefix) || name[:len(prefix)] != prefix {
		return false
	}
	for _, c := range []byte(name[len(prefix):]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// take takes the lock of a folder that no process uses. The caller closes it.
func take(dir string) (*flock.Flock, bool) {
	lock := lockOf(dir)
	if free, err := lock.TryLock(); err != nil || !free {
		_ = lock.Close()
		return nil, false
	}
	old := lockOf(filepath.Join(dir, oldLock))
	defer old.Close() //nolint:errcheck // only asked
	if _, err := os.Lstat(filepath.Join(dir, oldLock)); err == nil {
		if free, err := old.TryLock(); err != nil || !free {
			_ = lock.Close()
			return nil, false
		}
	}
	return lock, true
}

// RemoveLeft removes a folder, unless a process uses it after all. It reports
// whether it is gone.
func RemoveLeft(dir string) bool {
	lock, free := take(dir)
	if !free {
		return false
	}
	defer lock.Close() //nolint:errcheck // the folder is gone, or stays for the next time
	return Remove(dir) == nil
}

// Sweep removes what killed processes left of these prefixes. What cannot be
// removed is left for the next time.
func Sweep(in string, prefixes ...string) {
	for _, prefix := range prefixes {
		for _, dir := range Left(in, prefix) {
			RemoveLeft(dir)
		}
	}
}

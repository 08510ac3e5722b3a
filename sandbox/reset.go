package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/plan-engine/plan/internal/scratch"
)

// savedDirName is the folder of the scratch folder that outlives a reset.
const savedDirName = "kept"

// Reset ends everything that runs behind the wall and makes what stands there
// as it was when the wall was built: the tree, the temporary folders and the
// caches. It costs little where layers are mounted; a copy is gone through. What
// is given is put there besides, until the next reset, as if the policy said so.
// After an error the wall is of no more use than to be closed. The policy must
// be Tracked.
func (w *Wall) Reset(besides ...Put) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.policy.Tracked || !w.policy.Discard:
		return errUntracked
	case w.closed:
		return errClosed
	}
	if w.inside != nil {
		w.group.kill()
		w.inside.end()
		w.inside = nil
	}
	err := w.emptyScratch()
	w.putsWritten, w.layer = false, layer{}
	w.policy.Put = append(w.policy.Put[:w.policyPuts:w.policyPuts], besides...)
	if w.copied != nil {
		err = errors.Join(err, w.copied.restore(w.policy.putsIn(w.policy.Tree)))
	}
	if err != nil {
		return fmt.Errorf("sandbox: make %q as it was: %w", w.policy.Tree, err)
	}
	return nil
}

// emptyScratch removes what was built.
func (w *Wall) emptyScratch() error {
	if w.scratch == "" {
		return nil
	}
	entries, err := os.ReadDir(w.scratch)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	for _, e := range entries {
		if e.Name() != savedDirName {
			err = errors.Join(err, scratch.Remove(filepath.Join(w.scratch, e.Name())))
		}
	}
	return err
}

// restore makes the copy as it was, with these puts. No command may be running
// any more.
func (c *treeCopy) restore(puts []namedPut) error {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer func() { _ = root.Close() }()
	for _, name := range c.extraPuts {
		delete(c.files, name)
		delete(c.puts, name)
	}
	c.extraPuts = nil
	now, err := c.removeUnknown(root)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(c.files)) // folders before what is in them
	for _, name := range names {
		is, there := now[name]
		if err := c.restoreEntry(root, name, is, there); err != nil {
			return fmt.Errorf("put %s back: %w", name, err)
		}
	}
	for _, name := range slices.Backward(names) {
		before := c.files[name]
		if !before.mode.IsDir() {
			continue
		}
		if err := before.restoreModeAndTime(root, name); err != nil {
			return fmt.Errorf("put %s back: %w", name, err)
		}
	}
	return c.addExtraPuts(root, puts)
}

// addExtraPuts puts files into the copy that were not there when its wall was
// planned. What stood at their places then stays as it is.
func (c *treeCopy) addExtraPuts(root *os.Root, puts []namedPut) error {
	puts = slices.DeleteFunc(puts, func(p namedPut) bool {
		_, there := c.files[p.name]
		return there || p.put.Deleted
	})
	owner, err := os.Stat(c.dir)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	if err := (putWriter{root: c.dir, owner: owner}).write(puts); err != nil {
		return err
	}
	for _, p := range puts {
		info, err := root.Lstat(p.name)
		if err != nil {
			return err //nolint:wrapcheck // names the path
		}
		if c.files[p.name], err = readCopyEntry(root, p.name, info); err != nil {
			return err
		}
		c.puts[p.name] = p.put
		c.extraPuts = append(c.extraPuts, p.name)
	}
	return nil
}

// removeUnknown removes what was not there, or was of another kind, and returns what is
// left. Folders that were closed to their owner are opened.
func (c *treeCopy) removeUnknown(root *os.Root) (map[string]copyEntry, error) {
	left := map[string]copyEntry{}
	var other []string
	err := walk(root, ".", func(name string, info fs.FileInfo) error {
		const ownerOnly = 0o700
		if info.IsDir() && info.Mode()&ownerOnly != ownerOnly {
			if err := root.Chmod(name, ownerOnly); err != nil {
				return err //nolint:wrapcheck // names the path
			}
		}
		file, err := readCopyEntry(root, name, info)
		if before, there := c.files[name]; !there || before.mode.Type() != file.mode.Type() {
			other = append(other, name)
			return err
		}
		left[name] = file
		return err
	})
	for _, name := range other {
		err = errors.Join(err, root.RemoveAll(name))
	}
	return left, err
}

// restoreEntry makes one path as it was, if it is not.
func (c *treeCopy) restoreEntry(root *os.Root, name string, is copyEntry, there bool) error {
	before := c.files[name]
	switch {
	case there && (before.mode.IsDir() || is.fileStamp == before.fileStamp):
		return nil
	case before.mode.IsDir():
		return root.Mkdir(name, 0o700) //nolint:wrapcheck // names the path
	}
	if there {
		if err := root.Remove(name); err != nil {
			return err //nolint:wrapcheck // names the path
		}
	}
	switch {
	case before.mode&fs.ModeSymlink != 0:
		if err := root.Symlink(before.link, name); err != nil {
			return err //nolint:wrapcheck // names the path
		}
	case before.mode.IsRegular():
		if err := c.restoreContent(root, name, before); err != nil {
			return err
		}
	default: // it is not read, and cannot be made again
		return nil
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	before.fileStamp = stampOf(info)
	c.files[name] = before
	return nil
}

// restoreContent writes a file of the copy anew.
func (c *treeCopy) restoreContent(root *os.Root, name string, before copyEntry) error {
	source, err := c.contentSource(name)
	if err != nil {
		return err
	}
	from, err := source.open()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close(), before.restoreModeAndTime(root, name))
}

// restoreModeAndTime gives a file or folder the permissions and the time that it had.
func (e copyEntry) restoreModeAndTime(root *os.Root, name string) error {
	return errors.Join(root.Chmod(name, e.mode.Perm()), root.Chtimes(name, e.mtime, e.mtime))
}

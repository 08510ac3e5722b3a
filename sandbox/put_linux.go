package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// opaqueMark is the attribute of a folder in a layer that shows nothing of the
// one below it.
const opaqueMark = "user.overlay.opaque"

// makeOpaque makes a folder of a layer hide the one below it.
func makeOpaque(path string) error {
	if err := unix.Lsetxattr(path, opaqueMark, []byte("y"), 0); err != nil {
		return fmt.Errorf("hide what is below %s: %w", path, err)
	}
	return nil
}

// isOpaque reports whether a folder of a layer hides the one below it.
func isOpaque(path string) bool {
	value := make([]byte, 1)
	n, err := unix.Lgetxattr(path, opaqueMark, value)
	return err == nil && n == 1 && value[0] == 'y'
}

// isWhiteout reports whether something in a layer is the mark of what is gone.
func isWhiteout(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}

// whiteOut marks a path of a layer as gone, if there is something below, and
// then the folders that hold nothing else any more.
func (w putWriter) whiteOut(name string) error {
	for name != "." {
		if _, err := os.Lstat(filepath.Join(w.lower, name)); err != nil {
			return nil // nothing has to be hidden
		}
		if err := w.makeFolders(filepath.Dir(name)); err != nil {
			return err
		}
		at := filepath.Join(w.root, name)
		if err := os.RemoveAll(at); err != nil {
			return err //nolint:wrapcheck // names the path
		}
		if err := unix.Mknod(at, unix.S_IFCHR, 0); err != nil {
			return fmt.Errorf("mark %s as gone: %w", name, err)
		}
		name = filepath.Dir(name)
		if name == "." || !w.showsNothing(name) {
			return nil
		}
	}
	return nil
}

// showsNothing reports whether a folder of a layer shows nothing.
func (w putWriter) showsNothing(name string) bool {
	entries, err := os.ReadDir(filepath.Join(w.root, name))
	if err != nil {
		return false
	}
	marks := map[string]bool{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !isWhiteout(info) {
			return false
		}
		marks[e.Name()] = true
	}
	below, err := os.ReadDir(filepath.Join(w.lower, name))
	if err != nil {
		return false
	}
	for _, e := range below {
		if !marks[e.Name()] {
			return false
		}
	}
	return true
}

// putInLayers writes the puts into the layers that are about to be mounted.
func (w *Wall) putInLayers(steps []step) error {
	for _, dir := range w.policy.layered() {
		at, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("put files into the layers: %w", err)
		}
		i := slices.IndexFunc(steps, func(s step) bool { return s.Kind == kindLayer && s.At == at })
		if i < 0 {
			continue
		}
		owner, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("put files into the layers: %w", err)
		}
		puts := w.policy.putsIn(dir)
		if err := (putWriter{
			root:  steps[i].Upper,
			lower: at,
			owner: owner,
		}).write(puts); err != nil {
			return err
		}
		if dir != w.policy.Tree {
			continue
		}
		if w.layer, err = newLayer(steps[i].Upper, at, puts, w.policy.unwatchedIn(dir)); err != nil {
			return fmt.Errorf("note how the layer looks: %w", err)
		}
	}
	return nil
}

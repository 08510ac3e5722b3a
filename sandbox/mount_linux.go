package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are the only ones behind a wall.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// mountSource is a step with what it needs, opened: a mount that is attached nowhere
// yet, or the directories of an overlay.
type mountSource struct {
	step
	fd, upper, work int // upper is the place itself, for a view
	between         []int
}

// buildMounts makes the mounts of a new mount namespace.
func buildMounts(steps []step) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	// Everything is opened first: later steps hide what earlier ones need.
	sources, err := openSources(steps)
	if err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := makeDev(); err != nil {
		return err
	}
	for _, s := range sources {
		if err := s.attach(); err != nil {
			return fmt.Errorf("put %s at %s: %w", s.Kind, s.At, err)
		}
	}
	return setMountFlags(sources)
}

// setMountFlags makes everything read-only, and then writable what is meant to be.
func setMountFlags(sources []mountSource) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("make everything read-only: %w", err)
	}
	writable := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/dev/shm", 0, &writable); err != nil {
		return fmt.Errorf("make /dev/shm writable: %w", err)
	}
	terminals := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV}
	// It may not be there: see makeDev.
	_ = unix.MountSetattr(unix.AT_FDCWD, terminalsDir, 0, &terminals)
	for _, s := range sources { // from the root down: the deeper one has the last word
		var attr unix.MountAttr
		flags := uint(unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case s.Kind == kindBind && !s.Dir: // a device
			attr.Attr_clr = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV
		case s.Kind == kindBind:
			attr.Attr_clr = unix.MOUNT_ATTR_RDONLY
			flags |= unix.AT_RECURSIVE
		case s.Kind == kindOwn, s.Kind == kindLayer:
			attr.Attr_clr = unix.MOUNT_ATTR_RDONLY
		default:
			attr.Attr_set = unix.MOUNT_ATTR_RDONLY
			flags |= unix.AT_RECURSIVE
		}
		err := unix.MountSetattr(unix.AT_FDCWD, s.At, flags, &attr)
		if err != nil && s.Kind == kindBind { // something below it was read-only before
			err = unix.MountSetattr(unix.AT_FDCWD, s.At, unix.AT_SYMLINK_NOFOLLOW, &attr)
		}
		if err != nil {
			return fmt.Errorf("seal %s: %w", s.At, err)
		}
	}
	return nil
}

// openSources opens what the steps and the devices need.
func openSources(steps []step) ([]mountSource, error) {
	var out []mountSource
	for _, dev := range devices() {
		if fd, err := cloneMount(dev); err == nil {
			out = append(out, mountSource{step: step{Kind: kindBind, At: dev}, fd: fd})
		}
	}
	for _, s := range steps {
		src := mountSource{step: s}
		var err error
		switch s.Kind {
		case kindBind, kindShow:
			src.fd, err = cloneMount(s.At)
		case kindOwn, kindPut:
			src.fd, err = cloneMount(s.From)
		case kindLayer:
			err = errors.Join(openPath(s.At, &src.fd), openPath(s.Upper, &src.upper), openPath(s.Work, &src.work))
			src.between = make([]int, len(s.Between))
			for i, dir := range s.Between {
				err = errors.Join(err, openPath(dir, &src.between[i]))
			}
		case kindView:
			var cloneErr error
			src.upper, cloneErr = cloneMount(s.At)
			err = errors.Join(openPath(s.At, &src.fd), cloneErr)
		}
		if err != nil {
			return nil, fmt.Errorf("open %s for the wall: %w", s.At, err)
		}
		out = append(out, src)
	}
	return out, nil
}

// openPath opens a path only to name it later, whatever hides it by then.
func openPath(path string, fd *int) (err error) {
	*fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	return err //nolint:wrapcheck // openSources names the path
}

// cloneMount makes a mount of a place that is attached nowhere.
func cloneMount(path string) (int, error) {
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	return unix.OpenTree(unix.AT_FDCWD, path, flags) //nolint:wrapcheck // openSources names the path
}

// attach puts a source at its place.
func (s mountSource) attach() error {
	if err := makeMountPoint(s.At, s.Dir); err != nil {
		return err
	}
	switch s.Kind {
	case kindOwn, kindPut, kindBind, kindShow:
		return attachMount(s.fd, s.At)
	case kindLayer:
		var lower strings.Builder
		for _, fd := range s.between {
			fmt.Fprintf(&lower, "/proc/self/fd/%d:", fd)
		}
		const options = "lowerdir=%s/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr"
		return overlay(s.At, fmt.Sprintf(options, &lower, s.fd, s.upper, s.work))
	case kindView:
		// An overlay without an upper layer: what listens on a socket in it
		// cannot be reached. Where the file system refuses that, the place
		// stays as it is, which is read-only too.
		if s.Dir && overlay(s.At, fmt.Sprintf("lowerdir=/proc/self/fd/%d:%s,userxattr", s.fd, emptyLowerDir)) == nil {
			return nil
		}
		return attachMount(s.upper, s.At)
	}
	if s.Dir {
		const flags = unix.MS_NOSUID | unix.MS_NODEV
		err := unix.Mount("tmpfs", s.At, "tmpfs", flags, "size=1m,mode=0755")
		return err //nolint:wrapcheck // buildMounts names the place
	}
	return unix.Mount("/dev/null", s.At, "", unix.MS_BIND, "") //nolint:wrapcheck // buildMounts names the place
}

// attachMount puts a mount that is attached nowhere at its place.
func attachMount(fd int, at string) error {
	return unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH) //nolint:wrapcheck // as above
}

func overlay(at, options string) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	return unix.Mount("overlay", at, "overlay", flags, options) //nolint:wrapcheck // buildMounts names the place
}

// makeMountPoint makes sure that there is something to mount on.
func makeMountPoint(at string, dir bool) error {
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(at, 0o755) //nolint:wrapcheck // names the path
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	return os.WriteFile(at, nil, 0o600) //nolint:wrapcheck // names the path
}

// emptyLowerDir is an empty folder that lies in no other: an overlay that is to have
// no upper layer needs two lower ones.
const emptyLowerDir = "/dev/.nothing"

// terminalsDir has the wall's own pseudo-terminals.
const terminalsDir = "/dev/pts"

// makeDev makes a /dev with nothing in it yet but terminals, shared memory and
// the usual links; the devices follow as mounts.
func makeDev() error {
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "size=1m,mode=0755"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	links := map[string]string{
		"fd":     "/proc/self/fd",
		"stdin":  "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2",
		"ptmx":   "pts/ptmx",
	}
	var errs []error
	for name, to := range links {
		errs = append(errs, os.Symlink(to, filepath.Join("/dev", name)))
	}
	errs = append(errs,
		os.Mkdir(emptyLowerDir, 0o755),
		os.Mkdir(terminalsDir, 0o755),
		os.Mkdir("/dev/shm", 0o1777),
		unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"),
	)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("fill /dev: %w", err)
	}
	// Without terminals almost everything works.
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC
	_ = unix.Mount("devpts", terminalsDir, "devpts", flags, "newinstance,ptmxmode=0666,mode=620")
	return nil
}

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// devices are the only ones behind a wall.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// source is a step with what it needs, opened: a mount that is attached nowhere
// yet, or the directories of an overlay.
type source struct {
	step
	fd, upper, work int // upper is the place itself, for a view
}

// build makes the mounts of a new mount namespace.
func build(steps []step) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	// Everything is opened first: later steps hide what earlier ones need.
	sources, err := open(steps)
	if err != nil {
		return err
	}
	const still = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
	if err := unix.Mount("proc", "/proc", "proc", still, ""); err != nil {
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
	return seal(sources)
}

// seal makes everything read-only, and then writable what is meant to be.
func seal(sources []source) error {
	all := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &all); err != nil {
		return fmt.Errorf("make everything read-only: %w", err)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/dev/shm", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make /dev/shm writable: %w", err)
	}
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

// open opens what the steps and the devices need.
func open(steps []step) ([]source, error) {
	var out []source
	for _, dev := range devices() {
		if fd, err := clone(dev); err == nil {
			out = append(out, source{step: step{Kind: kindBind, At: dev}, fd: fd})
		}
	}
	for _, s := range steps {
		src := source{step: s}
		var err error
		switch s.Kind {
		case kindBind, kindShow:
			src.fd, err = clone(s.At)
		case kindOwn:
			src.fd, err = clone(s.From)
		case kindLayer:
			err = errors.Join(look(s.At, &src.fd), look(s.Upper, &src.upper), look(s.Work, &src.work))
		case kindView:
			var cloneErr error
			src.upper, cloneErr = clone(s.At)
			err = errors.Join(look(s.At, &src.fd), cloneErr)
		}
		if err != nil {
			return nil, fmt.Errorf("open %s for the wall: %w", s.At, err)
		}
		out = append(out, src)
	}
	return out, nil
}

// look opens a path only to name it later, whatever hides it by then.
func look(path string, fd *int) (err error) {
	*fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	return err //nolint:wrapcheck // open names the path
}

// clone makes a mount of a place that is attached nowhere.
func clone(path string) (int, error) {
	return unix.OpenTree(
		unix.AT_FDCWD,
		path,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE,
	) //nolint:wrapcheck // open names the path
}

// attach puts a source at its place.
func (s source) attach() error {
	if err := point(s.At, s.Dir); err != nil {
		return err
	}
	switch s.Kind {
	case kindOwn, kindBind, kindShow:
		return unix.MoveMount(
			s.fd,
			"",
			unix.AT_FDCWD,
			s.At,
			unix.MOVE_MOUNT_F_EMPTY_PATH,
		) //nolint:wrapcheck // build names the place
	case kindLayer:
		return overlay(
			s.At,
			fmt.Sprintf(
				"lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr",
				s.fd,
				s.upper,
				s.work,
			),
		)
	case kindView:
		// An overlay without an upper layer: what listens on a socket in it
		// cannot be reached. Where the file system refuses that, the place
		// stays as it is, which is read-only too.
		if s.Dir && overlay(s.At, fmt.Sprintf("lowerdir=/proc/self/fd/%d:%s,userxattr", s.fd, nothing)) == nil {
			return nil
		}
		return unix.MoveMount(
			s.upper,
			"",
			unix.AT_FDCWD,
			s.At,
			unix.MOVE_MOUNT_F_EMPTY_PATH,
		) //nolint:wrapcheck // build names the place
	}
	if s.Dir {
		return unix.Mount(
			"tmpfs",
			s.At,
			"tmpfs",
			unix.MS_NOSUID|unix.MS_NODEV,
			"size=1m,mode=0755",
		) //nolint:wrapcheck // build names the place
	}
	return unix.Mount("/dev/null", s.At, "", unix.MS_BIND, "") //nolint:wrapcheck // build names the place
}

func overlay(at, options string) error {
	return unix.Mount(
		"overlay",
		at,
		"overlay",
		unix.MS_NOSUID|unix.MS_NODEV,
		options,
	) //nolint:wrapcheck // build names the place
}

// point makes sure that there is something to mount on.
func point(at string, dir bool) error {
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

// nothing is an empty folder that lies in no other: an overlay that is to have
// no upper layer needs two lower ones.
const nothing = "/dev/.nothing"

// makeDev makes a /dev with nothing in it yet but terminals, shared memory and
// the usual links; the devices follow as mounts.
func makeDev() error {
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "size=1m,mode=0755"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	links := map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	}
	var errs []error
	for name, to := range links {
		errs = append(errs, os.Symlink(to, filepath.Join("/dev", name)))
	}
	errs = append(
		errs,
		os.Mkdir(nothing, 0o755), os.Mkdir("/dev/pts", 0o755), os.Mkdir("/dev/shm", 0o1777),
		unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"),
	)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("fill /dev: %w", err)
	}
	// Without terminals almost everything works.
	_ = unix.Mount(
		"devpts",
		"/dev/pts",
		"devpts",
		unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=620",
	)
	return nil
}

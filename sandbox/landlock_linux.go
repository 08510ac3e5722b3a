package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock rules speak of, by what a child wants with a path.
const (
	landlockRead = unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landlockWrite = landlockFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	// landlockAny may be granted for something that is not a directory.
	landlockAny = landlockFile | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// landlockABI is the version of Landlock that the kernel speaks; 0 is none.
// The security filesystem is often not mounted, so the system call is asked.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("ask for its version: %w", errno)
	}
	return int(abi), nil
}

// landlockKnows is what an ABI can tell apart.
func landlockKnows(abi int) (fs, scopes uint64) {
	fs = landlockRead | landlockWrite | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	for _, later := range []struct {
		abi int
		bit uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi < later.abi {
			fs &^= later.bit
		}
	}
	if abi >= 6 {
		scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return fs, scopes
}

// landlock restricts the calling thread, and what it starts, to what it names.
// With read nil everything may be read. The thread must have no_new_privs.
func landlock(read, write []string) error { return landlockScoped(read, write, true) }

// landlockScoped is landlock; without scoped, what it starts may signal processes and
// reach abstract sockets as before.
func landlockScoped(read, write []string, scoped bool) error {
	abi, err := landlockABI()
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	attr := unix.LandlockRulesetAttr{}
	attr.Handled_access_fs, attr.Scoped = landlockKnows(abi)
	if !scoped {
		attr.Scoped = 0
	}
	if read == nil {
		attr.Handled_access_fs &^= landlockRead
	}
	const size = 3 * 8 // the fields since; later ones stay zero
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), size, 0) //nolint:gosec // there is no other way to make the call
	if errno != 0 {
		return fmt.Errorf("landlock: make a ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	for _, path := range write {
		if err := landlockAllow(int(fd), path, attr.Handled_access_fs); err != nil {
			return err
		}
	}
	for _, path := range read {
		if err := landlockAllow(int(fd), path, attr.Handled_access_fs&landlockRead); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict: %w", errno)
	}
	return nil
}

// landlockAllow adds a rule for a path; one that is gone needs none.
func landlockAllow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("landlock: open %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("landlock: look at %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= landlockAny
	}
	if access == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // there is no other way to make the call
	if errno != 0 {
		return fmt.Errorf("landlock: allow %s: %w", path, errno)
	}
	return nil
}

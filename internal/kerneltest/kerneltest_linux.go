package kerneltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaces mounts what a wall is made of in namespaces of their own, by the system's
// own program.
func namespaces(t testing.TB) bool {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `mount -t proc proc /proc && mount -t tmpfs tmpfs lower &&
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr lower`)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("this kernel allows no namespaces: %v: %s", err, out)
	}
	return err == nil
}

// landlock asks for a version that can tell files apart when they are linked and renamed.
func landlock() bool {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && abi >= 2
}

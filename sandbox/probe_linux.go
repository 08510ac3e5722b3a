package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Probe looks at what the kernel offers for walls, by trying.
func Probe(ctx context.Context) []Feature {
	return []Feature{landlock(), userNamespaces(ctx), overlay(), seccomp()}
}

func landlock() Feature {
	f := Feature{Name: "landlock"}
	// The security filesystem is often not mounted, so ask the system call.
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		f.Detail = "not offered by this kernel: " + errno.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("ABI %d", abi)
	return f
}

func userNamespaces(ctx context.Context) Feature {
	f := Feature{Name: "userns"}
	cmd := exec.CommandContext(ctx, "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Run(); err != nil {
		f.Detail = "refused: " + err.Error()
		return f
	}
	f.OK, f.Detail = true, "user and mount namespaces can be made"
	return f
}

func overlay() Feature {
	f := Feature{Name: "overlayfs", Detail: "not offered by this kernel"}
	data, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	if strings.Contains(string(data), "\toverlay\n") {
		f.OK, f.Detail = true, "offered"
	}
	return f
}

func seccomp() Feature {
	f := Feature{Name: "seccomp"}
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil {
		f.Detail = "not offered by this kernel: " + err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("offered (mode %d now)", mode)
	return f
}

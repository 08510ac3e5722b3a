package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Features looks at what the kernel offers for walls, by trying.
func Features(ctx context.Context) []Feature {
	return []Feature{
		landlockFeature(),
		userNamespaces(ctx),
		overlayFeature(),
		seccompFeature(),
		bubblewrapFeature(),
		groupFeature(ctx),
	}
}

func landlockFeature() Feature {
	f := Feature{Name: "landlock"}
	abi, err := landlockABI()
	if err != nil {
		f.Detail = "not offered by this kernel: " + err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("ABI %d", abi)
	return f
}

// systems is the path of a program of the system's, or else its name alone: the PATH may
// have a folder of a work tree.
func systems(name string) string {
	if path, ok := LookPath(name, "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"); ok {
		return path
	}
	return name
}

func userNamespaces(ctx context.Context) Feature {
	f := Feature{Name: "userns"}
	cmd := exec.CommandContext(ctx, systems("true"))
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

func overlayFeature() Feature {
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

func seccompFeature() Feature {
	f := Feature{Name: "seccomp"}
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil {
		f.Detail = "not offered by this kernel: " + err.Error()
		return f
	}
	f.OK, f.Detail = true, fmt.Sprintf("offered (mode %d now)", mode)
	return f
}

func bubblewrapFeature() Feature {
	path, err := exec.LookPath(systems("bwrap"))
	if err != nil {
		return Feature{Name: "bubblewrap", Detail: "not installed"}
	}
	return Feature{
		Name:   "bubblewrap",
		OK:     true,
		Detail: path,
	}
}

func groupFeature(ctx context.Context) Feature {
	if err := Bounded(ctx); err != nil {
		return Feature{
			Name:   "cgroup",
			Detail: fmt.Sprintf("max_memory holds for each process alone, and max_processes not for root: %v", err),
		}
	}
	return Feature{
		Name:   "cgroup",
		OK:     true,
		Detail: "max_memory and max_processes hold for all commands of a phase together",
	}
}

// Bounded returns nil if what runs behind a wall can be put into a control group
// here, so that its memory and its processes are bounded as a whole, and
// otherwise says why not. It starts a process in one.
func Bounded(ctx context.Context) error {
	g, err := newGroup(Policy{MaxProcesses: 16})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, systems("true"))
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	g.startIn(cmd)
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("nothing can be started in a control group: %w", err)
	}
	return errors.Join(err, g.remove())
}

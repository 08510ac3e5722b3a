package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// roleSwap is a process that puts folders in the place of others, for itself, and then
// becomes a command.
const roleSwap = "swap"

// swapped runs tasks as children of this process that have mounts of their own.
type swapped struct {
	direct

	swaps []Swap
}

// swapOrder is what such a process is told.
type swapOrder struct {
	Swaps []Swap
	Dir   string
	Path  string
	// Drop has it give up the rights that it has in a user namespace of its own.
	Drop, RootKeeps bool
}

// spawn implements spawner.
func (s swapped) spawn(ctx context.Context, t task, w *watch) (ending, error) {
	order := swapOrder{
		Swaps: s.swaps,
		Dir:   t.Dir,
		Path:  t.Path,
	}
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if !mayMount() {
		theirs := namespaces(true)
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings, attr.GidMappings = theirs.UidMappings, theirs.GidMappings
		attr.GidMappingsEnableSetgroups = theirs.GidMappingsEnableSetgroups
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
		order.Drop, order.RootKeeps = true, os.Getuid() == 0
	}
	request, err := json.Marshal(order)
	if err != nil {
		return ending{}, fmt.Errorf("encode what to put where: %w", err)
	}
	problem, theirs, err := os.Pipe()
	if err != nil {
		return ending{}, fmt.Errorf("make a pipe: %w", err)
	}
	defer problem.Close() //nolint:errcheck // only read from
	t.Args = append([]string{os.Args[0], Verb, roleSwap, string(request)}, t.Args...)
	t.Path, t.Dir = program(), "/"
	var reply []byte
	end, err := s.run(ctx, t, w, func(cmd *exec.Cmd) func() {
		cmd.SysProcAttr.Cloneflags = attr.Cloneflags
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = attr.UidMappings, attr.GidMappings
		cmd.SysProcAttr.GidMappingsEnableSetgroups = attr.GidMappingsEnableSetgroups
		cmd.SysProcAttr.AmbientCaps = attr.AmbientCaps
		cmd.ExtraFiles = []*os.File{theirs}
		return func() {
			_ = theirs.Close()
			reply, _ = io.ReadAll(problem) // it ends when the command begins
		}
	})
	switch {
	case len(reply) > 0:
		return end, fmt.Errorf("%w: %s", ErrNoSwap, reply)
	case err != nil && ctx.Err() == nil && !errors.Is(err, syscall.E2BIG) && !errors.Is(err, syscall.EAGAIN):
		return end, fmt.Errorf("%w: %w", ErrNoSwap, err)
	}
	return end, err
}

// mayMount reports whether this process may change mounts without a user namespace of
// its own, in which programs such as sudo do not work.
func mayMount() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err == nil && os.Geteuid() == 0 && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// swapAndRun is what a process in roleSwap does. It returns only with an error, which it
// has told the other side.
func swapAndRun(args []string) error {
	problem := os.NewFile(controlFD, "problem")
	unix.CloseOnExec(controlFD)
	var order swapOrder
	err := errors.New("it is not told what to put where")
	if len(args) > 1 {
		err = json.Unmarshal([]byte(args[0]), &order)
	}
	if err == nil {
		err = order.build()
	}
	if err == nil {
		err = syscall.Exec(order.Path, args[1:], os.Environ()) //nolint:gosec // the shell
	}
	_, _ = problem.WriteString(err.Error())
	return fmt.Errorf("become a command: %w", err)
}

// build makes the mounts, gives up what it took to make them, and goes to the folder.
func (o swapOrder) build() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	mounts := make([]int, len(o.Swaps))
	for i, s := range o.Swaps { // all are opened first: one may hide what the next one shows
		fd, err := cloneMount(s.From)
		if err != nil {
			return fmt.Errorf("open %s: %w", s.From, err)
		}
		if s.ReadOnly {
			attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
			if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
				return fmt.Errorf("make %s read-only: %w", s.From, err)
			}
		}
		mounts[i] = fd
	}
	for i, s := range o.Swaps {
		if err := attachMount(mounts[i], s.At); err != nil {
			return fmt.Errorf("put %s in the place of %s: %w", s.From, s.At, err)
		}
	}
	if o.Drop {
		if err := dropCaps(o.RootKeeps); err != nil {
			return err
		}
	}
	if err := os.Chdir(o.Dir); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	// It goes with the thread, and this one becomes the command.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) //nolint:wrapcheck // cannot fail
}

func newSwapped(swaps []Swap) spawner { return swapped{swaps: swaps} }

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// buildBubblewrap has bwrap make the mounts, with a copy where a layer would
// be, and restricts what runs in them as the other levels do.
func (w *Wall) buildBubblewrap(ctx context.Context) (*inside, error) {
	path, err := exec.LookPath(systems("bwrap"))
	if err != nil {
		return nil, fmt.Errorf("bubblewrap is not installed: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p, g := w.policy, w.layoutInput()
	if err := w.makeCaches(); err != nil {
		return nil, err
	}
	for _, c := range p.Caches { // no layers: they are read, and written to elsewhere
		g.shown = append(g.shown, c.Dir)
		g.read = append(g.read, c.layers()...)
		if c.Upper != "" {
			g.written = append(g.written, c.Upper)
		}
	}
	p.Caches = nil
	steps, err := layout(p, g)
	if err != nil {
		return nil, err
	}
	args, err := w.bwrapArgs(steps)
	if err != nil {
		return nil, err
	}
	args = append(args, "--ro-bind", self, bwrapSelf, "--remount-ro", "/run", "--", bwrapSelf, Verb, roleBuild)
	cmd := exec.Command(path, args...) //nolint:noctx // it lives as long as its wall
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	s := setup{
		Write:     writablePlaces(steps),
		Internet:  true,
		Processes: p.MaxProcesses,
	}
	return w.startInside(ctx, cmd, s)
}

// bwrapArgs are the arguments that make bwrap carry out the steps.
func (w *Wall) bwrapArgs(steps []step) ([]string, error) {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
		"--die-with-parent",
		"--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/dev/shm", "--proc", "/proc", "--as-pid-1",
		"--uid", strconv.Itoa(os.Getuid()), "--gid", strconv.Itoa(os.Getgid()),
	}
	if !w.policy.Network {
		args = append(args, "--unshare-net")
	}
	var errs []error
	for i, s := range steps {
		switch s.Kind {
		case kindOwn:
			args = append(args, "--bind", s.From, s.At)
		case kindBind:
			args = append(args, "--bind", s.At, s.At)
		case kindPut:
			args = append(args, "--ro-bind", s.From, s.At)
		case kindShow, kindView:
			args = append(args, "--ro-bind", s.At, s.At)
		case kindEmpty:
			if s.Dir {
				args = append(args, "--tmpfs", s.At)
			} else {
				args = append(args, "--ro-bind", "/dev/null", s.At)
			}
		case kindLayer:
			from := w.policy.Copy
			if s.At != w.policy.Tree { // nothing copies it: it starts empty
				from = filepath.Join(w.scratch, "empty"+strconv.Itoa(i))
				errs = append(errs, os.MkdirAll(from, 0o700))
			}
			args = append(args, "--bind", from, s.At)
		}
	}
	return args, errors.Join(errs...)
}

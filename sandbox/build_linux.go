package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// systemLevels are the levels that Linux has.
func systemLevels() []Level { return []Level{LevelNamespaces, LevelBubblewrap, LevelLandlock} }

// build starts the inside of the wall.
func (w *Wall) build(ctx context.Context) (*inside, error) {
	switch w.level {
	case LevelNamespaces:
		return w.buildNamespaces(ctx)
	case LevelBubblewrap:
		return w.buildBubblewrap(ctx)
	case LevelLandlock:
		return w.buildLandlock(ctx)
	}
	return nil, fmt.Errorf("there is no level %q", w.level)
}

// startInside starts the inside of the wall, in its control group if there is one.
func (w *Wall) startInside(ctx context.Context, cmd *exec.Cmd, s setup) (*inside, error) {
	if w.group != nil {
		s.Processes = 0 // the group counts, and says so when it refuses
	}
	w.group.startIn(cmd)
	return startInside(ctx, cmd, s)
}

func (w *Wall) layoutInput() layoutInput {
	in := layoutInput{
		home:    homeOf(w.env),
		shown:   w.programs(),
		scratch: w.scratch,
		mounts:  mountPoints(),
	}
	if len(w.ownProxies()) > 0 {
		in.read = []string{w.self()}
	}
	return in
}

// buildNamespaces puts the commands into namespaces of their own.
func (w *Wall) buildNamespaces(ctx context.Context) (*inside, error) {
	steps, err := layout(w.policy, w.layoutInput())
	if err != nil {
		return nil, err
	}
	if !w.putsWritten { // else the layers hold what earlier commands left
		if err := w.putInLayers(steps); err != nil {
			return nil, err
		}
	}
	s := setup{
		Steps:     steps,
		Write:     writablePlaces(steps),
		Internet:  true,
		Loopback:  !w.policy.Network,
		Processes: w.policy.MaxProcesses,
		RootKeeps: os.Getuid() == 0,
	}
	cmd := selfCommand(roleBuild)
	cmd.SysProcAttr = namespaces(w.policy.Network)
	return w.startInside(ctx, cmd, s)
}

// writablePlaces lists where Landlock lets the commands write.
func writablePlaces(steps []step) []string {
	out := []string{"/dev"}
	for _, s := range steps {
		if s.Kind == kindOwn || s.Kind == kindBind || s.Kind == kindLayer {
			out = append(out, s.At)
		}
	}
	return out
}

// selfCommand is this program, to be started once more in a role.
func selfCommand(role string) *exec.Cmd {
	cmd := exec.Command(program(), Verb, role) //nolint:noctx // it lives as long as its wall
	cmd.Args[0] = os.Args[0]
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	return cmd
}

// namespaces is how a process starts that has rights of its own in new
// namespaces, under the user that the caller is. Control groups keep their names: the
// mounts of them are from outside, and runtimes that look for their bounds fail where
// their names and these do not fit.
func namespaces(network bool) *syscall.SysProcAttr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	if !network {
		flags |= unix.CLONE_NEWNET
	}
	attr := &syscall.SysProcAttr{
		Cloneflags:  flags,
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		// A process that is not root's loses the rights of a new namespace when
		// it starts a program, unless they are ambient.
		AmbientCaps: []uintptr{
			unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETGID, unix.CAP_SETUID,
			unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_MKNOD, unix.CAP_KILL,
		},
	}
	if os.Getuid() == 0 {
		attr.UidMappings = identity("uid_map")
		attr.GidMappings = identity("gid_map")
		attr.GidMappingsEnableSetgroups = true
	}
	return attr
}

// identity maps every id that there is to itself.
func identity(file string) []syscall.SysProcIDMap {
	data, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		return []syscall.SysProcIDMap{{Size: 1}}
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(data)) {
		var first, outside, count int
		if _, err := fmt.Sscan(line, &first, &outside, &count); err == nil {
			out = append(out, syscall.SysProcIDMap{
				ContainerID: first,
				HostID:      first,
				Size:        count,
			})
		}
	}
	return out
}

// buildLandlock does without namespaces. What may be read is everything but
// what is hidden, what may be written is named.
func (w *Wall) buildLandlock(ctx context.Context) (*inside, error) {
	tmp := filepath.Join(w.scratch, "tmp0")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for the sandbox: %w", err)
	}
	if err := w.makeCaches(); err != nil {
		return nil, err
	}
	write := slices.Concat([]string{tmp}, devices(), w.policy.writable(), w.policy.uppers())
	if w.policy.Discard {
		write = append(write, w.policy.Copy)
	}
	read := slices.Concat(write, w.policy.cacheLayers(), []string{w.policy.Tree, w.self()})
	// Of the devices only those in write: who reads a terminal of the user's gets what is typed there.
	hidden := append(slices.Clip(w.policy.Hidden), "/dev")
	if home := w.policy.ownHome(); home != "" {
		if err := w.policy.writeSettings(w.scratch); err != nil {
			return nil, err
		}
		read = append(read, filepath.Join(w.scratch, settingsDirName))
		read = append(read, w.policy.readInHome(home, w.programs())...)
		hidden = append(hidden, home)
	}
	for _, other := range w.policy.otherHomes() {
		read = append(read, w.policy.readInHome(other, w.programs())...)
		hidden = append(hidden, other)
	}
	s := setup{
		Read:     pathsExcept(hidden, read),
		Write:    write,
		Internet: w.policy.Network,
	}
	cmd := selfCommand(roleGuard)
	// No Pdeathsig: the guard has to outlive us by the moment that it takes to
	// end what is left.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := w.startInside(ctx, cmd, s)
	if in != nil {
		in.endsItself = true
	}
	return in, err
}

// pathsExcept lists paths that together hold everything but what is hidden, and
// what is to be kept although it lies in there.
func pathsExcept(hidden, keep []string) []string {
	return append(pathsAround("/", realPaths(hidden)), keep...)
}

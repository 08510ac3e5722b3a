package sandbox

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Verb is the first argument of a process that is the inside of a wall.
const Verb = "__sandbox"

// What such a process does.
const (
	roleBuild = "build" // make the wall around itself, then serve
	roleServe = "serve" // run commands
	roleGuard = "guard" // have a wall built, and end whatever it leaves behind
)

// controlFD is the descriptor of the connection to the other side.
const controlFD = 3

// Enter turns this process into the inside of a wall, if it was started to be
// that, and then does not return. It must be the first thing that main does,
// in every program and every test that builds a wall, because a wall is this
// same program started once more.
func Enter() {
	if len(os.Args) < 3 || os.Args[1] != Verb {
		return
	}
	runtime.LockOSThread()
	// Commands must not inherit what else was open where plan was started.
	err := unix.CloseRange(controlFD+1, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err != nil {
		err = fmt.Errorf("close what was inherited: %w", err)
	}
	switch role := os.Args[2]; {
	case err != nil:
	case role == roleBuild:
		err = buildAndServe()
	case role == roleServe:
		err = serve()
	case role == roleGuard:
		err = guard()
	case role == roleSwap:
		err = swapAndRun(os.Args[3:])
	case role == roleCache && len(os.Args) > 3:
		err = newGoCache(os.Args[3:]).serve(os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		syscall.Exit(1)
	}
	syscall.Exit(0) // at once: os.Exit waits a second under the race detector
}

// buildAndServe builds the wall around this process and makes it the server in it.
func buildAndServe() error {
	var s setup
	conn := os.NewFile(controlFD, "control")
	if err := readFrame(conn, &s); err != nil {
		return fmt.Errorf("read what to build: %w", err)
	}
	if err := buildWall(s); err != nil {
		data, _ := encodeFrame(reply{Error: err.Error()}) // plain text: it cannot fail
		_, _ = conn.Write(data)
		return err
	}
	args := []string{os.Args[0], Verb, roleServe}
	err := syscall.Exec("/proc/self/exe", args, os.Environ()) //nolint:gosec // it is this program
	// The server finds it open, unless it is collected just before it begins.
	runtime.KeepAlive(conn)
	return fmt.Errorf("start the server: %w", err)
}

// buildWall makes the mounts and gives up everything else.
func buildWall(s setup) error {
	if s.Loopback {
		if err := loopback(); err != nil {
			return err
		}
	}
	if len(s.Steps) > 0 {
		if err := buildMounts(s.Steps); err != nil {
			return err
		}
	}
	if err := os.Chdir("/"); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	if err := restrict(s); err != nil {
		return err
	}
	// It goes with the thread, and this one becomes the process.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) //nolint:wrapcheck // cannot fail
}

// loopback brings up the only interface of a new network namespace.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring the loopback up: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring the loopback up: %w", err)
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bring the loopback up: %w", err)
	}
	return nil
}

// guard has a wall built by a child and kills all that came of it once the
// child ends or the other side is gone. It stands outside the wall, where the
// commands cannot signal it.
func guard() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	conn := os.NewFile(controlFD, "control")
	life := os.NewFile(controlFD+1, "life")                // a pipe without writes; it ends with the other side
	cmd := exec.Command("/proc/self/exe", Verb, roleBuild) //nolint:noctx // it ends with the other side
	cmd.Args[0] = os.Args[0]
	cmd.Env = os.Environ()
	cmd.ExtraFiles = []*os.File{conn}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	_ = conn.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	left := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, life)
		close(left)
	}()
	var err error
	select {
	case err = <-ended:
	case <-left:
	}
	killDescendants(os.Getpid())
	return err
}

// killDescendants kills every process that comes from one, again and again
// until there is none: those that lose their parent become the caller's own,
// so none gets away.
func killDescendants(of int) {
	for {
		parents := parentsOf()
		found := false
		for pid := range parents {
			if descends(parents, pid, of) {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
		if !found {
			return
		}
		runtime.Gosched()
	}
}

// parentsOf tells the parent of each process.
func parentsOf() map[int]int {
	procs, err := processes()
	if err != nil {
		return nil
	}
	return parents(procs)
}

// connection makes the inherited descriptor a connection.
func connection() (*net.UnixConn, error) {
	file := os.NewFile(controlFD, "control")
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("open the connection: %w", err)
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errFrame, conn.Close())
	}
	return unixConn, nil
}

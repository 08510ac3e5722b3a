package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// server runs commands behind a wall that stands already: it has no more
// rights than they have. It is the first process of its namespace, so all of
// them end with it.
type server struct {
	conn *net.UnixConn

	mu       sync.Mutex
	running  map[int]int64           // process → order
	quitting map[int64]*quittingTask // by order
	sending  sync.Mutex
}

// serve carries out orders until the other side is gone.
func serve() error {
	conn, err := connection()
	if err != nil {
		return err
	}
	// Orphans come here also where this is no first process: dead ones that are
	// not collected would count as processes.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	// Commands are the same user. They must not look into this process: it holds
	// the descriptors of others, and says how they ended.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close its memory: %w", err)
	}
	spareThreads(8)
	s := &server{
		conn:     conn,
		running:  map[int]int64{},
		quitting: map[int64]*quittingTask{},
	}
	signals := make(chan os.Signal, 16)
	// Signals that commands send to their first process are noticed and change
	// nothing. Ignoring them would be inherited.
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGPIPE, syscall.SIGTSTP)
	go func() {
		for range signals {
			s.reap()
		}
	}()
	s.send(reply{Ready: true})
	for {
		var o order
		files, err := receive(conn, &o)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.handle(o, files)
	}
}

func (s *server) handle(o order, files []*os.File) {
	defer closeAll(files)
	switch {
	case o.Kill:
		s.kill(o.ID)
	case o.Query != nil:
		s.send(s.answer(o.ID, o.TaskID, *o.Query))
	case o.Task != nil && len(files) == taskFiles:
		if err := s.start(o.ID, *o.Task, files); err != nil {
			r := reply{ID: o.ID, Error: err.Error()}
			errors.As(err, &r.Errno)
			s.send(r)
		}
	}
}

// quittingTask is a task that was sent SIGQUIT. Its first process may have ended.
type quittingTask struct {
	quitQueue
	leader int
}

// kill kills a task with its process group.
func (s *server) kill(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pid, ok := s.leader(id); ok {
		delete(s.quitting, id)
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// leader is the first process of a task that runs or is leaving.
func (s *server) leader(id int64) (pid int, ok bool) {
	if l := s.quitting[id]; l != nil {
		return l.leader, true
	}
	for pid, its := range s.running {
		if its == id {
			return pid, true
		}
	}
	return 0, false
}

// answer answers a question about a task. What runs behind the wall counts as
// the task's: which task a process comes from that lost its parent is not known.
func (s *server) answer(id, of int64, a taskQuery) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	procs, err := processes()
	if err != nil {
		return reply{ID: id, Error: err.Error()}
	}
	leader, _ := s.leader(of)
	l := s.quitting[of]
	if l == nil {
		l = &quittingTask{leader: leader}
	}
	t := l.answer(a, leader, procs, descendants(procs, os.Getpid()))
	if l.isPending() {
		s.quitting[of] = l
	}
	return reply{ID: id, Status: &t}
}

// start starts a task. Nothing is reaped meanwhile, or the end of a short one
// could come before it is known.
func (s *server) start(id int64, t task, files []*os.File) error {
	if info, err := os.Stat(t.Dir); err != nil {
		return err //nolint:wrapcheck // names the path
	} else if !info.IsDir() {
		return &os.PathError{
			Op:   "chdir",
			Path: t.Dir,
			Err:  syscall.ENOTDIR,
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(t.Path, t.Args, &syscall.ProcAttr{
		Dir:   t.Dir,
		Env:   t.Env,
		Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return &os.PathError{
			Op:   "exec",
			Path: t.Path,
			Err:  err,
		}
	}
	s.running[pid] = id
	if t.Memory > 0 {
		boundMemory(os.Getpid(), pid, t.Memory)
	}
	return nil
}

// boundMemory bounds what a task, and each process that it starts, may reserve to write to: from
// outside, because this process may have reserved more already, and not by RLIMIT_AS, which would
// count what programs reserve and never touch. The task runs already, so what it has started
// meanwhile is bounded, too; all that comes from the server behind a wall has the same bound.
func boundMemory(server, leader int, most uint64) {
	limit := unix.Rlimit{
		Cur: most,
		Max: most,
	}
	_ = unix.Prlimit(leader, unix.RLIMIT_DATA, &limit, nil) // it may have ended
	for found := true; found; {
		found = false
		procs, err := processes()
		if err != nil {
			return
		}
		for _, p := range descendants(procs, server) {
			var has unix.Rlimit
			if unix.Prlimit(p.PID, unix.RLIMIT_DATA, nil, &has) == nil && has.Max > most {
				found = unix.Prlimit(p.PID, unix.RLIMIT_DATA, &limit, nil) == nil || found
			}
		}
	}
}

// spareThreads makes threads that wait to be used. One that the runtime needs
// and cannot start, because commands use up all the processes there may be,
// would be the end of this process.
func spareThreads(n int) {
	var up, down sync.WaitGroup
	release := make(chan struct{})
	up.Add(n)
	for range n {
		down.Go(func() {
			runtime.LockOSThread() // so each has one of its own
			defer runtime.UnlockOSThread()
			up.Done()
			<-release
		})
	}
	up.Wait()
	close(release)
	down.Wait()
}

// reap collects every child that ended: tasks, and orphans that became ours.
func (s *server) reap() {
	s.mu.Lock()
	var ended []reply
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 || err != nil {
			break
		}
		if id, ok := s.running[pid]; ok {
			delete(s.running, pid)
			if _, ok := s.quitting[id]; !ok { // else the rest of it is killed by an order
				_ = syscall.Kill(-pid, syscall.SIGKILL) // what it left in the background
			}
			ended = append(ended, reply{
				ID:     id,
				Code:   exitCode(status),
				Signal: status.Signaled(),
			})
		}
	}
	s.mu.Unlock()
	for _, r := range ended {
		s.send(r)
	}
}

func (s *server) send(r reply) {
	data, err := encodeFrame(r)
	if err != nil {
		return // plain data: it cannot happen
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	_, _ = s.conn.Write(data) // a side that is gone also ends the reading
}

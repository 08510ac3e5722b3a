//go:build unix

package signals

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopped is how long a process waits for the kernel to stop it: signals to oneself
// may take a moment, and one whose group is orphaned is never stopped.
const stopped = 100 * time.Millisecond

// Suspend has what stops a process (Ctrl-Z, and a terminal that a job in the
// background reads or writes) do so inside away, which calls its argument while other
// processes can do without this one. Signals that are ignored stay so.
func Suspend(away func(stop func())) {
	stops := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		if !signal.Ignored(s) {
			signal.Notify(stops, s)
		}
	}
	go func() {
		for s := range stops {
			away(func() { stopNow(s.(syscall.Signal)) }) //nolint:forcetypeassert // signals of this system are
		}
	}()
}

// stopNow does what the signal does by itself, and returns when the process goes on.
func stopNow(s syscall.Signal) {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	restore, err := setDefault(s)
	if err != nil {
		s = syscall.SIGSTOP
	} else {
		defer restore()
	}
	if syscall.Kill(syscall.Getpid(), s) != nil {
		return
	}
	select {
	case <-goesOn:
	case <-time.After(stopped):
	}
}

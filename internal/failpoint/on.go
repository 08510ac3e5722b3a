//go:build failpoint

// Package failpoint marks the instants between which a process can die. In a
// build with the tag failpoint, which only tests make, it dies there as if by
// kill -9; in every other build a mark is nothing at all.
package failpoint

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// counter counts the marks that this process has come by. A count of the
// process can be kept nowhere else; only test builds have it.
var counter struct {
	sync.Mutex
	n int
}

// Unsynced reports whether syncs are to be left out, so that a test can show that it
// sees what is lost then.
func Unsynced() bool { return os.Getenv("PLAN_FAILPOINT_UNSYNCED") != "" }

// Hit marks an instant. The process dies at the N-th one it comes by, N being
// $PLAN_FAILPOINT; 0 or nothing lets it live. With $PLAN_FAILPOINT_DO set, it does not
// die there, but does what that shell command does, and lives on. With
// $PLAN_FAILPOINT_LOG set instead, the names are added to that file, one a line.
func Hit(name string) {
	counter.Lock()
	defer counter.Unlock()
	counter.n++
	do := os.Getenv("PLAN_FAILPOINT_DO")
	if path := os.Getenv("PLAN_FAILPOINT_LOG"); path != "" && do == "" {
		f, err := os.OpenFile(
			path,
			os.O_CREATE|os.O_APPEND|os.O_WRONLY,
			0o600,
		) //nolint:gosec // the test that sets it names the file
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, name)
		if err := f.Close(); err != nil {
			panic(err)
		}
	}
	if at, _ := strconv.Atoi(os.Getenv("PLAN_FAILPOINT")); at != counter.n {
		return
	}
	if do != "" {
		out, err := exec.Command("sh", "-c", do).CombinedOutput() //nolint:gosec // as above
		if err != nil {
			panic(fmt.Sprintf("%v\n%s", err, out))
		}
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // the signal is on its way, and nothing more may happen
}

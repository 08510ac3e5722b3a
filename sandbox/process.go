package sandbox

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/plan-engine/plan/internal/oneline"
)

const (
	// maxNamed is how many processes are named of those that still run.
	maxNamed = 10
	// maxName is how much is kept of a command line, in bytes.
	maxName = 4 << 10
)

// process is one process of the system.
type process struct {
	PID    int
	Parent int
	Group  int
	Used   time.Duration // of the processor, with what ended children used that it waited for
	Zombie bool          // it waits for its parent to collect it
	Line   string        // its command line, where the system's list holds it
}

// taskQuery is a question about a running task.
type taskQuery struct {
	Names bool `json:",omitempty"` // tell its command lines
	Quit  bool `json:",omitempty"` // and send SIGQUIT to the next of its processes
}

// taskStatus is the answer.
type taskStatus struct {
	Alive   bool                  // the task has not ended
	Used    map[int]time.Duration `json:",omitempty"` // processor time of each process
	Running []string              `json:",omitempty"` // command lines, children before their parents
}

// answer answers a question about the task that leader is the first process of,
// and which is made of some of the system's processes.
func (q *quitQueue) answer(a taskQuery, leader int, procs, its []process) taskStatus {
	t := taskStatus{Used: make(map[int]time.Duration, len(its))}
	for _, p := range its {
		t.Used[p.PID] = p.Used
		t.Alive = t.Alive || p.PID == leader && !p.Zombie
	}
	its = slices.DeleteFunc(deepestFirst(procs, its), func(p process) bool { return p.Zombie })
	if a.Names {
		for _, p := range its[:min(len(its), maxNamed)] {
			t.Running = append(t.Running, commandLine(p))
		}
	}
	if a.Quit && (t.Alive || q.isPending()) {
		for _, pid := range q.next(its) {
			leaveNoCore(pid)
			_ = syscall.Kill(pid, syscall.SIGQUIT) // it may have ended meanwhile
		}
	}
	return t
}

// quitQueue is which processes of a task are still to be sent SIGQUIT, of those
// that were there when the first was. It goes from the children to their parents:
// one such as go test holds back what its children print, and drops it when it is
// told to quit itself.
type quitQueue struct{ pending map[int]bool }

func (q *quitQueue) isPending() bool { return q.pending != nil }

// next takes the processes whose turn it is: those without children that are
// still to come.
func (q *quitQueue) next(living []process) []int {
	if q.pending == nil {
		q.pending = make(map[int]bool, len(living))
		for _, p := range living {
			q.pending[p.PID] = true
		}
	}
	parent := map[int]bool{}
	for _, p := range living {
		if q.pending[p.PID] {
			parent[p.Parent] = true
		}
	}
	var out []int
	for _, p := range living {
		if q.pending[p.PID] && !parent[p.PID] {
			out = append(out, p.PID)
			delete(q.pending, p.PID)
		}
	}
	return out
}

// commandLine is the command line of a process on one line.
func commandLine(p process) string {
	line := oneline.Of(rawCommandLine(p))
	return line[:min(len(line), maxName)]
}

// parents tells the parent of each process.
func parents(procs []process) map[int]int {
	out := make(map[int]int, len(procs))
	for _, p := range procs {
		out[p.PID] = p.Parent
	}
	return out
}

// descendants lists the processes that come from one.
func descendants(procs []process, of int) []process {
	parent := parents(procs)
	var out []process
	for _, p := range procs {
		if descends(parent, p.PID, of) {
			out = append(out, p)
		}
	}
	return out
}

// descends reports whether a process comes from another.
func descends(parents map[int]int, pid, of int) bool {
	for range len(parents) { // a list that changed meanwhile may hold a circle
		parent, ok := parents[pid]
		if !ok || parent == 0 {
			return false
		}
		if parent == of {
			return true
		}
		pid = parent
	}
	return false
}

// groupAndBelow lists the processes of a group and what comes from its leader.
func groupAndBelow(procs []process, leader int) []process {
	parent := parents(procs)
	var out []process
	for _, p := range procs {
		if p.PID == leader || p.Group == leader || descends(parent, p.PID, leader) {
			out = append(out, p)
		}
	}
	return out
}

// deepestFirst sorts processes: those that are the furthest from the first
// process of the system come first.
func deepestFirst(procs, some []process) []process {
	parent := parents(procs)
	depth := func(pid int) int {
		n := 0
		for range len(parent) {
			up, ok := parent[pid]
			if !ok || up == 0 {
				break
			}
			pid, n = up, n+1
		}
		return n
	}
	out := slices.Clone(some)
	slices.SortFunc(out, func(a, b process) int {
		return cmp.Or(cmp.Compare(depth(b.PID), depth(a.PID)), cmp.Compare(a.PID, b.PID))
	})
	return out
}

// processorTime is how much processor time was used from one answer to the next. What a
// process used whose parent waited for it is counted with the parent.
func processorTime(before, now map[int]time.Duration) time.Duration {
	var sum time.Duration
	for pid, used := range now {
		if earlier := before[pid]; earlier <= used {
			used -= earlier
		} // else the number was given to another process meanwhile
		sum += used
	}
	return sum
}

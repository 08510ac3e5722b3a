package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/scratch"
)

const (
	// outsideGroup is the control group that a process which builds walls moves
	// into: a group that holds processes cannot bound groups below it.
	outsideGroup = "plan-outside"
	// groupPatience is how long the kernel may take to be done with what was killed.
	groupPatience = 2 * time.Second
)

// group is a control group (version 2) that holds everything behind one wall.
// A nil group bounds nothing and counts nothing.
type group struct {
	dir    string
	file   *os.File // of dir; locked, so that no other process sweeps it
	policy Policy
}

// newGroup makes a group with the bounds of a policy, below the one that this
// process is in. The error says why there can be none.
func newGroup(p Policy) (*group, error) {
	base, err := delegated()
	if err != nil {
		return nil, err
	}
	g := &group{policy: p}
	for g.file == nil { // another process may sweep it between its making and its locking
		if g.dir, err = os.MkdirTemp(base, scratch.Wall); err != nil {
			return nil, fmt.Errorf("no control group can be made in %s: %w", base, unwrapPath(err))
		}
		if g.file, err = lockGroup(g.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, unix.Rmdir(g.dir))
		}
	}
	if err := g.writeLimits(); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// writeLimits sets the bounds.
func (g *group) writeLimits() error {
	var errs []error
	if g.policy.MaxProcesses > 0 {
		errs = append(errs, g.write("pids.max", strconv.FormatUint(g.policy.MaxProcesses, 10)))
	}
	if g.policy.MaxMemory > 0 {
		errs = append(errs, g.write("memory.max", strconv.FormatUint(g.policy.MaxMemory, 10)))
		if err := g.write("memory.swap.max", "0"); !errors.Is(err, fs.ErrNotExist) { // without swap there is none
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (g *group) write(file, text string) error {
	return os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0) //nolint:wrapcheck // names the path
}

// startIn has a process start inside the group.
func (g *group) startIn(cmd *exec.Cmd) {
	if g != nil {
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(g.file.Fd())
	}
}

// kill ends everything in the group at once, where the kernel can (5.14).
func (g *group) kill() {
	if g != nil {
		_ = g.write("cgroup.kill", "1")
	}
}

// remove removes the group, once the kernel is done with what was in it.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	deadline := time.Now().Add(groupPatience)
	err := unix.Rmdir(g.dir)
	for errors.Is(err, unix.EBUSY) && time.Now().Before(deadline) {
		g.awaitChange(time.Until(deadline))
		err = unix.Rmdir(g.dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("remove the control group %s: %w", g.dir, err)
	}
	return errors.Join(err, g.file.Close())
}

// awaitChange waits until the last process of the group is gone.
func (g *group) awaitChange(patience time.Duration) {
	events, err := os.Open(filepath.Join(g.dir, "cgroup.events"))
	if err != nil {
		return
	}
	defer func() { _ = events.Close() }()
	text := make([]byte, 256)
	n, err := events.Read(text) // changes count from here on
	if err != nil || strings.Contains(string(text[:n]), "populated 0") {
		return
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}, int(patience.Milliseconds()))
}

// limitHits is how often the bounds were met.
type limitHits struct {
	killed  uint64 // processes, for want of memory
	refused uint64 // processes that were not started
}

func (g *group) readHits() limitHits {
	if g == nil {
		return limitHits{}
	}
	return limitHits{
		killed:  readCounter(filepath.Join(g.dir, "memory.events"), "oom_kill"),
		refused: readCounter(filepath.Join(g.dir, "pids.events"), "max"),
	}
}

// hitsSince says, for the reader of a command's output, which bounds were met
// since before.
func (g *group) hitsSince(before limitHits) string {
	var out string
	now := g.readHits()
	switch {
	case now.killed == before.killed:
	case g.policy.MaxMemory == 0:
		out = "[Killed: the machine, or what plan itself may use of it, ran out of memory. " +
			"Make the command do less at a time.]\n"
	default:
		out = fmt.Sprintf("[Killed: the commands of this phase together used more than %s of memory, "+
			"which is the bound (max_memory in the settings). Make the command do less at a time.]\n",
			amount.ExactBytes(int64(g.policy.MaxMemory)))
	}
	if now.refused != before.refused {
		out += fmt.Sprintf("[A process could not be started: the commands of this phase together may have "+
			"%d processes and threads (max_processes in the settings). Make the command start fewer at a time.]\n",
			g.policy.MaxProcesses)
	}
	return out
}

// readCounter reads one number of a file of names and numbers; 0 if it is not there.
func readCounter(file, name string) uint64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, _ := strconv.ParseUint(value, 10, 64) // the kernel writes numbers
			return n
		}
	}
	return 0
}

// sweepGroups removes the groups that killed processes left: those that no
// process has locked. What still runs in one is ended first.
func sweepGroups() {
	base, _, err := ownGroup()
	if err != nil {
		return
	}
	dirs, err := filepath.Glob(filepath.Join(base, scratch.Wall+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if lock, err := lockGroup(dir); err == nil {
			g := &group{dir: dir, file: lock}
			g.kill()
			_ = g.remove()
		}
	}
}

// lockGroup opens the folder of a group and locks it. One that is gone by then
// is fs.ErrNotExist.
func lockGroup(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	if err = lockFile(f); err == nil {
		_, err = os.Stat(dir)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fs.ErrNotExist // another process sweeps it
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unwrapPath leaves a path out of an error that names it again.
func unwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// holdsWords reports whether a file of words holds all of these.
func holdsWords(file string, words []string) bool {
	data, err := os.ReadFile(file)
	have := strings.Fields(string(data))
	return err == nil && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, w) })
}

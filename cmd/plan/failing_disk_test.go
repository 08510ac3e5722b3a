package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/internal/sampling"
)

// unplug is a program of the tests: the disk that is mounted in a place answers EIO
// from then on. What was written before is on it.
func unplug() {
	const withLog = 1 // EXT4_GOING_FLAGS_LOGFLUSH
	if err := shutdown(os.Args[1], withLog); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// failures are commands with which a disk fails, by what it does then.
func (d *disk) failures() map[string]string {
	return map[string]string{
		"answers EIO": "unplug " + d.dir,
		// The kernel finds an error in the file system, and refuses every write from then on.
		"is read-only": "echo test >/sys/fs/ext4/$(basename $(findmnt -no SOURCE " + d.dir + "))/trigger_fs_error",
	}
}

// failingMove is a command that moves files of a tree, on a disk that fails.
type failingMove struct {
	place
	disk     *disk
	args     []string
	back     []string // what brings it back
	from, to map[string]string
}

// at has the disk fail at a failpoint, and says what does not hold then. It reports
// false where the command comes by fewer.
func (m *failingMove) at(n int, do string) (more bool, err error) {
	failing, r := m.place, *m.killRange
	r.gitEnv = append(slices.Clip(r.gitEnv), "PLAN_FAILPOINT_DO="+do)
	failing.killRange = &r
	code, said := failing.start(n, 0, m.args...)
	if err := m.disk.swap(m.disk.image); err != nil { // it works again
		m.t.Fatal(err)
	}
	var errs []error
	now := m.files()
	for name := range now {
		if text := now[name]; text != m.from[name] && text != m.to[name] {
			errs = append(errs, fmt.Errorf("%s is neither before nor after: %.80q", name, text))
		}
		told := code == 0 || strings.Contains(said, strings.TrimPrefix(name, "/")) || strings.Contains(said, "is undone")
		if !told && now[name] != m.from[name] {
			errs = append(errs, fmt.Errorf("that %s is changed is not said", name))
		}
	}
	// The next command finishes the move, or finds that there is nothing to finish. A
	// change that is undone cannot be undone once more.
	again, then := m.start(0, 0, m.args...)
	over := again == 1 && strings.Contains(then, "is left to undo")
	if diff := gocmp.Diff(m.to, m.state()); again != 0 && !over || diff != "" {
		errs = append(errs, fmt.Errorf("once more: %d (-want +got)\n%s\n%s", again, diff, then))
	}
	back, then := m.start(0, 0, m.back...)
	if diff := gocmp.Diff(m.from, m.state()); back != 0 || diff != "" {
		errs = append(errs, fmt.Errorf("and back: %d (-want +got)\n%s\n%s", back, diff, then))
	}
	if len(errs) > 0 {
		return true, fmt.Errorf("%v at %d: %w\nit said %d: %s", m.args, n, errors.Join(errs...), code, said)
	}
	return code != 0, nil
}

// state is what the user has: the files, and what git says of them.
func (p place) state() map[string]string {
	out := p.files()
	out["git status"] = p.command(p.t.Context(), p.repoDir(), "git", "status", "--porcelain")
	return out
}

// TestAMoveOnADiskThatFails has the disk of a repository fail while files are moved. The
// command says which files are changed, and the next one that works there, once the disk is
// well again, brings the move to its end.
func TestAMoveOnADiskThatFails(t *testing.T) {
	t.Parallel()
	try := t.TempDir()
	d, err := newDisk(t, filepath.Join(try, "disk"), filepath.Join(try, "d"))
	if err != nil {
		t.Logf("no disk can be made here, so none fails: %v", err)
		return
	}
	d.remove()
	newPowerCuts(t).on("a move", func(p place, d *disk) { p.failMoves(d, sampling.New(t)) })
}

func (p place) failMoves(d *disk, random *rand.Rand) {
	p.t.Helper()
	if code, said := p.start(0, 0, "run", "--worktree", "--check", "sh check.sh", "Count in digits"); code != 0 {
		p.t.Fatalf("the run ends with %d:\n%s", code, said)
	}
	id := string(p.runs()[0][0].Run)
	undo := []string{"restore", id, "--undo"}
	failures := d.failures()
	kinds := sampling.Pick(random, 1, slices.Sorted(maps.Keys(failures)))
	for _, there := range sampling.Pick(random, 1, [][]string{{"apply", id}, {"apply", id, "--commit"}}) {
		before := p.state()
		if code, said := p.start(0, 0, there...); code != 0 {
			p.t.Fatalf("%v: %d:\n%s", there, code, said)
		}
		after := p.state()
		m := &failingMove{p, d, undo, there, after, before}
		for _, kind := range kinds {
			p.failAt(m, failures[kind], random)
		}
		if code, said := p.start(0, 0, undo...); code != 0 {
			p.t.Fatalf("%v: %d:\n%s", undo, code, said)
		}
		m = &failingMove{p, d, there, undo, before, after}
		for _, kind := range kinds {
			p.failAt(m, failures[kind], random)
		}
	}
}

// failAt has a disk fail at each failpoint of a command, or at one.
func (p place) failAt(m *failingMove, do string, random *rand.Rand) {
	p.t.Helper()
	first := 1
	if !sampling.All() {
		first += random.IntN(12) // a move comes by more
	}
	for n := first; ; n++ {
		more, err := m.at(n, do)
		if err != nil {
			p.t.Errorf("the disk fails with %q: %v", do, err)
		}
		if !more || !sampling.All() {
			return
		}
	}
}

package proof

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// Checker runs checks behind the walls of a review, so that nothing they write
// reaches the tree. The command that prepares the tree is the exception.
type Checker struct {
	walls   *walls.Walls
	timeout time.Duration // of a check that has none of its own; 0 is that of checks
	redact  func(string) string
	fetcher *fetcher
	repo    *worktree.Repo
	offline bool // checks have no network

	mu     sync.Mutex
	shared map[string]*sharedRoom // by the hash of the tree that it shows
}

// Check implements engine.Checker.
func (c *Checker) Check(
	ctx context.Context,
	t plan.Trial,
	update func(string),
) (plan.CheckResult, []plan.Blob, error) {
	failpoint.Hit("before a check")
	defer failpoint.Hit("after a check")
	note, err := c.prepare(ctx, t, update)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	room, err := c.openRoom(ctx, t)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	res, blobs, err := c.runner(room).Run(ctx, room.Dir, t, update)
	res.Output = withNote(res.Output, note)
	if t.Baseline && t.Source != plan.CheckSetup && c.offline && !res.Passed() && checks.LacksNetwork(res.Output) {
		res.Output = withNote(res.Output, "[It looks as if this check needs a network, or one of this machine alone: "+
			"checks run without. If it does, the setting `[phase.review] network = true` gives it to them.]")
	}
	closed := room.Close()
	var breach *sandbox.Breach
	if errors.As(closed, &breach) { // anything else is swept up later; the result counts all the same
		res.Output += fmt.Sprintf("\n[While this check ran, %v. So it does not count as passed.]\n", breach)
		if res.ExitCode == 0 {
			res.ExitCode = 1
		}
	}
	return res, blobs, err
}

// withNote is what a command printed, and a line behind it that says what was done
// for it, if anything was.
func withNote(output, note string) string {
	if note == "" {
		return output
	}
	return strings.TrimSuffix(output, "\n") + "\n" + note + "\n"
}

// openRoom makes the room of a check.
func (c *Checker) openRoom(ctx context.Context, t plan.Trial) (phases.Room, error) {
	if t.Source == plan.CheckSetup {
		return c.walls.SetupRoom(ctx)
	}
	if t.Trees == (plan.Trees{}) {
		return c.walls.PhaseRoom(ctx, plan.Review, plan.Trees{})
	}
	room, err := c.walls.TrialRoom(ctx, t)
	if err != nil {
		return phases.Room{}, err
	}
	return room.Room, nil
}

func (c *Checker) runner(room phases.Room) *checks.Runner {
	return checks.New(checks.Config{
		Shell:   room.Shell,
		Timeout: c.timeout,
		Redact:  c.redact,
	})
}

// RunTrial runs the command of a trial alone, on a tree as it was made: t.On with
// t.Added. The result says which tree that was, which files were added, and what
// of the tree's own files the command wrote to. Where layers are copies, the
// trials on one tree share one, which is kept until Close; they wait for each
// other.
func (c *Checker) RunTrial(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error) {
	note, err := c.prepare(ctx, t, nil)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	room, release, err := c.openTrialRoom(ctx, t)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	res, blobs, err := c.runner(room.Room).Run(ctx, room.Dir, t, nil)
	res.Output = withNote(res.Output, note)
	res.Evidence, res.Added = t.On, plan.DigestOf(t.Added)
	if err == nil && room.Changes != nil {
		var changed phases.Changes
		changed, err = room.Changes(ctx)
		res.Wrote = changed.Wrote
	}
	var breach *sandbox.Breach
	if released := release(); errors.As(released, &breach) { // anything else is swept up later
		err = errors.Join(err, breach)
	}
	return res, blobs, err
}

// sharedRoom is a room that the trials on one tree use one after the other.
type sharedRoom struct {
	mu   sync.Mutex
	room *walls.TrialRoom // nil before the first trial, and after one that went wrong
}

// openTrialRoom is a room for a trial, as it was made, and what has to be called
// when the trial is over. A tree that changed meanwhile is an error then.
func (c *Checker) openTrialRoom(
	ctx context.Context,
	t plan.Trial,
) (room *walls.TrialRoom, release func() error, err error) {
	if !c.walls.NeedsCopy() {
		if room, err = c.walls.TrialRoom(ctx, t); err != nil {
			return nil, nil, err
		}
		return room, room.Close, nil
	}
	added := t.Added
	t.Added = nil // they come with each reset
	tree, err := c.walls.TrialTree(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	s := c.sharedRoomOf(tree)
	s.mu.Lock()
	if s.room != nil && s.room.Reset(added) == nil {
		return s.room, s.release, nil
	}
	if err = s.closeRoom(); err == nil {
		s.room, err = c.walls.TrialRoom(ctx, t)
	}
	if err == nil {
		err = s.room.Reset(added)
	}
	if err != nil {
		err = errors.Join(err, s.closeRoom())
		s.mu.Unlock()
		return nil, nil, err
	}
	return s.room, s.release, nil
}

// release lets the next trial use the room.
func (s *sharedRoom) release() error {
	s.mu.Unlock()
	return nil
}

// closeRoom closes the room, if there is one. The caller holds the lock.
func (s *sharedRoom) closeRoom() error {
	if s.room == nil {
		return nil
	}
	err := s.room.Close()
	s.room = nil
	return err
}

// sharedRoomOf is the room for the trials on a tree.
func (c *Checker) sharedRoomOf(tree string) *sharedRoom {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared == nil {
		c.shared = map[string]*sharedRoom{}
	}
	if c.shared[tree] == nil {
		c.shared[tree] = &sharedRoom{}
	}
	return c.shared[tree]
}

// Close closes the rooms that trials shared, when the last one has ended. Further
// trials open others. A [sandbox.Breach] says that the real tree changed.
func (c *Checker) Close() error {
	c.mu.Lock()
	rooms := c.shared
	c.shared = nil
	c.mu.Unlock()
	var errs []error
	for _, s := range rooms {
		s.mu.Lock()
		errs = append(errs, s.closeRoom())
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

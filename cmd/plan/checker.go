package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

// checker runs checks behind the walls of a review, so that nothing they write
// reaches the tree.
type checker struct {
	walls  *walls
	redact func(string) string

	mu     sync.Mutex
	shared map[string]*stand // by the tree that it shows
}

// openChecker prepares the checks of a run that began at a commit, and what all
// its commands see of its change. What it returns gives both up.
func (a *app) openChecker(w *workshop, base string) (*checker, func()) {
	w.walls.shows = a.openShows(w.repo, base)
	c := &checker{walls: w.walls, redact: w.redact}
	return c, func() { _ = errors.Join(c.Close(), w.walls.shows.Close()) } // else swept up later
}

// Check implements engine.Checker.
func (c *checker) Check(
	ctx context.Context,
	t plan.Trial,
	update func(string),
) (plan.CheckResult, []plan.Blob, error) {
	failpoint.Hit("before a check")
	defer failpoint.Hit("after a check")
	room, err := c.room(ctx, t)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	res, blobs, err := c.runner(room).Run(ctx, room.Dir, t, update)
	left := room.Close()
	var breach *sandbox.Breach
	if errors.As(left, &breach) { // anything else is swept up later; the result counts all the same
		res.Output += fmt.Sprintf("\n[While this check ran, %v. So it does not count as passed.]\n", breach)
		if res.ExitCode == 0 {
			res.ExitCode = 1
		}
	}
	return res, blobs, err
}

// room is where a check runs.
func (c *checker) room(ctx context.Context, t plan.Trial) (phases.Room, error) {
	policy := c.walls.policy(plan.Review)
	switch {
	case t.Source == plan.CheckSetup: // what it fetches has to stay
		policy = c.walls.policy(plan.Implement)
		policy.Network = true
	case t.Trees != plan.Trees{}:
		s, err := c.walls.show(ctx, t)
		if err != nil {
			return phases.Room{}, err
		}
		return s.Room, nil
	}
	return c.walls.build(ctx, policy)
}

func (c *checker) runner(room phases.Room) *checks.Runner {
	return checks.New(checks.Config{
		Shell:   room.Shell,
		Timeout: c.walls.cfg.Checks.Timeout.Duration,
		Redact:  c.redact,
	})
}

// Try runs the command of a trial alone, on a tree as it was made: t.On with
// t.Added. The result says which tree that was, which files were added, and what
// of the tree's own files the command wrote to. Where layers are copies, the
// trials on one tree share one, which is kept until Close; they wait for each
// other.
func (c *checker) Try(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error) {
	room, leave, err := c.stand(ctx, t)
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	res, blobs, err := c.runner(room.Room).Run(ctx, room.Dir, t, nil)
	res.Evidence, res.Added = t.On, plan.DigestOf(t.Added)
	if err == nil && room.Changes != nil {
		var changed phases.Changes
		changed, err = room.Changes(ctx)
		res.Wrote = changed.Wrote
	}
	var breach *sandbox.Breach
	if left := leave(); errors.As(left, &breach) { // anything else is swept up later
		err = errors.Join(err, breach)
	}
	return res, blobs, err
}

// stand is a room that trials share.
type stand struct {
	mu   sync.Mutex
	room shownRoom // without walls before the first trial, and after one that went wrong
}

// stand is a room for a trial, as it was made, and what has to be done when the
// trial is over. A tree that changed meanwhile is an error then.
func (c *checker) stand(ctx context.Context, t plan.Trial) (shownRoom, func() error, error) {
	level, _ := c.walls.level()
	if !level.NeedsCopy() {
		room, err := c.walls.show(ctx, t)
		return room, room.Close, err
	}
	added := t.Added
	t.Added = nil // they come with each reset
	tree, err := c.walls.tree(ctx, t)
	if err != nil {
		return shownRoom{}, nil, err
	}
	s := c.sharedStand(tree)
	s.mu.Lock()
	if s.room.wall != nil && s.room.wall.Reset(c.walls.addedPuts(added)...) == nil {
		return s.room, s.leave, nil
	}
	if err := s.drop(); err != nil {
		s.mu.Unlock()
		return shownRoom{}, nil, err
	}
	if s.room, err = c.walls.show(ctx, t); err == nil {
		err = s.room.wall.Reset(c.walls.addedPuts(added)...)
	}
	if err != nil {
		err = errors.Join(err, s.drop())
		s.mu.Unlock()
		return shownRoom{}, nil, err
	}
	return s.room, s.leave, nil
}

// leave lets the next trial in.
func (s *stand) leave() error {
	s.mu.Unlock()
	return nil
}

// drop closes the room, if there is one.
func (s *stand) drop() error {
	if s.room.wall == nil {
		return nil
	}
	err := s.room.Close()
	s.room = shownRoom{}
	return err
}

func (c *checker) sharedStand(tree string) *stand {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared == nil {
		c.shared = map[string]*stand{}
	}
	if c.shared[tree] == nil {
		c.shared[tree] = &stand{}
	}
	return c.shared[tree]
}

// Close closes the rooms that trials shared, when the last one has ended. Further
// trials open others. A [sandbox.Breach] says that the real tree changed.
func (c *checker) Close() error {
	c.mu.Lock()
	stands := c.shared
	c.shared = nil
	c.mu.Unlock()
	var errs []error
	for _, s := range stands {
		s.mu.Lock()
		errs = append(errs, s.drop())
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// history is how a turn grows with what has been said.
func (b *bench) history(ctx context.Context) ([]figure, error) {
	repo, err := b.repo(ctx)
	if err != nil {
		return nil, err
	}
	got, err := b.play(
		ctx,
		210,
		b.planned(repo, filepath.Join(b.work, "old")),
		b.bareFloor(repo, filepath.Join(b.work, "old.db")),
	)
	if err != nil {
		return nil, err
	}
	early, late := medianGapNear(20), medianGapNear(200)
	grown := func(samples []sample) float64 { return medianOf(samples, late) - medianOf(samples, early) }
	return []figure{
		{
			what:      "what 180 turns more of history add to a turn",
			unit:      "ms",
			ours:      grown(got[0]),
			base:      grown(got[1]),
			baseline:  "durable floor",
			mostRatio: 1.3,
			bound:     "the server of the measurement, which decodes ten times the request",
		},
		{
			what:     "a turn at 200 turns of history",
			unit:     "ms",
			ours:     medianOf(got[0], late),
			base:     medianOf(got[0], early),
			baseline: "plan at 20",
		},
		{
			what:     "a turn at 200 turns of history, server and floor",
			unit:     "ms",
			ours:     medianOf(got[1], late),
			base:     medianOf(got[1], early),
			baseline: "floor at 20",
			about:    "durable floor",
		},
	}, nil
}

// medianGapNear is the median time between requests near one of them.
func medianGapNear(turn int) func(sample) float64 {
	return func(s sample) float64 {
		var near []float64
		for _, gap := range s.gaps[max(turn-8, 0):min(turn+8, len(s.gaps))] {
			near = append(near, milliseconds(gap))
		}
		return median(near)
	}
}

// resumed is how long a run of 10,000 events takes to its next request.
func (b *bench) resumed(ctx context.Context) ([]figure, error) {
	const turns, each = 300, 15
	repo := filepath.Join(b.work, "long")
	home := filepath.Join(b.work, "longhome")
	copied := filepath.Join(b.work, "longcopy")
	if err := makeRepo(ctx, repo, turns*each); err != nil {
		return nil, err
	}
	p := player{
		self:     b.self,
		scenario: explorationScript(turns, each),
		env:      b.env,
	}
	env := []string{"PLAN_HOME=" + home}
	stopped := []string{
		b.plan,
		"-C",
		repo,
		"run",
		"--plan-only",
		"--max-turns",
		fmt.Sprint(turns),
		"Add a header to every file",
	}
	if _, err := p.play(ctx, b.work, env, stopped, 5); err != nil {
		return nil, err
	}
	p.scenario = explorationScript(0, 0) // whatever the question is now: it has been explored
	var first []float64
	for range b.rounds {
		if err := os.RemoveAll(copied); err != nil {
			return nil, fmt.Errorf("start anew: %w", err)
		}
		if err := os.CopyFS(copied, os.DirFS(home)); err != nil {
			return nil, fmt.Errorf("copy the journal: %w", err)
		}
		s, err := p.play(
			ctx,
			repo,
			[]string{"PLAN_HOME=" + copied},
			[]string{b.plan, "resume", "--max-turns", fmt.Sprint(2 * turns)},
			0,
		)
		if err != nil {
			return nil, err
		}
		first = append(first, s.started())
	}
	events, err := b.events(ctx, home)
	if err != nil {
		return nil, err
	}
	version, err := b.walls(ctx, []string{b.plan, "version"}, []string{"true"})
	if err != nil {
		return nil, err
	}
	return []figure{
		{
			what:     fmt.Sprintf("resume of a run of %d events to its next request", events),
			unit:     "ms",
			ours:     median(first),
			base:     version[0],
			baseline: "plan version",
			mostOurs: 150,
			bound: "processor time: reading and proving 6 MiB of journal about 25 ms and, beside it, decoding it " +
				"30; encoding the history for its hash and for the wire 25, on all processors; restoring the " +
				"conversation 10; collecting garbage 20; then git, five processes one after another",
		},
		{
			what:     "plan version",
			unit:     "ms",
			ours:     version[0],
			base:     version[1],
			baseline: "exec of true",
		},
	}, nil
}

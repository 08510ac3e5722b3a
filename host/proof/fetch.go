package proof

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/internal/oneline"
)

// maxFetchNote is how many bytes of a command, or of a line of its output, a note has.
const maxFetchNote = 200

// fetcher fetches what the checks of a tree need, where a lock file of it is not that
// of the start: once for each tree, before the first check of it.
type fetcher struct {
	setup   string
	offline bool // the user gave commands of Implement no network, so nothing is fetched

	mu   sync.Mutex
	done map[string]string // by tree: what checks are told if it went wrong
}

// fetch fetches for a tree. It returns what the result of a trial on it is to say of
// that, "" for nothing. Changes lists the paths that differ from the start, and run
// runs a command on the tree.
func (f *fetcher) fetch(
	tree string,
	changes func() ([]string, error),
	run func(plan.Check) (plan.CheckResult, error),
) (note string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if problem, ok := f.done[tree]; ok {
		return problem, nil
	}
	changed, err := changes()
	if err != nil {
		return "", err
	}
	line, locks := checks.Fetch(changed, f.setup)
	problem := ""
	switch {
	case line == "":
	case f.offline:
		problem = fmt.Sprintf(
			"[%s changed. What it names was not fetched, because Implement has no network.]",
			oneline.Cut(strings.Join(locks, ", "), maxFetchNote),
		)
		note = problem
	default:
		res, err := run(plan.Check{Command: line, Source: plan.CheckSetup})
		if err != nil {
			return "", err
		}
		note, problem = fetchNote(locks, line, res)
	}
	if f.done == nil {
		f.done = map[string]string{}
	}
	f.done[tree] = problem
	return note, nil
}

// fetchNote says that something was fetched, and what is the problem if it was not.
func fetchNote(locks []string, line string, res plan.CheckResult) (note, problem string) {
	note = fmt.Sprintf(
		"[%s changed, so %q ran on this tree first, with a network and without keys.",
		oneline.Cut(strings.Join(locks, ", "), maxFetchNote),
		oneline.Cut(line, maxFetchNote),
	)
	if res.Passed() && !res.TimedOut {
		return note + "]", ""
	}
	lines := strings.Split(strings.TrimSpace(res.Output), "\n")
	last := lines[len(lines)-1]
	problem = fmt.Sprintf("%s It ended with exit code %d: %s]", note, res.ExitCode, oneline.Cut(last, maxFetchNote))
	return problem, problem
}

// prepare fetches what a trial on a tree needs. It returns a note for its result.
func (c *Checker) prepare(ctx context.Context, t plan.Trial) (string, error) {
	if t.Baseline || t.Source == plan.CheckSetup || t.Trees == (plan.Trees{}) || c.fetcher == nil {
		return "", nil
	}
	tree, err := c.walls.TrialTree(ctx, t)
	if err != nil {
		return "", err
	}
	changes := func() ([]string, error) { return c.walls.TrialChanges(ctx, t) }
	return c.fetcher.fetch(tree, changes, func(check plan.Check) (plan.CheckResult, error) {
		at := t
		at.Check, at.Added, at.Took = check, nil, 0
		room, err := c.walls.FetchRoom(ctx, at)
		if err != nil {
			return plan.CheckResult{}, err
		}
		res, _, err := c.runner(room).Run(ctx, room.Dir, at, nil)
		_ = room.Close() // what it wrote to the tree is gone with it, and the rest is swept up later
		return res, err
	})
}

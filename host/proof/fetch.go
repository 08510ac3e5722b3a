package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/host/agent"
	"github.com/plan-engine/plan/host/keyed"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/phases"
)

// maxFetchNote is how many bytes of a command, or of a line of its output, a note has.
const maxFetchNote = 200

// fetcher fetches what the checks of a tree need, where a lock file of it is not that
// of the start: once for each tree, before the first check of it.
type fetcher struct {
	setup   string
	offline bool // the user gave commands of Implement no network, so nothing is fetched
	user    keyed.User

	mu   sync.Mutex
	done map[string]string // by tree: what checks are told if it went wrong
}

// place is a tree that something is fetched for.
type place struct {
	tree    string                   // its hash
	changes func() ([]string, error) // the paths that differ from the start
	tell    func(text string)        // says what is going on
	// run runs a command on the tree, without keys.
	run func(line string) (plan.CheckResult, error)
	// keyed prepares fetches with keys, and runWith runs one of them.
	keyed   func(locks map[string][]string) ([]keyed.Fetch, []keyed.Withheld, error)
	runWith func(f keyed.Fetch) (plan.CheckResult, error)
}

// fetch fetches for a tree. It returns what the result of a trial on it is to say of
// that, "" for nothing.
func (f *fetcher) fetch(at place) (note string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if problem, ok := f.done[at.tree]; ok {
		return problem, nil
	}
	changed, err := at.changes()
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
			short(locks),
		)
		note = problem
	default:
		if note, problem, err = f.fetchFrom(at, line, locks); err != nil {
			return "", err
		}
	}
	if f.done == nil {
		f.done = map[string]string{}
	}
	f.done[at.tree] = problem
	return note, nil
}

// fetchFrom runs a line that fetches what lock files name: without keys, and where that
// fails and the user has keys for it, again after a fetch with them. It returns what to
// say of it, and the same if it went wrong.
func (f *fetcher) fetchFrom(at place, line string, locks []string) (note, problem string, err error) {
	at.tell(fmt.Sprintf("[%s changed: fetching what it names]\n", short(locks)))
	res, err := at.run(line)
	if err != nil {
		return "", "", err
	}
	how, more := "without keys", ""
	if !fetched(res) {
		var used []string
		if used, more, err = f.withKeys(at, locks); err != nil {
			return "", "", err
		}
		if len(used) > 0 {
			how = "without keys, behind a fetch with those for " + strings.Join(used, ", ")
			if res, err = at.run(line); err != nil {
				return "", "", err
			}
		}
	}
	note = fmt.Sprintf(
		"[%s changed, so %q ran on this tree first, with a network and %s.",
		short(locks),
		oneline.Cut(line, maxFetchNote),
		how,
	)
	if fetched(res) {
		return note + "]", "", nil
	}
	problem = fmt.Sprintf("%s It ended with exit code %d: %s%s]", note, res.ExitCode, lastLine(res.Output), more)
	return problem, problem, nil
}

// withKeys fetches with the user's keys what tools can be trusted with. It returns the
// tools that it ran, and what is to be said if that was not enough.
func (f *fetcher) withKeys(at place, locks []string) (used []string, more string, err error) {
	tools := checks.Tools(locks)
	if len(f.user.Keys) == 0 {
		return nil, keysHint(tools), nil
	}
	fetches, without, err := at.keyed(tools)
	if err != nil {
		return nil, "", err
	}
	for _, w := range without {
		more += fmt.Sprintf(". %s", w)
	}
	for _, fetch := range fetches {
		at.tell(fmt.Sprintf("[fetching with keys: %s]\n", fetch.Tool))
		res, err := at.runWith(fetch)
		switch {
		case errors.Is(err, walls.ErrOpen), errors.Is(err, agent.ErrNotLent):
			more += fmt.Sprintf(". %s gets no keys: %v", fetch.Tool, err)
			continue
		case err != nil:
			return nil, "", err
		case !fetched(res):
			last := fetch.Clean(lastLine(res.Output))
			more += fmt.Sprintf(". With keys, %s ended with exit code %d: %s", fetch.Tool, res.ExitCode, last)
		}
		used = append(used, fetch.Tool)
	}
	return used, more, nil
}

// keysHint says what the user can do who has keys for what could not be fetched.
func keysHint(tools map[string][]string) string {
	var kinds []string
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		for _, kind := range keyed.KeysOf(tool) {
			kinds = append(kinds, fmt.Sprintf("%q", kind))
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return fmt.Sprintf(". If a source wants keys, this line in the user's own config.toml, in the table [setup], "+
		"gives them to this fetch alone: keys = [%s]", strings.Join(kinds, ", "))
}

func fetched(res plan.CheckResult) bool { return res.Passed() && !res.TimedOut }

// lastLine is the last line of an output that is not about a log, which cannot be seen.
func lastLine(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		if text := strings.TrimSpace(line); text != "" && !strings.Contains(text, "A complete log of this run") {
			last = text
		}
	}
	return oneline.Cut(last, maxFetchNote)
}

func short(locks []string) string { return oneline.Cut(strings.Join(locks, ", "), maxFetchNote) }

// prepare fetches what a trial on a tree needs. It returns a note for its result.
func (c *Checker) prepare(ctx context.Context, t plan.Trial, update func(string)) (string, error) {
	if t.Baseline || t.Source == plan.CheckSetup || t.Trees == (plan.Trees{}) || c.fetcher == nil {
		return "", nil
	}
	tree, err := c.walls.TrialTree(ctx, t)
	if err != nil {
		return "", err
	}
	run := func(line string, room phases.Room, err error) (plan.CheckResult, error) {
		if err != nil {
			return plan.CheckResult{}, err
		}
		at := t
		at.Check, at.Added, at.Took = plan.Check{Command: line, Source: plan.CheckSetup}, nil, 0
		res, _, err := c.runner(room).Run(ctx, room.Dir, at, nil)
		_ = room.Close() // what it wrote outside of caches is gone with it, and the rest is swept up later
		return res, err
	}
	return c.fetcher.fetch(place{
		tree:    tree,
		changes: func() ([]string, error) { return c.walls.TrialChanges(ctx, t) },
		run: func(line string) (plan.CheckResult, error) {
			at := t
			at.Added = nil
			room, err := c.walls.FetchRoom(ctx, at)
			return run(line, room, err)
		},
		keyed: func(locks map[string][]string) ([]keyed.Fetch, []keyed.Withheld, error) {
			files, err := c.repo.FilesOf(ctx, tree)
			if err != nil { // it is one that was made up for a trial
				return nil, []keyed.Withheld{{Tool: "a fetch on this tree", Err: err}}, ctx.Err()
			}
			user := c.fetcher.user
			user.Git = c.walls.GitSettings()
			return keyed.Prepare(ctx, user, files, locks)
		},
		runWith: func(f keyed.Fetch) (res plan.CheckResult, err error) {
			room, err := c.walls.KeyedRoom(ctx, t, f.Files)
			if err == nil && f.Agent != nil {
				lent, lendErr := agent.Lend(filepath.Join(room.Dir, f.Agent.At), f.Agent.Socket, f.Agent.HostKeys)
				if lendErr != nil {
					return res, errors.Join(lendErr, room.Close())
				}
				defer func() { err = errors.Join(err, lent.Close()) }()
			}
			return run(f.Line, room, err)
		},
		tell: func(text string) {
			if update != nil {
				update(text)
			}
		},
	})
}

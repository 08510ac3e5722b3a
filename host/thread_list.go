package host

import (
	"context"
	"errors"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// Listed is a thread as a list shows it: by the newest of its runs that are listed.
type Listed struct {
	memory.RunInfo
	First   memory.RunInfo // the oldest of its runs that is listed
	Runs    int            // how many it has, listed or not
	Waiting int            // how many were asked for after its end, and have not begun
}

// AsThreads makes one of the runs of each thread, where the newest stands. What it used
// is what all of them used that are listed.
func (h *Host) AsThreads(ctx context.Context, runs []memory.RunInfo) ([]Listed, error) {
	begun, waiting, err := h.lettersAfter(ctx)
	if err != nil {
		return nil, err
	}
	from := map[plan.RunID]plan.RunID{}
	for _, c := range begun {
		from[c.Run] = c.from
	}
	members, begins := map[plan.RunID]int{}, map[plan.RunID]int{}
	for id := range from {
		members[rootOf(from, id)]++
	}
	for _, c := range waiting {
		begins[rootOf(from, c.from)]++
	}
	at := map[plan.RunID]int{} // of a thread, in out
	out := make([]Listed, 0, len(runs))
	for _, r := range runs {
		root := rootOf(from, r.ID)
		i, listed := at[root]
		if !listed {
			at[root] = len(out)
			out = append(out, Listed{
				RunInfo: r,
				First:   r,
				Runs:    1 + members[root],
				Waiting: begins[root],
			})
			continue
		}
		l := &out[i]
		l.First, l.Usage = r, l.Usage.Add(r.Usage)
		l.CostUSD, l.Priced = l.CostUSD+r.CostUSD, l.Priced && r.Priced
	}
	return out, nil
}

// rootOf is the run at the beginning of a thread.
func rootOf(from map[plan.RunID]plan.RunID, id plan.RunID) plan.RunID {
	for range mostThread {
		before, ok := from[id]
		if !ok {
			break
		}
		id = before
	}
	return id
}

// lettersAfter are the continuations of the home: those that have begun, and those that
// wait for it.
func (h *Host) lettersAfter(ctx context.Context) (begun, waiting []continuation, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, nil, err
	}
	if begun, err = continuations(ctx, db, false); err == nil {
		waiting, err = continuations(ctx, db, true)
	}
	return begun, waiting, err
}

// Member is a run of a thread.
type Member struct {
	memory.RunInfo      // of one that has not begun, only its id and what was asked
	Begun          bool // false: it waits for a process that begins it
}

// Around is the thread that a run is in, oldest first: what it goes on from, and what
// goes on from it. A run alone has none.
func (h *Host) Around(ctx context.Context, id plan.RunID) ([]Member, error) {
	begun, waiting, err := h.lettersAfter(ctx)
	if err != nil {
		return nil, err
	}
	from := map[plan.RunID]plan.RunID{}
	for _, c := range begun {
		from[c.Run] = c.from
	}
	root := rootOf(from, id)
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	var out []Member
	add := func(id plan.RunID) error {
		info, err := db.Run(ctx, id)
		if errors.Is(err, memory.ErrNoRun) { // it was removed
			return nil
		}
		out = append(out, Member{RunInfo: info, Begun: true})
		return err
	}
	if err := add(root); err != nil {
		return nil, err
	}
	for _, c := range begun {
		if rootOf(from, c.Run) != root {
			continue
		}
		if err := add(c.Run); err != nil {
			return nil, err
		}
	}
	for _, c := range waiting {
		if rootOf(from, c.from) == root {
			out = append(out, Member{RunInfo: memory.RunInfo{ID: c.Run, Request: c.Text}})
		}
	}
	if len(out) < 2 {
		return nil, nil
	}
	return out, nil
}

package host

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

const (
	// leastAlike is the least number of earlier runs that an estimate rests on, and
	// mostAlike how many of the newest count.
	leastAlike, mostAlike = 3, 200
	// shortRequest and longRequest part requests by size, in bytes.
	shortRequest, longRequest = 300, 2000
)

// Estimate is what a run is likely to use, as earlier runs of its kind did: those that
// ended alike, with a plan or with a change, for a request of about its size, and went
// the way that it is to go, if that is said.
type Estimate struct {
	// Runs is how many it rests on; From says whose: of the repository, of the whole home,
	// or "" where there were too few for any estimate, and nothing else is filled in.
	Runs int    `json:"runs"`
	From string `json:"from"`
	// Here is how many runs of the kind the repository has, and Way the only one that counts,
	// "" where it is not said which way the run is to go.
	Here   int     `json:"here"`
	Way    string  `json:"way,omitempty"`
	Tokens *Spread `json:"tokens,omitempty"`
	// CostUSD rests on the runs whose price is known; nil where those are too few.
	CostUSD *Spread `json:"cost_usd,omitempty"`
	// Seconds are from the first event to the last, with all that a run waited for.
	Seconds *Spread `json:"seconds,omitempty"`
}

// Whose runs an estimate rests on.
const (
	FromRepository = "repository"
	FromHome       = "home"
)

// Spread is a range: the lowest tenth, the middle and the highest tenth.
type Spread struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// Estimate tells from earlier runs what one would use. Nothing is started.
func (h *Host) Estimate(ctx context.Context, r Request) (Estimate, error) {
	repo, err := h.OpenRepo(ctx, cmp.Or(r.Dir, "."))
	if err != nil {
		return Estimate{}, err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return Estimate{}, err
	}
	filter := memory.Filter{Repo: repo.Root(), States: []plan.State{plan.Approved, plan.Exhausted, plan.Blocked}}
	if r.PlanOnly {
		filter.States = []plan.State{plan.Planned}
	}
	cfg, err := h.Settings(repo.Root(), r.Settings)
	if err != nil {
		return Estimate{}, err
	}
	way := cfg.Way
	if way == plan.WayAuto {
		way = ""
	}
	alike := func() ([]memory.RunInfo, error) { return runsAlike(ctx, db, filter, r.Text, way) }
	ofRepo, err := alike()
	if err != nil {
		return Estimate{}, err
	}
	if len(ofRepo) >= leastAlike {
		return estimateFrom(ofRepo, FromRepository, len(ofRepo), way), nil
	}
	filter.Repo = ""
	ofHome, err := alike()
	if err != nil || len(ofHome) < leastAlike {
		return Estimate{Here: len(ofRepo), Way: way}, err
	}
	return estimateFrom(ofHome, FromHome, len(ofRepo), way), nil
}

// runsAlike are the newest runs whose requests are of about the size of a text, and which
// went a way, "" for any.
func runsAlike(ctx context.Context, db *memory.DB, filter memory.Filter, text, way string) ([]memory.RunInfo, error) {
	runs, err := db.Runs(ctx, filter)
	if err != nil {
		return nil, err
	}
	var out []memory.RunInfo
	for _, run := range runs {
		if run.Usage.Requests == 0 || sizeClass(run.Request) != sizeClass(text) {
			continue
		}
		if way != "" {
			if went, err := wayOf(ctx, db, run.ID); err != nil || went != way {
				continue // one that cannot be read counts for nothing
			}
		}
		if out = append(out, run); len(out) == mostAlike {
			break
		}
	}
	return out, nil
}

// wayOf is the way that a run went.
func wayOf(ctx context.Context, db *memory.DB, run plan.RunID) (string, error) {
	way := plan.WayFull
	query := memory.Query{Types: []plan.EventType{plan.TypeRunStart, plan.TypeWay}}
	for ev, err := range db.Events(ctx, run, query) {
		if err != nil {
			return "", err
		}
		switch b := ev.Body.(type) {
		case plan.RunStart:
			if strings.HasPrefix(b.Way, plan.WayDirect) {
				way = plan.WayDirect
			}
		case plan.WayTaken:
			way = b.Way
		}
	}
	return way, nil
}

// sizeClass is the class of a request's size.
func sizeClass(request string) int {
	switch n := len(request); {
	case n <= shortRequest:
		return 0
	case n <= longRequest:
		return 1
	}
	return 2
}

func estimateFrom(runs []memory.RunInfo, from string, here int, way string) Estimate {
	var tokens, cost, seconds []float64
	for _, r := range runs {
		tokens = append(tokens, float64(r.Usage.Tokens()))
		seconds = append(seconds, r.Updated.Sub(r.Created).Round(time.Second).Seconds())
		if r.Priced {
			cost = append(cost, r.CostUSD)
		}
	}
	return Estimate{
		Runs:    len(runs),
		From:    from,
		Here:    here,
		Way:     way,
		Tokens:  spreadOf(tokens),
		CostUSD: spreadOf(cost),
		Seconds: spreadOf(seconds),
	}
}

// spreadOf is the range of values, nil where there are too few.
func spreadOf(values []float64) *Spread {
	if len(values) < leastAlike {
		return nil
	}
	slices.Sort(values)
	last := len(values) - 1
	return &Spread{
		Low:    values[last/10],
		Median: values[len(values)/2],
		High:   values[last-last/10],
	}
}

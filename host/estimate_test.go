package host_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/memory"
)

// TestEstimate rests on earlier runs of the repository, else of the home, else on nothing.
func TestEstimate(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	home := filepath.Join(w.Dir, "home")
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(home, "plan.db"), Locks: filepath.Join(home, "locks")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	runs := 0
	ran := func(repo, request string, to plan.State, tokens int64, usd float64, way ...plan.Body) {
		t.Helper()
		runs++
		id := plan.RunID(fmt.Sprintf("01R%03d", runs))
		owner, err := db.Own(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
		bodies := append([]plan.Body{
			plan.RunStart{Request: request, Repo: repo},
			plan.StateChange{From: plan.Unstarted, To: plan.Exploring, Event: "explore"},
			plan.StateChange{From: plan.Exploring, To: to, Event: "x"},
		}, way...)
		end := plan.RunEnd{Outcome: to, Usage: plan.Usage{Requests: 2, Input: tokens}, CostUSD: usd, Priced: usd > 0}
		for i, b := range append(bodies, end) {
			ev := plan.Event{Run: id, Time: at.Add(time.Duration(i*int(tokens)) * time.Second), Body: b}
			if _, err := owner.Append(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := owner.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h := host.New(w.Config)
	defer h.Close()
	estimate := func(text string, planOnly bool) host.Estimate {
		t.Helper()
		e, err := h.Estimate(t.Context(), host.Request{Dir: w.Repo, Text: text, PlanOnly: planOnly})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := estimate("x", false); e != (host.Estimate{}) {
		t.Errorf("from nothing: %+v", e)
	}
	ran(w.Repo, "a", plan.Approved, 10, 0.5)
	ran(w.Repo, "b", plan.Exhausted, 30, 0)
	ran(w.Repo, strings.Repeat("long ", 900), plan.Approved, 9000, 9)
	ran(w.Repo, "a plan", plan.Planned, 7000, 7)
	ran(w.Repo, "failed", plan.Failed, 6000, 6)
	if e := estimate("x", false); e != (host.Estimate{Here: 2}) {
		t.Errorf("from two: %+v", e)
	}
	ran("/elsewhere", "c", plan.Approved, 50, 0)
	if e := estimate("x", false); e.From != host.FromHome || e.Runs != 3 || e.Here != 2 || e.CostUSD != nil || *e.Tokens != (host.Spread{10, 30, 50}) {
		t.Errorf("from the home: %+v", e)
	}
	ran(w.Repo, "d", plan.Blocked, 20, 0.25)
	ran(w.Repo, "e", plan.Approved, 40, 0.75)
	e := estimate("x", false)
	if e.From != host.FromRepository || e.Runs != 4 || e.Here != 4 || *e.Tokens != (host.Spread{10, 30, 40}) ||
		*e.CostUSD != (host.Spread{0.25, 0.5, 0.75}) || *e.Seconds != (host.Spread{30, 90, 120}) {
		t.Errorf("from here: %+v %v %v %v", e, e.Tokens, e.CostUSD, e.Seconds)
	}
	if e := estimate("x", true); e != (host.Estimate{Here: 1}) {
		t.Errorf("of a plan: %+v", e)
	}
	for range 3 {
		ran(w.Repo, "s", plan.Approved, 5, 0, plan.WayTaken{Way: plan.WayShort, Why: "seen"})
	}
	full := host.Spread{Low: 10, Median: 30, High: 40}
	for way, want := range map[string]host.Estimate{
		"":            {Runs: 7, From: host.FromRepository, Here: 7, Tokens: &host.Spread{Low: 5, Median: 10, High: 40}},
		plan.WayShort: {Runs: 3, From: host.FromRepository, Here: 3, Way: plan.WayShort, Tokens: &host.Spread{Low: 5, Median: 5, High: 5}},
		plan.WayFull:  {Runs: 4, From: host.FromRepository, Here: 4, Way: plan.WayFull, Tokens: &full},
		// no run went that way
		plan.WayDirect: {Way: plan.WayDirect},
	} {
		req := host.Request{Dir: w.Repo, Text: "x"}
		req.Settings.Way = way
		e, err := h.Estimate(t.Context(), req)
		e.CostUSD, e.Seconds = nil, nil
		if err != nil || !reflect.DeepEqual(e, want) {
			t.Errorf("by the way %q: %+v %v, %v", way, e, e.Tokens, err)
		}
	}
	all, err := db.Runs(t.Context(), memory.Filter{})
	if err != nil || len(all) != runs {
		t.Errorf("%d runs, want %d: %v", len(all), runs, err)
	}
}

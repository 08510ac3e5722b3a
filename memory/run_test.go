package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"pgregory.net/rapid"
)

func ids(runs []memory.RunInfo) (out []plan.RunID) {
	for _, r := range runs {
		out = append(out, r.ID)
	}
	return out
}

func TestRunsChooses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	wake := start.Add(time.Hour)
	// C was created before B, though it was stored after it.
	for i, r := range []struct {
		id    plan.RunID
		repo  string
		after time.Duration
		then  plan.Body
	}{
		{"A", "/src/one", 1, plan.StateChange{From: plan.Unstarted, To: plan.Exploring}},
		{"B", "/src/two", 3, plan.Parked{Reason: plan.ParkRateLimit, WakeAt: &wake}},
		{"C", "/src/one", 2, plan.RunEnd{Outcome: plan.Approved}},
		{"D", "/src/one", 4, plan.StateChange{To: plan.Failed}},
	} {
		first := event(r.id, plan.RunStart{Repo: r.repo, Config: []byte("{}"), Request: fmt.Sprint(i)})
		first.Time = start.Add(r.after)
		appendAll(t, own(t, db, r.id), first, event(r.id, r.then))
	}
	yes, no := true, false
	for name, c := range map[string]struct {
		f    memory.Filter
		want []plan.RunID
	}{
		"all":        {memory.Filter{}, []plan.RunID{"D", "B", "C", "A"}},
		"limit":      {memory.Filter{Limit: 2}, []plan.RunID{"D", "B"}},
		"ids":        {memory.Filter{IDs: []plan.RunID{"A", "B", "Z"}}, []plan.RunID{"B", "A"}},
		"repo":       {memory.Filter{Repo: "/src/one"}, []plan.RunID{"D", "C", "A"}},
		"states":     {memory.Filter{States: []plan.State{plan.Exploring, plan.Approved}}, []plan.RunID{"C", "A"}},
		"parked":     {memory.Filter{Parked: &yes}, []plan.RunID{"B"}},
		"not parked": {memory.Filter{Parked: &no}, []plan.RunID{"D", "C", "A"}},
		"everything": {memory.Filter{Parked: &no, Repo: "/src/one", States: []plan.State{plan.Exploring, plan.Failed}, Limit: 1}, []plan.RunID{"D"}},
		"none":       {memory.Filter{Repo: "/nowhere"}, nil},
	} {
		got, err := db.Runs(ctx, c.f)
		if diff := cmp.Diff(c.want, ids(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	got, err := db.Run(ctx, "B")
	want := memory.RunInfo{
		ID: "B", State: plan.Unstarted, Parked: plan.ParkRateLimit, WakeAt: &wake, Request: "1", Repo: "/src/two",
		Created: start.Add(3), Updated: start, Head: 2, Priced: true,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("B: %v (-want +got):\n%s", err, diff)
	}
	if id, err := db.Latest(ctx); err != nil || id != "B" {
		t.Errorf("the newest run that is not final is %s, %v", id, err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	for _, id := range []plan.RunID{"01JABC", "01JABCD", "01JXYZ", "x_1", "xa1"} {
		w := own(t, db, id)
		appendAll(t, w, runStart(id))
	}
	for i := range 12 {
		id := plan.RunID(fmt.Sprintf("many%02d", i))
		appendAll(t, own(t, db, id), runStart(id))
	}
	for prefix, want := range map[string]plan.RunID{
		"01JX": "01JXYZ", "01jx": "01JXYZ", "01JABC": "01JABC", "01jabc": "01JABC", "01jabcd": "01JABCD", "x_": "x_1",
	} {
		if got, err := db.Resolve(ctx, prefix); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", prefix, got, err, want)
		}
	}
	for prefix, want := range map[string]int{"01j": 3, "x": 2, "m": 10} {
		_, err := db.Resolve(ctx, prefix)
		var many *memory.AmbiguousError
		if !errors.As(err, &many) || len(many.Candidates) != want || many.More != (want == 10) {
			t.Errorf("%s: got %v, want %d candidates", prefix, err, want)
		}
	}
	for _, prefix := range []string{"%", "_", `\`, "01JABCDE", ""} {
		if got, err := db.Resolve(ctx, prefix); !errors.Is(err, memory.ErrNoRun) {
			t.Errorf("%q: got %q, %v, want ErrNoRun", prefix, got, err)
		}
	}
}

// recompute says what a journal says about its run, in its own way.
func recompute(t *rapid.T, journal []memory.Line) memory.RunInfo {
	var r memory.RunInfo
	for i, l := range journal {
		var e plan.Event
		if err := json.Unmarshal(l.JSON, &e); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			b := e.Body.(plan.RunStart)
			r = memory.RunInfo{ID: e.Run, State: plan.Unstarted, Request: b.Request, Repo: b.Repo, Job: e.Job, Created: e.Time, Priced: true}
		}
		r.Updated, r.Head = e.Time, int64(i+1)
		switch b := e.Body.(type) {
		case plan.StateChange:
			if r.State = b.To; b.To.Final() {
				r.Parked, r.WakeAt = "", nil
			}
		case plan.Parked:
			if !r.State.Final() {
				r.Parked, r.WakeAt = b.Reason, b.WakeAt
			}
		case plan.Unparked:
			r.Parked, r.WakeAt = "", nil
		case plan.UsageReport:
			r.Usage = r.Usage.Add(b.Usage)
			r.CostUSD += b.CostUSD
			if !b.Priced {
				r.Priced = false
			}
		case plan.RunEnd:
			r.State, r.Outcome, r.Parked, r.WakeAt = b.Outcome, b.Outcome, "", nil
			r.Usage, r.CostUSD, r.Priced = b.Usage, b.CostUSD, b.Priced
		}
	}
	return r
}

func bodies() *rapid.Generator[plan.Body] {
	state := rapid.SampledFrom([]plan.State{plan.Exploring, plan.Planning, plan.Reviewing, plan.Approved, plan.Cancelled})
	count := rapid.Int64Range(0, 1<<50)
	cost := rapid.Float64Range(0, 1e6)
	usage := rapid.Custom(func(t *rapid.T) plan.Usage {
		return plan.Usage{
			Requests: rapid.IntRange(0, 9).Draw(t, "requests"), Input: count.Draw(t, "input"), Cached: count.Draw(t, "cached"),
			Output: count.Draw(t, "output"), Reasoning: count.Draw(t, "reasoning"),
		}
	})
	return rapid.Custom(func(t *rapid.T) plan.Body {
		switch rapid.IntRange(0, 12).Draw(t, "kind") {
		case 0, 1, 2:
			return plan.StateChange{From: state.Draw(t, "from"), To: state.Draw(t, "to")}
		case 3, 4:
			return plan.UsageReport{Usage: usage.Draw(t, "usage"), CostUSD: cost.Draw(t, "cost"), Priced: rapid.Bool().Draw(t, "priced")}
		case 5:
			return &plan.StateChange{To: state.Draw(t, "to")} // a pointer is a body too
		case 6, 7:
			wake := time.Unix(rapid.Int64Range(0, 20_000_000_000).Draw(t, "wake"), 5).In(time.FixedZone("", 3600))
			return plan.Parked{Reason: plan.ParkRateLimit, WakeAt: rapid.SampledFrom([]*time.Time{nil, &wake}).Draw(t, "at")}
		case 8, 9:
			return plan.Unparked{Reason: plan.ParkRateLimit}
		case 10:
			return plan.Unknown{Kind: "hunch", Raw: []byte(`{"to":"approved"}`)}
		case 11:
			return plan.RunEnd{Outcome: rapid.SampledFrom([]plan.State{plan.Approved, plan.Failed}).Draw(t, "outcome"), Usage: usage.Draw(t, "usage"), CostUSD: cost.Draw(t, "cost"), Priced: rapid.Bool().Draw(t, "priced")}
		}
		return plan.Report{Text: rapid.String().Draw(t, "text")}
	})
}

func TestRunIsAProjectionOfItsJournal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	dbs := []*memory.DB{open(t, dir), open(t, dir)}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		run := plan.RunID(fmt.Sprintf("R%d", n))
		moment := rapid.Int64Range(0, 1<<61)
		text := rapid.SampledFrom([]string{"", "do it", "a\x00b", "bad \xff\xfe utf-8", strings.Repeat("long ", 2000), "é\u2028"})
		first := plan.Event{Run: run, Time: time.Unix(0, moment.Draw(t, "time")), Job: text.Draw(t, "job"), Body: plan.RunStart{
			Request: text.Draw(t, "request"), Repo: text.Draw(t, "repo"), Config: []byte("{}"),
		}}
		batch := []plan.Event{first}
		for done := false; !done; {
			w, err := dbs[rapid.IntRange(0, 1).Draw(t, "db")].Own(ctx, run)
			if err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(1, 3).Draw(t, "appends") {
				for range rapid.IntRange(0, 5).Draw(t, "events") {
					if done || ends(batch) {
						break
					}
					batch = append(batch, plan.Event{Run: run, Time: time.Unix(0, moment.Draw(t, "time")), Body: bodies().Draw(t, "body")})
				}
				if _, err := w.Append(ctx, batch...); err != nil {
					t.Fatal(err)
				}
				done, batch = done || ends(batch), nil
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			done = done || rapid.Bool().Draw(t, "done")
			var journal []memory.Line
			for l, err := range dbs[0].Lines(ctx, run, 0) {
				if err != nil {
					t.Fatal(err)
				}
				journal = append(journal, l)
			}
			got, err := dbs[1].Run(ctx, run)
			if diff := cmp.Diff(recompute(t, journal), got); err != nil || diff != "" {
				t.Fatalf("%v (-recomputed +stored):\n%s", err, diff)
			}
		}
	})
}

func ends(batch []plan.Event) bool {
	return len(batch) > 0 && batch[len(batch)-1].Type() == plan.TypeRunEnd
}

package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

func TestARunInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.crew.outcome = usual(2)
	if end := b.finish(); end.State != plan.Approved || end.ExitCode != 0 || end.Parked != nil {
		t.Fatalf("ended with %+v", end)
	}
	turn := func(place string) []string {
		var out []string
		for _, typ := range []string{
			"message_start", "message_end", "turn_start", "message_start",
			"message_end", "usage", "tool_start", "tool_end", "turn_end",
		} {
			out = append(out, typ+" "+place)
		}
		return out
	}
	var want []string
	add := func(lines ...string) { want = append(want, lines...) }
	phase := func(place string, after ...string) {
		add("phase_start " + place)
		add(turn(place)...)
		add("phase_end " + place + " completed")
		add(after...)
	}
	add("run_start", "snapshot start", "state new>exploring")
	phase("explore/1/c1", "report explore/1/c1", "state explore/1/c1 exploring>planning")
	phase("plan/1/c2", "plan plan/1/c2", "state plan/1/c2 planning>implementing")
	add("check_start implement/1 test true", "check_end implement/1 test true")
	phase("implement/1/c3", "snapshot implement/1/c3 implement-1", "state implement/1/c3 implementing>reviewing")
	add("check_start review/1 test false", "check_end review/1 test false")
	phase("review/1/c4", "verdict review/1/c4", "gap review/1/c4 G1 opened", "state review/1/c4 reviewing>implementing")
	phase("implement/2/c3", "snapshot implement/2/c3 implement-2", "state implement/2/c3 implementing>reviewing")
	add("check_start review/2 test false", "check_end review/2 test false")
	phase("review/2/c5", "verdict review/2/c5", "gap review/2/c5 G1 closed", "state review/2/c5 reviewing>approved")
	add("run_end approved")
	if diff := cmp.Diff(want, b.lines(0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sound(t, b.events(), true)

	end := b.events()[len(want)-1].Body.(plan.RunEnd)
	wantEnd := plan.RunEnd{
		Outcome: plan.Approved, Why: "proven", Usage: plan.Usage{Requests: 6, Input: 60, Output: 6}, CostUSD: 1.5, Priced: true,
		Diff: plan.DiffStat{Files: len("tree-implement-2")},
	}
	if diff := cmp.Diff(wantEnd, end); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsShownIsTheJournalAndTheLiveEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.finish()
	var durable []plan.Event
	live := 0
	for _, ev := range b.shown {
		if ev.Live() {
			live++
			if ev.Seq != 0 || ev.Run != b.id || ev.Time.IsZero() {
				t.Errorf("live event %+v", ev)
			}
			continue
		}
		durable = append(durable, ev)
	}
	if diff := cmp.Diff(b.events(), durable); diff != "" {
		t.Errorf("(-journal +shown):\n%s", diff)
	}
	if want := 4 + 2; live != want { // a piece of text in each phase, a line of each check
		t.Errorf("%d live events, want %d", live, want)
	}
}

// TestWhatAPhaseIsTold: what is not in the brief, a phase does not know.
func TestWhatAPhaseIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.crew.outcome = usual(2)
	frozen := []plan.Message{plan.UserText("earlier")}
	b.cfg.Context = frozen
	b.finish()
	result := func(baseline bool) []plan.CheckResult {
		return []plan.CheckResult{{Check: b.cfg.Required[0], Baseline: baseline}}
	}
	doc := &plan.PlanDoc{Version: 1, Text: "the plan"}
	gap := []plan.Gap{{ID: "G1", Gap: "gap G1", Severity: plan.SeverityMust, Status: plan.GapOpened}}
	last := &plan.Judgement{
		Verdict:  plan.NeedsFix,
		Why:      "a gap",
		Missing:  []plan.Missing{{ID: "G1", Gap: "gap G1", Severity: plan.SeverityMust}},
		Commands: []plan.RanCommand{},
	}
	usage := func(n int) plan.Usage { return plan.Usage{Requests: n, Input: int64(10 * n), Output: int64(n)} }
	brief := func(p plan.Phase, attempt int, conv string, spent int) plan.Brief {
		out := plan.Brief{Run: "R1", Phase: p, Attempt: attempt, Conv: conv, Request: "the request"}
		if spent > 0 {
			out.Spent, out.Cost = usage(spent), 0.25*float64(spent)
		}
		if before := attempt - 1; before > 0 {
			out.PhaseSpent, out.PhaseCost = usage(before), 0.25*float64(before)
		}
		return out
	}
	with := func(b plan.Brief, do func(*plan.Brief)) plan.Brief { do(&b); return b }
	want := []plan.Brief{
		with(brief(plan.Explore, 1, "c1", 0), func(b *plan.Brief) { b.Context = frozen }),
		with(brief(plan.Plan, 1, "c2", 1), func(b *plan.Brief) { b.Report = "the report" }),
		with(brief(plan.Implement, 1, "c3", 2), func(b *plan.Brief) { b.Plan, b.Checks = doc, result(true) }),
		with(brief(plan.Review, 1, "c4", 3), func(b *plan.Brief) {
			b.Plan, b.Checks, b.Base, b.Diff = doc, result(false), result(true), "diff tree-start tree-implement-1"
			b.Change = plan.Trees{Start: "tree-start", Work: "tree-implement-1"}
		}),
		with(brief(plan.Implement, 2, "c3", 4), func(b *plan.Brief) {
			b.Plan, b.Checks, b.Base, b.Gaps, b.Last = doc, result(false), result(true), gap, last
		}),
		with(brief(plan.Review, 2, "c5", 5), func(b *plan.Brief) {
			b.Plan, b.Checks, b.Base, b.Diff, b.Gaps = doc, result(false), result(true), "diff tree-start tree-implement-2", gap
			b.Since = "diff tree-implement-1 tree-implement-2"
			b.Change = plan.Trees{Start: "tree-start", Work: "tree-implement-2"}
			b.Last = last
		}),
	}
	got := b.crew.briefs
	for i := range got {
		// A conversation that goes on has its own past, and nothing of another's.
		if (len(got[i].Past) > 0) != (i == 4) {
			t.Errorf("%s/%d has %d past events", got[i].Phase, got[i].Attempt, len(got[i].Past))
		}
		for _, ev := range got[i].Past {
			if ev.Conv != got[i].Conv {
				t.Errorf("%s is told of %s", got[i].Conv, line(ev))
			}
		}
		got[i].Past = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cfg.PlanOnly = true
	if end := b.finish(); end.State != plan.Planned || end.ExitCode != 0 {
		t.Errorf("ended with %+v", end)
	}
	if b.count(plan.TypePlan) != 1 || b.count(plan.TypeCheckStart) != 0 || len(b.crew.briefs) != 2 {
		t.Errorf("journal: %s", strings.Join(b.lines(0), "\n"))
	}
	sound(t, b.events(), true)
}

func TestAGivenPlan(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.given = &plan.PlanDoc{Version: 7, Text: "given"}
	if end := b.finish(); end.State != plan.Approved {
		t.Errorf("ended with %+v", end)
	}
	want := []string{"run_start", "snapshot start", "plan", "state new>implementing", "check_start implement/1 test true"}
	if diff := cmp.Diff(want, b.lines(0)[:len(want)]); diff != "" {
		t.Error(diff)
	}
	if first := b.crew.briefs[0]; first.Phase != plan.Implement || first.Conv != "c1" || first.Plan.Version != 1 || first.Plan.Text != "given" {
		t.Errorf("the first phase is told %+v", first)
	}
	if b.given.Version != 7 {
		t.Error("the caller's plan was changed")
	}
	sound(t, b.events(), true)
}

func TestAFinalRunStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.finish()
	before := len(b.events())
	if end := b.finish(); end.State != plan.Approved || end.ExitCode != 0 {
		t.Errorf("driven again, it ended with %+v", end)
	}
	eng, done := b.process()
	defer done()
	if err := eng.Cancel(context.Background()); err != nil {
		t.Error(err)
	}
	if n := len(b.events()); n != before {
		t.Errorf("%d events were added", n-before)
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	whole := engine.Config{Runner: &crew{}, Journal: &journal{}, Checker: &checker{}, Snapshots: &snapshots{}}
	for name, c := range map[string]struct {
		change func(*engine.Config)
		want   string
	}{
		"no runner":    {func(c *engine.Config) { c.Runner = nil }, "a runner"},
		"no journal":   {func(c *engine.Config) { c.Journal = nil }, "a journal"},
		"no checker":   {func(c *engine.Config) { c.Checker = nil }, "a checker"},
		"no snapshots": {func(c *engine.Config) { c.Snapshots = nil }, "snapshots"},
		"negative":     {func(c *engine.Config) { c.MaxCycles = -1 }, "-1 fix cycles"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := whole
			c.change(&cfg)
			if _, err := engine.New(cfg, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	eng, err := engine.New(whole, nil)
	if err != nil || eng.State() == nil {
		t.Errorf("a whole config: %v", err)
	}
	if _, err := eng.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "does not begin with a move") {
		t.Errorf("a run that has not begun: %v", err)
	}
}

func TestAnApprovalOfAnotherTreeIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.snaps.meddled = true
	if end := b.finish(); end.State != plan.Exhausted {
		t.Errorf("ended with %+v", end)
	}
	for _, ev := range b.events() {
		if v, ok := ev.Body.(plan.VerdictGiven); ok && (v.Approved || !strings.Contains(v.Why, "changed while it was reviewed")) {
			t.Errorf("the verdict is %+v", v)
		}
	}
}

package engine_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// anyEvent draws an event of any durable type. Nothing says that it makes sense
// where it comes.
func anyEvent(t *rapid.T) plan.Event {
	word := rapid.SampledFrom([]string{"a", "b", "G1", "G2", ""})
	text := func(what string) string { return word.Draw(t, what) }
	number := func(what string) int64 { return int64(rapid.IntRange(0, 3).Draw(t, what)) }
	flag := func(what string) bool { return rapid.Bool().Draw(t, what) }
	state := rapid.SampledFrom([]plan.State{
		plan.Exploring, plan.Planning, plan.Implementing, plan.Implementing, plan.Reviewing, plan.Approved, plan.Failed,
	})
	gap := func() plan.Gap {
		return plan.Gap{ID: text("id"), Gap: text("gap"), Status: rapid.SampledFrom([]plan.GapStatus{plan.GapOpened, plan.GapClosed}).Draw(t, "status")}
	}
	var wake *time.Time
	if flag("wakes") {
		at := time.Date(2026, 1, 2, 3, 4, int(number("second")), 0, time.UTC)
		wake = &at
	}
	turn := int(number("turn"))
	ev := plan.Event{
		Run: "R1", Conv: rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "conv"), Turn: &turn, Attempt: 1,
		Phase: rapid.SampledFrom(plan.Phases()).Draw(t, "phase"),
	}
	ev.Body = rapid.SampledFrom([]func() plan.Body{
		func() plan.Body {
			return plan.StateChange{From: state.Draw(t, "from"), To: state.Draw(t, "to"), Event: text("event")}
		},
		func() plan.Body { return plan.StateChange{To: state.Draw(t, "to")} },
		func() plan.Body {
			return plan.PhaseStart{Model: text("model"), Tools: []string{"read"}, Resumed: flag("resumed")}
		},
		func() plan.Body { return plan.PhaseEnd{Reason: plan.EndCompleted} },
		func() plan.Body { return plan.TurnStart{Trigger: "user"} },
		func() plan.Body { return plan.TurnEnd{Reason: plan.EndCompleted} },
		func() plan.Body { return plan.MessageStart{Role: plan.RoleUser} },
		func() plan.Body { return plan.MessageEnd{Message: plan.UserText(text("said"))} },
		func() plan.Body { return plan.ToolStart{Call: text("call"), Name: "read", Args: []byte("{}")} },
		func() plan.Body { return plan.ToolEnd{Call: text("call"), Name: "read", Output: text("output")} },
		func() plan.Body {
			return plan.UsageReport{Usage: plan.Usage{Requests: 1, Input: number("input")}, CostUSD: float64(number("cost")) / 4, Priced: flag("priced")}
		},
		func() plan.Body { return plan.Report{Text: text("report")} },
		func() plan.Body {
			return plan.PlanMade{PlanDoc: plan.PlanDoc{Text: text("plan"), Version: int(number("version"))}}
		},
		func() plan.Body { return plan.Snapshot{Label: text("label"), Tree: text("tree"), Ref: "r"} },
		func() plan.Body { return plan.CheckStart{Check: plan.Check{Command: text("check")}} },
		func() plan.Body {
			return plan.CheckEnd{CheckResult: plan.CheckResult{Check: plan.Check{Command: text("check")}, Baseline: flag("baseline"), Cancelled: flag("cancelled")}}
		},
		func() plan.Body {
			return plan.VerdictGiven{Judgement: plan.Judgement{Verdict: plan.NeedsFix, Why: text("why"), Missing: []plan.Missing{}, Commands: []plan.RanCommand{}}}
		},
		func() plan.Body { return plan.GapChange{Gap: gap()} },
		func() plan.Body { return plan.Parked{Reason: plan.ParkRateLimit, WakeAt: wake} },
		func() plan.Body { return plan.Unparked{Reason: plan.ParkRateLimit} },
		func() plan.Body { return plan.Steering{Text: text("said")} },
		func() plan.Body { return plan.FollowUp{Text: text("said")} },
		func() plan.Body { return plan.Question{Call: text("call"), Question: text("question")} },
		func() plan.Body { return plan.Answered{Call: text("call"), Text: text("answer")} },
		func() plan.Body { return plan.ApprovalRequired{Call: text("call"), Name: "bash", Args: []byte("{}")} },
		func() plan.Body { return plan.ApprovalResolved{Call: text("call"), Approved: flag("approved")} },
		func() plan.Body { return plan.Retry{Attempt: 1} },
		func() plan.Body { return plan.LimitHit{Kind: "turns"} },
		func() plan.Body { return plan.Failure{Error: text("error")} },
		func() plan.Body { return plan.Unknown{Kind: "weather", Raw: []byte(`{"sun":true}`)} },
	}).Draw(t, "body")()
	return ev
}

// anyJournal draws events as a journal may hold them: they begin with run_start
// and may end with run_end.
func anyJournal(t *rapid.T) []plan.Event {
	events := []plan.Event{{Run: "R1", Job: "job-1", Body: plan.RunStart{Request: "r", Repo: "/repo", Config: []byte("{}"), Models: map[plan.Phase]string{}}}}
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		events = append(events, anyEvent(t))
	}
	if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
		events = append(events, plan.Event{Run: "R1", Body: plan.RunEnd{Outcome: plan.Approved}})
	}
	for i := range events {
		events[i].Seq, events[i].Time = int64(i+1), time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
	}
	return events
}

var exactly = cmp.Options{cmp.Exporter(func(t reflect.Type) bool { return t == reflect.TypeFor[engine.Run]() })}

// TestFoldIsTheStateOfTheLiveProcess: whatever happened and wherever it is cut,
// the state is the same whether events were applied as they happened, or read
// back from their bytes, or a beginning of them was, and the rest after it.
func TestFoldIsTheStateOfTheLiveProcess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		events := anyJournal(rt)
		read := make([]plan.Event, len(events))
		for i, ev := range events {
			line, err := ev.AppendJSON(nil)
			if err != nil {
				rt.Fatal(err)
			}
			if err := read[i].UnmarshalJSON(line); err != nil {
				rt.Fatal(err)
			}
		}
		whole, live := fold(rt, read), &engine.Run{}
		for cut := range len(events) + 1 {
			if diff := cmp.Diff(live, fold(rt, read[:cut]), exactly); diff != "" {
				rt.Fatalf("after %d events (-live +journal):\n%s", cut, diff)
			}
			pieces := fold(rt, read[:cut])
			for _, ev := range read[cut:] {
				pieces.Apply(ev)
			}
			if diff := cmp.Diff(whole, pieces, exactly); diff != "" {
				rt.Fatalf("cut at %d (-whole +pieces):\n%s", cut, diff)
			}
			if cut < len(events) {
				live.Apply(events[cut])
			}
		}
	})
}

// TestTheListSaysWhatTheFoldSays: the row that the list of runs is made of is
// another fold of the same journal.
func TestTheListSaysWhatTheFoldSays(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	ctx := context.Background()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := plan.RunID(fmt.Sprint("L", n))
		w, err := db.Own(ctx, id)
		if err != nil {
			rt.Fatal(err)
		}
		defer w.Close()
		events := anyJournal(rt)
		for i := range events {
			events[i].Run = id
		}
		if _, err := w.Append(ctx, events...); err != nil {
			rt.Fatal(err)
		}
		info, err := db.Run(ctx, id)
		if err != nil {
			rt.Fatal(err)
		}
		run, err := engine.Fold(db.Events(ctx, id, memory.Query{}))
		if err != nil {
			rt.Fatal(err)
		}
		state, parked := run.State, plan.ParkReason("")
		if run.Outcome != nil {
			state = run.Outcome.Outcome
		} else {
			if info.Usage != run.Usage || info.CostUSD != run.Cost || info.Priced != run.Priced {
				rt.Fatalf("used: the list says %+v %v %v, the fold %+v %v %v", info.Usage, info.CostUSD, info.Priced, run.Usage, run.Cost, run.Priced)
			}
			over := slices.ContainsFunc(run.Moves, func(m plan.StateChange) bool { return m.To.Final() })
			if over { // nothing is parked then, and no run comes back from there
				parked = info.Parked
			} else if run.Parked != nil {
				parked = run.Parked.Reason
			}
		}
		if info.State != state || info.Parked != parked || info.Head != run.Head || !info.Updated.Equal(run.Last) || info.Job != run.Job || info.Request != run.Start.Request {
			rt.Fatalf("the list says %+v, the fold %+v", info, run)
		}
	})
}

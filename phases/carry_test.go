package phases_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

const carryPlan = `[[reply]]
phase = "plan"
text = "# Plan: beta\n\n## Files\n- a.txt — modified\n\n## Steps\n1. Write beta into ` + "`a.txt`" + `.\n\n## Verify\n~~~\ntrue\n~~~"
`

const carryScenario = `
[[reply]]
phase = "explore"
turn = 0
[[reply.call]]
name = "read"
args = { path = "a.txt" }
[[reply]]
phase = "explore"
text = "**Where it happens**: a.txt:1\n**What to watch**: nothing"
` + carryPlan + `[[reply]]
phase = "implement"
turn = 0
[[reply.call]]
name = "edit"
args = { path = "a.txt", old_string = "alpha", new_string = "beta" }
[[reply]]
phase = "implement"
text = "Done."
`

// conversations are the events of phases, as the engine hands them on.
func (b *bench) conversations(of ...plan.Phase) (out [][]plan.Event) {
	for _, p := range of {
		other := func(ev plan.Event) bool { return ev.Conv != briefFor(p, 1).Conv }
		out = append(out, slices.DeleteFunc(b.events(), other))
	}
	return out
}

// TestConversationsGoOn: a phase that is handed a conversation sends it byte for byte
// before its own prompt, also where a process goes on, and what was read there was read.
func TestConversationsGoOn(t *testing.T) {
	t.Parallel()
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprint("another model: ", other), func(t *testing.T) {
			t.Parallel()
			b := setup(t, carryScenario, map[string]string{"a.txt": "alpha\nsecond\n"})
			for _, p := range plan.Phases() {
				b.cfg.Models[p] = "one"
			}
			if other {
				b.cfg.Models[plan.Plan] = "two"
			}
			b.cfg.Adviser = remembers{}
			report := b.must(briefFor(plan.Explore, 1)).Report
			b.cfg.Adviser = nil
			brief := briefFor(plan.Plan, 1)
			brief.Report, brief.Carried = report, b.conversations(plan.Explore)
			doc := b.must(brief).Plan
			before, after := b.of(plan.Explore, 1)[1], b.of(plan.Plan, 1)[0]
			if goesOnFrom(t, before, after); !other {
				extends(t, "Plan", before, after) // with the same tools and settings, for the cache
			}
			if n := len(before.messages) + 2; len(after.messages) != n {
				t.Errorf("Plan begins with %d messages, want %d", len(after.messages), n)
			}
			if got := after.users()[len(after.users())-1]; strings.Contains(got, report) || strings.Contains(got, "second") ||
				!strings.Contains(got, "conversation of explore") || !strings.Contains(got, "# Phase: Plan") {
				t.Errorf("Plan is told %q", got)
			}
			if other {
				return
			}
			brief = briefFor(plan.Implement, 1)
			brief.Plan, brief.Carried = doc, b.conversations(plan.Explore, plan.Plan)
			out := b.must(brief)
			if got := b.read("a.txt"); got != "beta\nsecond\n" || out.Summary != "Done." {
				t.Errorf("the file holds %q, and it says %q", got, out.Summary)
			}
			sent := b.of(plan.Implement, 1)
			goesOnFrom(t, b.of(plan.Plan, 1)[0], sent[0])
			extends(t, "Implement", sent[0], sent[1])

			for cut := range b.commits {
				if !slices.ContainsFunc(b.commits[:cut], func(c []plan.Event) bool { return c[0].Phase == plan.Plan }) {
					continue
				}
				again := setup(t, carryPlan, map[string]string{"a.txt": "alpha\nsecond\n"})
				again.cfg.Models, again.commits = b.cfg.Models, b.commits[:cut:cut]
				brief := briefFor(plan.Plan, 1)
				brief.Report, brief.Carried = report, b.conversations(plan.Explore)
				again.must(brief)
				for _, r := range again.of(plan.Plan, 1) {
					if string(r.body) != string(after.body) {
						t.Errorf("after commit %d it sends another request, which ends in %s", cut, r.last())
					}
				}
			}
		})
	}
}

// goesOnFrom fails the test unless a request begins with all messages of another phase's.
func goesOnFrom(t *testing.T, before, after request) {
	t.Helper()
	for i, m := range before.rawMessages {
		if i >= len(after.rawMessages) || string(after.rawMessages[i]) != string(m) {
			t.Fatalf("message %d of %s is not the one of %s:\n%s", i, after.phase, before.phase, m)
		}
	}
}

// remembers tells Explore a fact.
type remembers struct{}

func (remembers) Advise(_ context.Context, p plan.Phase, _ string) []plan.Body {
	if p != plan.Explore {
		return nil
	}
	return []plan.Body{plan.Recall{Facts: []plan.Recalled{{Text: "REMEMBERED"}}}}
}

// TestShortPlans are asked for, and a long one is asked for again, once.
func TestShortPlans(t *testing.T) {
	t.Parallel()
	long := "# Plan: beta\n\n## Steps\n1. Write beta. " + strings.Repeat("word ", 400)
	short := "# Plan: beta\n\n## Steps\n1. Write beta."
	for _, c := range []struct {
		size    string
		replies []string
		asked   int
		words   int // of the plan that is kept, at the most
	}{
		{plan.PlanFull, []string{long}, 1, 500},
		{"", []string{long}, 1, 500},
		{plan.PlanShort, []string{short}, 1, 20},
		{plan.PlanShort, []string{long, short}, 2, 20},
		{plan.PlanShort, []string{long, long}, 2, 500},
	} {
		for _, p := range []plan.Phase{plan.Plan, plan.Explore} {
			t.Run(fmt.Sprint(p, c.size, len(c.replies), c.words), func(t *testing.T) {
				t.Parallel()
				scenario := ""
				for i, text := range c.replies {
					scenario += tell(i+1, 0, text)
				}
				b := setup(t, scenario, nil)
				b.cfg.PlanSize, b.cfg.Way = c.size, plan.WayShort
				doc := b.must(briefFor(p, 1)).Plan
				if n := len(strings.Fields(doc.Text)); n > c.words {
					t.Errorf("the plan has %d words", n)
				}
				sent := b.of(p, 1)
				if len(sent) != c.asked {
					t.Fatalf("it was asked %d times", len(sent))
				}
				if told := strings.Contains(sent[0].users()[0], "at most 250 words"); told != (c.size == plan.PlanShort) {
					t.Errorf("told so: %v", told)
				}
			})
		}
	}
}

// TestLimitsOfAPhase bound it by itself, over all its attempts, and say which to raise.
func TestLimitsOfAPhase(t *testing.T) {
	t.Parallel()
	endless := "[[reply]]\n[reply.usage]\ninput = 100\noutput = 10\n[[reply.call]]\nname = \"glob\"\nargs = { pattern = \"*\" }\n"
	for _, c := range []struct {
		own    plan.Limits
		before plan.Usage
		cost   float64
		turns  int
		says   string
	}{
		{own: plan.Limits{Turns: 3}, turns: 3, says: "turns: 3 of 3 used, which is all that [phase.%s] allows; go on with a higher --phase-limit %s.max_turns=N"},
		{own: plan.Limits{Tokens: 150}, turns: 2, says: "tokens: 220 of 150 used, which is all that [phase.%s] allows; go on with a higher --phase-limit %s.max_tokens=N"},
		{own: plan.Limits{Tokens: 150}, before: plan.Usage{Input: 100}, turns: 1, says: "tokens: 210 of 150 used, which is all that [phase.%s] allows; go on with a higher --phase-limit %s.max_tokens=N"},
		{own: plan.Limits{CostUSD: 0.15}, turns: 1, says: "cost: 0.1 of 0.15 used, and the next call could cost more than is left, which is all that [phase.%s] allows; go on with a higher --phase-limit %s.max_cost=N"},
	} {
		for _, p := range append(plan.Phases(), plan.Critique) {
			t.Run(fmt.Sprint(p, c.says, c.before.Input), func(t *testing.T) {
				t.Parallel()
				b := setup(t, endless, map[string]string{"a.txt": ""})
				b.cfg.Limits = plan.Limits{Turns: 2, Tokens: 400, CostUSD: 100}
				if c.own.Turns == 0 {
					b.cfg.Limits.Turns = 50
				}
				b.cfg.Own = map[plan.Phase]plan.Limits{p: c.own}
				b.cfg.Price = func(_ string, u plan.Usage) (float64, bool) { return float64(u.Requests) / 10, true }
				brief := briefFor(p, 1)
				brief.PhaseSpent, brief.Spent = c.before, c.before
				out, err := b.run(brief)
				want := fmt.Sprintf(c.says, p, p)
				if err != nil || out.Park == nil || out.Park.Reason != plan.ParkLimit || out.Park.Detail != want {
					t.Fatalf("%+v, %v, want %s", out.Park, err, want)
				}
				if n := len(b.requests()); n != c.turns {
					t.Errorf("%d requests, want %d", n, c.turns)
				}
				b.park(out)
				b.balanced()
				b.cfg.Own = nil
				b.cfg.Limits = plan.Limits{Turns: c.turns + 1}
				if _, err := b.run(brief); err != nil || len(b.requests()) != c.turns+1 {
					t.Errorf("it goes on with %d requests, %v", len(b.requests())-c.turns, err)
				}
			})
		}
	}
}

package phases_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

// sorry is a refusal that the server does not call one.
const sorry = "I'm sorry, I cannot assist with that."

// park records, as the engine does, that a phase parked.
func (b *bench) park(out plan.Outcome) {
	b.t.Helper()
	if out.Park == nil {
		b.t.Fatalf("it did not park: %+v", out)
	}
	if err := b.emit(context.Background(), plan.Event{Conv: b.brief.Conv, Body: *out.Park}); err != nil {
		b.t.Fatal(err)
	}
}

// prompts are the user messages of the last request.
func (b *bench) prompts() []string {
	b.t.Helper()
	sent := b.requests()
	return sent[len(sent)-1].users()
}

// TestWhatIsNoReportAndNoPlan: it is asked for once more with what it lacks,
// and a second one parks with its words. Going on asks again.
func TestWhatIsNoReportAndNoPlan(t *testing.T) {
	t.Parallel()
	for p, c := range map[plan.Phase]struct{ good, form string }{
		plan.Explore: {"It is a.txt:1.", "**Where it happens**"},
		plan.Plan:    {"# Plan: beta\n\n## Steps\n1. Write beta.", "## Verify"},
	} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			b := setup(t, tell(1, 0, sorry)+tell(2, 0, sorry)+tell(3, 0, c.good), map[string]string{"a.txt": "alpha\n"})
			out, err := b.run(briefFor(p, 1))
			if err != nil || out.Park == nil || out.Park.Reason != plan.ParkRefused {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, words := range []string{sorry, "--model", "--phase-model " + string(p), "asks again"} {
				if !strings.Contains(out.Park.Detail, words) {
					t.Errorf("%q does not say %q", out.Park.Detail, words)
				}
			}
			prompts := b.prompts()
			if len(prompts) != 2 || !strings.Contains(prompts[1], sorry) || !strings.Contains(prompts[1], c.form) || !strings.Contains(prompts[1], "say so in one sentence") {
				t.Errorf("it was asked %q", prompts)
			}
			b.park(out)
			if out = b.must(briefFor(p, 1)); out.Report+planOf(out) != c.good {
				t.Errorf("it came to %+v", out)
			}
			if got := len(b.prompts()); got != 3 {
				t.Errorf("asked %d times", got)
			}
			b.balanced()
		})
	}
}

// tell is a reply with any text.
func tell(user, turn int, text string) string {
	return fmt.Sprintf("[[reply]]\nuser = %d\nturn = %d\ntext = %q\n", user, turn, text)
}

func planOf(out plan.Outcome) string {
	if out.Plan == nil {
		return ""
	}
	return out.Plan.Text
}

// TestWhatCountsAsHandedOver: where the words are those of a refusal, the form
// and what it names decide.
func TestWhatCountsAsHandedOver(t *testing.T) {
	t.Parallel()
	const look = "[[reply]]\nturn = 0\nuser = 1\n[[reply.call]]\nname = \"grep\"\nargs = { pattern = \"alpha\" }\n"
	for _, c := range []struct {
		phase plan.Phase
		text  string
		looks bool
		ok    bool
	}{
		{plan.Explore, sorry, false, false},
		{plan.Explore, "As an AI model, helping with this is against our policy.", false, false},
		{plan.Explore, "Nothing is there yet.", false, true},
		{plan.Plan, "Write two.", false, true},
		{plan.Explore, "I can't help. See https://example.com/policy for what I may do.", false, false},
		{plan.Explore, "It is in a.txt.", false, true},
		{plan.Explore, "It is (README:3).", false, true},
		{plan.Explore, "There is no `hello.txt` yet.", false, true},
		{plan.Explore, "**What is asked.** A word.\n\n**Where it happens.** Nowhere yet.", false, true},
		{plan.Explore, "It is all there.", true, true},
		{plan.Plan, sorry, true, false},
		{plan.Plan, "I will not do this:\n\n1. It is wrong.\n2. It is late.", false, false},
		{plan.Plan, "Write beta into a.txt.", false, true},
		{plan.Plan, "Say beta where it says `alpha`.", true, true},
		{plan.Plan, "## Verify\n~~~\nmake test\n~~~", false, true},
	} {
		t.Run(fmt.Sprint(c.phase, " ", c.text), func(t *testing.T) {
			t.Parallel()
			scenario := tell(1, 0, c.text)
			if c.looks {
				scenario = look + tell(1, 1, c.text)
			}
			b := setup(t, scenario+tell(2, 0, c.text), map[string]string{"a.txt": "alpha\n", "README": "words\n"})
			brief := briefFor(c.phase, 1)
			brief.Request = "Write hello.txt"
			out, err := b.run(brief)
			if err != nil || (out.Park == nil) != c.ok {
				t.Errorf("%+v, %v", out, err)
			}
			if asked := len(b.prompts()); (asked == 1) != c.ok {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// TestWhatIsCutOff is asked for again, whole and shorter, and never handed on.
func TestWhatIsCutOff(t *testing.T) {
	t.Parallel()
	half := func(user int) string {
		return fmt.Sprintf("[[reply]]\nuser = %d\ntext = \"# Plan: half of a.txt\"\nfinish = \"length\"\n", user)
	}
	for _, p := range []plan.Phase{plan.Explore, plan.Plan} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			const whole = "# Plan: whole\n\n# Why\nOf a.txt."
			b := setup(t, half(1)+half(2)+half(3)+half(4)+tell(5, 0, whole), map[string]string{"a.txt": "alpha\n"})
			out, err := b.run(briefFor(p, 1))
			if err != nil || out.Park == nil || out.Park.Reason != plan.ParkLimit || !strings.Contains(out.Park.Detail, "max_output_tokens") {
				t.Fatalf("%+v, %v", out, err)
			}
			if prompts := b.prompts(); len(prompts) != 3 || !strings.Contains(prompts[2], "cut off") {
				t.Errorf("it was asked %q", prompts)
			}
			b.park(out)
			if out = b.must(briefFor(p, 1)); out.Report+planOf(out) != whole {
				t.Errorf("it came to %+v", out)
			}
			b.balanced()
		})
	}
	t.Run("a critique", func(t *testing.T) {
		t.Parallel()
		b := setup(t, half(1), nil)
		if out, err := b.run(briefFor(plan.Critique, 1)); err == nil || out.Remarks != "" {
			t.Errorf("%+v, %v", out, err)
		}
	})
	t.Run("closing words", func(t *testing.T) {
		t.Parallel()
		b := setup(t, half(1)+tell(2, 0, "All done."), nil)
		if out := b.must(briefFor(plan.Implement, 1)); out.Summary != "All done." {
			t.Errorf("it closes with %q", out.Summary)
		}
	})
}

// TestARefusalParks in every phase, and going on makes the call again.
func TestARefusalParks(t *testing.T) {
	t.Parallel()
	const rest = `text = '# Plan of a.txt {"verdict": "BLOCKED", "checklist": [], "missing": [], "commands": []}'` + "\n"
	for _, c := range []struct{ name, fault, says string }{
		{"refusal", "kind = 'refuse'\nbody = 'I will not do that.'", `the model refused (stop reason refusal): "I will not do that."`},
		{"filter", "kind = 'filter'", `a content filter of the model server ended the answer (stop reason content_filter): "# Plan of a.txt`},
		{"filtered request", "kind = 'status'\nstatus = 400\nbody = '{\"error\":{\"message\":\"no way\",\"code\":\"content_filter\"}}'", "no way; go on with another model"},
	} {
		for _, p := range append(plan.Phases(), plan.Critique) {
			t.Run(c.name+" in "+string(p), func(t *testing.T) {
				t.Parallel()
				b := setup(t, "[[reply]]\n"+rest+"[reply.fault]\n"+c.fault+"\n", map[string]string{"a.txt": "alpha\n"})
				out, err := b.run(briefFor(p, 1))
				if err != nil || out.Park == nil || out.Park.Reason != plan.ParkRefused || !strings.Contains(out.Park.Detail, c.says) {
					t.Fatalf("%+v, %v", out.Park, err)
				}
				b.park(out)
				b.cfg.Models[p] = "another"
				if out, err = b.run(briefFor(p, 1)); err != nil || out.Park != nil && out.Park.Reason == plan.ParkRefused {
					t.Errorf("%+v, %v", out, err)
				}
				sent := b.requests()
				if string(sent[1].raw["model"]) != `"another"` || string(sent[0].raw["messages"]) != string(sent[1].raw["messages"]) {
					t.Errorf("it was asked %s", sent[1].body)
				}
				b.balanced()
			})
		}
	}
}

// TestAskingAgainGoesOnAnywhere: a process that is killed between the prompts
// is followed by one that asks neither more nor less.
func TestAskingAgainGoesOnAnywhere(t *testing.T) {
	t.Parallel()
	half := "[[reply]]\nuser = 2\ntext = 'half'\nfinish = 'length'\n"
	scenario := tell(1, 0, sorry) + half + tell(3, 0, sorry)
	first := setup(t, scenario, nil)
	if out, err := first.run(briefFor(plan.Explore, 1)); err != nil || out.Park == nil || out.Park.Reason != plan.ParkRefused {
		t.Fatalf("%+v, %v", out, err)
	}
	bodies := map[string]bool{}
	for _, r := range first.requests() {
		bodies[string(r.body)] = true
	}
	for cut := range first.commits {
		b := setup(t, scenario, nil)
		b.commits, b.seq = slices.Clone(first.commits[:cut]), int64(len(slices.Concat(first.commits[:cut]...)))
		out, err := b.run(briefFor(plan.Explore, 1))
		if err != nil || out.Park == nil || out.Park.Reason != plan.ParkRefused {
			t.Fatalf("after commit %d: %+v, %v", cut, out, err)
		}
		if diff := cmp.Diff(shape(first.events()), shape(b.events())); diff != "" {
			t.Errorf("after commit %d the journal is another (-whole +resumed):\n%s", cut, diff)
		}
		for _, r := range b.requests() {
			if !bodies[string(r.body)] {
				t.Errorf("after commit %d a request is new: %s", cut, r.last())
			}
		}
	}
}

func TestARefusedDraftStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\nrefusal = \"I will not.\"\n", nil)
	body, used, err := phases.WriteDraft(t.Context(), phases.DraftConfig{Model: b.cfg.Model, Name: "m"}, "the draft")
	if body != "" || err == nil || !strings.Contains(err.Error(), "I will not.") || errors.Is(err, context.Canceled) {
		t.Errorf("%q, %+v, %v", body, used, err)
	}
}

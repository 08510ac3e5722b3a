package phases_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// player is a model made of a function.
type player struct {
	calls []loop.Call
	play  func(n int, call loop.Call) (loop.Answer, error)
}

// Generate implements loop.Model.
func (p *player) Generate(_ context.Context, call loop.Call, _ func(loop.Delta)) (loop.Answer, error) {
	p.calls = append(p.calls, call)
	return p.play(len(p.calls)-1, call)
}

func (p *player) models() []string {
	var out []string
	for _, c := range p.calls {
		out = append(out, c.Model)
	}
	return out
}

// played is phases over a model that answers with words, after the calls that
// the function makes.
func played(t *testing.T, calls func(n int) (name, args string)) (*bench, *player) {
	t.Helper()
	b := setup(t, "[[reply]]\ntext = \"unused\"\n", map[string]string{"a.txt": "alpha\n"})
	p := &player{play: func(n int, _ loop.Call) (loop.Answer, error) {
		ans := loop.Answer{Stop: loop.StopEnd, Usage: plan.Usage{Requests: 1}, Message: plan.Message{Role: plan.RoleAssistant}}
		name, args := calls(n)
		if name == "" {
			ans.Message.Blocks = []plan.Block{{Type: plan.BlockText, Text: "# Plan: it\n\n## Steps\nDone."}}
			return ans, nil
		}
		ans.Stop = loop.StopTools
		ans.Message.Blocks = []plan.Block{{Type: plan.BlockToolCall, Call: fmt.Sprint("p", n), Name: name, Args: args}}
		return ans, nil
	}}
	b.cfg.Model = p
	return b, p
}

// keeps is why a conversation stays with its model.
const keeps = "it counts from the next phase, for a conversation keeps its provider"

func words(int) (name, args string) { return "", "" }

// routes are the choices that were recorded.
func (b *bench) routes() []plan.Route {
	var out []plan.Route
	for _, ev := range b.events() {
		if r, ok := ev.Body.(plan.Route); ok {
			out = append(out, r)
		}
	}
	return out
}

// TestAHintIsRecorded once, at the beginning of the conversation, and the phase
// keeps its settings with the model that the hint chose.
func TestAHintIsRecorded(t *testing.T) {
	t.Parallel()
	b, p := played(t, words)
	b.cfg.Why = map[plan.Phase]string{plan.Plan: "@cheap, as [phase.plan] asks"}
	b.cfg.Settings = map[plan.Phase]loop.Settings{plan.Plan: {Effort: "low", LongCache: true}}
	b.must(briefFor(plan.Plan, 1))
	b.must(briefFor(plan.Critique, 1))
	b.must(briefFor(plan.Implement, 1))
	want := []plan.Route{
		{For: "plan", Model: "model-plan", Why: "@cheap, as [phase.plan] asks"},
		{For: "critique", Model: "model-plan", Why: "@cheap, as [phase.plan] asks"},
	}
	if diff := cmp.Diff(want, b.routes()); diff != "" {
		t.Error(diff)
	}
	if s := p.calls[0].Settings; s.Effort != "low" || !s.LongCache {
		t.Errorf("sent with %+v", s)
	}
	// A process that goes on does not say it again.
	all := b.commits
	for cut := range all {
		b.commits = all[: cut+1 : cut+1]
		if _, err := b.run(briefFor(plan.Plan, 1)); err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, r := range b.routes() {
			if r.For == "plan" {
				said++
			}
		}
		if said != 1 {
			t.Errorf("after commit %d it is said %d times", cut+1, said)
		}
	}
}

// TestEscalation: what failed goes on with a stronger model, if its server is the
// same.
func TestEscalation(t *testing.T) {
	t.Parallel()
	const usual, strong = "model-implement", "model-strong"
	again := func(int) (string, string) { return "read", `{"path":"a.txt"}` }
	other := func(a, b string) bool { return strings.HasPrefix(a, "model") == strings.HasPrefix(b, "model") }
	for _, c := range []struct {
		name     string
		attempts int
		stuck    bool
		strong   string
		same     func(a, b string) bool
		models   []string // of each attempt
		routes   []plan.Route
	}{
		{
			name: "the third attempt", attempts: 4, strong: strong,
			models: []string{usual, usual, strong, strong},
			routes: []plan.Route{
				{For: "implement", Model: strong, Why: "@strong, as [route] escalate asks: this is attempt 3"},
				{For: "implement", Model: strong, Why: "@strong, as [route] escalate asks: this is attempt 4"},
			},
		},
		{
			name: "after one that made no progress", attempts: 2, stuck: true, strong: strong,
			models: []string{usual, strong},
			routes: []plan.Route{
				{For: "implement", Model: strong, Why: "@strong, as [route] escalate asks: attempt 1 made no progress"},
			},
		},
		{
			name: "another server", attempts: 3, strong: "elsewhere", same: other,
			models: []string{usual, usual, usual},
			routes: []plan.Route{{For: "implement", Model: usual, Asked: "elsewhere", Why: keeps}},
		},
		{name: "no such hint", attempts: 3, stuck: true, models: []string{usual, usual, usual}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calls := words
			if c.stuck {
				calls = again
			}
			b, p := played(t, func(n int) (string, string) { return calls(n) })
			b.cfg.SameServer = c.same
			if c.strong != "" {
				b.cfg.Route.Strong = c.strong
				b.cfg.Route.Escalate = map[plan.Phase]string{plan.Implement: c.strong}
			}
			var models []string
			for attempt := range c.attempts {
				b.must(briefFor(plan.Implement, attempt+1))
				models = append(models, p.calls[len(p.calls)-1].Model)
				calls = words
			}
			if diff := cmp.Diff(c.models, models); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.routes, b.routes()); diff != "" {
				t.Error(diff)
			}
			b.balanced()
		})
	}
}

// TestAConversationKeepsItsProvider where it goes on with another --model.
func TestAConversationKeepsItsProvider(t *testing.T) {
	t.Parallel()
	down := true
	b, p := played(t, words)
	play := p.play
	p.play = func(n int, call loop.Call) (loop.Answer, error) {
		if down {
			return loop.Answer{}, &loop.ModelError{Kind: loop.ErrQuota, Message: "used up"}
		}
		return play(n, call)
	}
	b.cfg.SameServer = func(a, b string) bool { return a == b }
	if out, err := b.run(briefFor(plan.Plan, 1)); err != nil || out.Park == nil {
		t.Fatal(out, err)
	}
	down = false
	b.cfg.Models[plan.Plan] = "other/model"
	b.must(briefFor(plan.Plan, 1))
	b.must(briefFor(plan.Plan, 2))
	if diff := cmp.Diff([]string{"model-plan", "model-plan", "other/model"}, p.models()); diff != "" {
		t.Error(diff)
	}
	want := []plan.Route{{For: "plan", Model: "model-plan", Asked: "other/model", Why: keeps}}
	if diff := cmp.Diff(want, b.routes()); diff != "" {
		t.Error(diff)
	}
}

// TestASubAgentHasTheModelOfItsHint, and its window.
func TestASubAgentHasTheModelOfItsHint(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(n int) (string, string) {
		if n == 0 {
			return "task", `{"task":"look at a.txt"}`
		}
		return "", ""
	})
	if err := b.cfg.Kit.AddTask(); err != nil {
		t.Fatal(err)
	}
	b.cfg.Route.Cheap, b.cfg.Route.SubAgent = "model-cheap", "model-cheap"
	asked := map[string]bool{}
	b.cfg.Window = func(model string) int64 {
		asked[model] = true
		return 0
	}
	b.must(briefFor(plan.Plan, 1))
	if diff := cmp.Diff([]string{"model-plan", "model-cheap", "model-plan"}, p.models()); diff != "" {
		t.Error(diff)
	}
	want := []plan.Route{{For: "task", Model: "model-cheap", Why: "@cheap, as [route] subagent asks"}}
	if diff := cmp.Diff(want, b.routes()); diff != "" {
		t.Error(diff)
	}
	if !asked["model-plan"] || !asked["model-cheap"] {
		t.Errorf("asked for the windows of %v", asked)
	}
}

// TestWhatAServerRefuses parks, says its words, and what to change; only a wrong
// key or name before anything was done ends a run.
func TestWhatAServerRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		kind     loop.ErrorKind
		model    string
		worked   bool
		park     plan.ParkReason // "": the run ends
		wakes    bool
		says     []string
		provider func(string) string
		full     bool
	}{
		{
			name: "refused", kind: loop.ErrRefused, park: plan.ParkRefused,
			says: []string{"--phase-model explore=NAME", "effort", "[providers.NAME]", "plan doctor"},
		},
		{name: "refused later", kind: loop.ErrRefused, worked: true, park: plan.ParkRefused},
		{name: "not there", kind: loop.ErrUnreachable, park: plan.ParkUnreachable, says: []string{"base URL", "plan doctor"}},
		{name: "not there any more", kind: loop.ErrUnreachable, worked: true, park: plan.ParkUnreachable, wakes: true},
		{name: "silent", kind: loop.ErrIdle, park: plan.ParkUnreachable, wakes: true},
		{name: "no end", kind: loop.ErrOverlong, park: plan.ParkLimit, says: []string{"another model"}},
		{name: "too long", kind: loop.ErrTooLong, park: plan.ParkLimit, says: []string{"--compaction full", "larger window"}},
		{name: "too long for all that can be done", kind: loop.ErrTooLong, full: true, park: plan.ParkLimit, says: []string{"larger window"}},
		{name: "a key of the default provider", kind: loop.ErrAuth, says: []string{"OPENAI_API_KEY"}},
		{name: "a key of another provider", kind: loop.ErrAuth, model: "openrouter/x/y", says: []string{"the key of provider openrouter"}},
		{
			name: "a key of a provider that is asked for", kind: loop.ErrAuth, model: "x/y",
			provider: func(m string) string { return "P-" + m }, says: []string{"the key of provider P-x/y"},
		},
		{
			name: "a slash that names no provider", kind: loop.ErrAuth, model: "x/y",
			provider: func(string) string { return "" }, says: []string{"OPENAI_API_KEY"},
		},
		{
			name: "a key that ran out", kind: loop.ErrAuth, model: "openrouter/x", worked: true, park: plan.ParkLimit,
			says: []string{"the key of provider openrouter", "(openrouter/x)"},
		},
		{name: "an unknown model", kind: loop.ErrNotFound, model: "openrouter/x", says: []string{"openrouter/x", "--model", "/v1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, p := played(t, words)
			p.play = func(int, loop.Call) (loop.Answer, error) {
				return loop.Answer{}, &loop.ModelError{Kind: c.kind, Status: 400, Message: "the server's words"}
			}
			if c.model != "" {
				b.cfg.Models[plan.Explore] = c.model
			}
			if c.full {
				b.cfg.Compaction = loop.CompactFull
			}
			b.cfg.Provider = c.provider
			brief := briefFor(plan.Explore, 1)
			if c.worked {
				brief.Spent.Requests = 1
			}
			out, err := b.run(brief)
			b.balanced()
			text := hint(err)
			if out.Park != nil {
				text = out.Park.Detail
				if !strings.HasPrefix(text, "the model server answered 400: the server's words") || (out.Park.WakeAt != nil) != c.wakes {
					t.Errorf("parked %+v", out.Park)
				}
			}
			switch {
			case c.park == "" && (err == nil || out.Park != nil),
				c.park != "" && (err != nil || out.Park == nil || out.Park.Reason != c.park):
				t.Fatalf("%+v, %v", out.Park, err)
			case c.full && strings.Contains(text, "--compaction"):
				t.Errorf("advises %q", text)
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("says %q, without %q", text, want)
				}
			}
			if me := new(loop.ModelError); c.park == "" && !errors.As(err, &me) {
				t.Errorf("the cause of %v is gone", err)
			}
		})
	}
}

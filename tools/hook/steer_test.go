package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/hook"
)

// steering is what loop hooks of one command are tried with.
type steering struct {
	loop.Hooks
	ran []plan.HookRan // what a scope recorded
}

// steer makes the loop hooks of one command at a moment.
func steer(t *testing.T, event, command string) *steering {
	t.Helper()
	s := &steering{}
	s.Hooks = runner(t, hook.Hook{Event: event, Command: command}).Loop(hook.Scope{
		Phase: plan.Implement,
		Conv:  "c1",
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				s.ran = append(s.ran, ev.Body.(plan.HookRan))
			}
			return nil
		},
		Model: func(own, wanted string) (string, error) {
			if wanted == "elsewhere" {
				return "", fmt.Errorf("%s is not at the server of %s", wanted, own)
			}
			return strings.TrimPrefix(wanted, "@"), nil
		},
	})
	return s
}

// ranAs is what a hook came to, without what differs from run to run.
func ranAs(t *testing.T, bodies ...plan.Body) []plan.HookRan {
	t.Helper()
	var out []plan.HookRan
	for _, b := range bodies {
		ran, ok := b.(plan.HookRan)
		if !ok {
			t.Fatalf("%T was recorded", b)
		}
		out = append(out, plan.HookRan{Action: ran.Action, Change: ran.Change})
	}
	return out
}

// TestAResultIsReadAsItsHookLeavesIt: replaced, or kept back where the hook is against
// it or could not look.
func TestAResultIsReadAsItsHookLeavesIt(t *testing.T) {
	t.Parallel()
	replaced := &plan.HookChange{What: "result", From: "key «secret» here", To: "no key here"}
	for _, c := range []struct {
		name, command string
		output        string
		error, full   bool
		ran           plan.HookRan
	}{
		{"passed", "true", "key hunter2 here", false, true, plan.HookRan{Action: "passed"}},
		{
			"replaced", `echo '{"output": "no key here"}'`, "no key here", false, false,
			plan.HookRan{Action: "changed", Change: replaced},
		},
		{"emptied", `echo '{"output": ""}'`, "", false, false, plan.HookRan{
			Action: "changed", Change: &plan.HookChange{What: "result", From: "key «secret» here"},
		}},
		{
			"kept back", "echo a key is in it; exit 2", "A hook keeps back what read came to: a key is in it", true, false,
			plan.HookRan{Action: "blocked"},
		},
		{
			"not looked at", `echo '{"output": '`,
			"A hook keeps back what read came to: the hook \"echo '{\\\"output\\\": '\" could not decide: its answer is no " +
				"JSON that can be read: unexpected end of JSON input", true, false,
			plan.HookRan{Action: "blocked"},
		},
		{
			"looked at whole", `grep -q '"full":"all of it"' && echo '{"output": "seen"}'`, "seen", false, false,
			plan.HookRan{Action: "changed", Change: &plan.HookChange{What: "result", From: "key «secret» here", To: "seen"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := steer(t, "result", c.command)
			res := s.AfterTool(
				context.Background(),
				loop.ToolCall{ID: "k1", Info: loop.Info{Spec: loop.Spec{Name: "read"}}, Args: json.RawMessage(`{}`)},
				loop.Result{Output: "key hunter2 here", Full: []byte("all of it")},
			)
			if res.Output != c.output || res.Error != c.error || (res.Full != nil) != c.full {
				t.Errorf("%+v", res)
			}
			if diff := cmp.Diff([]plan.HookRan{c.ran}, ranAs(t, res.Record...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAHookReopensAPhase: by its word or its exit status, also where it could not run,
// and not for ever.
func TestAHookReopensAPhase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, command string
		last          bool
		why           string // in it
		action        string
	}{
		{"fine", `grep -q '"event":"phase_end".*"text":"It is done.","reopened":0'`, false, "", "passed"},
		{"by its word", `echo '{"reopen": "write hunter2 tests"}'`, false, "\n\nwrite «secret» tests\n\n", "reopened"},
		{"by its status", "echo no tests >&2; exit 2", false, "\n\nno tests\n\n", "reopened"},
		{"not run", `echo '{"reopen": '`, false, "could not decide", "reopened"},
		{"not again", "echo no tests >&2; exit 2", true, "", "failed"},
		{"not again by its word", `echo '{"reopen": "x"}'`, true, "", "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := steer(t, "phase_end", c.command).Done(context.Background(), loop.Closing{Text: "It is done.", Last: c.last})
			if (o.Why == "") != (c.why == "") || !strings.Contains(o.Why, c.why) {
				t.Errorf("it says %q", o.Why)
			}
			if ran := ranAs(t, o.Record...); len(ran) != 1 || ran[0].Action != c.action {
				t.Errorf("%+v", ran)
			}
		})
	}
}

// TestAHookNamesTheModelOfATurn: of that turn alone, and only one that can be had.
func TestAHookNamesTheModelOfATurn(t *testing.T) {
	t.Parallel()
	s := steer(t, "turn_model", `
		case $(cat) in *'"turn":1,'*) echo '{"model": "@strong"}';;
		*'"turn":2,'*) echo '{"model": "elsewhere"}';; esac`)
	next := loop.Next{Model: "own"}
	var models []string
	for turn := range 4 {
		next = s.PrepareTurn(context.Background(), turn, next)
		models = append(models, next.Model)
	}
	if diff := cmp.Diff([]string{"own", "strong", "own", "own"}, models); diff != "" {
		t.Error(diff)
	}
	want := []plan.HookRan{
		{Action: "passed"},
		{Action: "changed", Change: &plan.HookChange{What: "model", From: "own", To: "strong"}},
		{Action: "failed"},
		{Action: "passed"},
	}
	var bodies []plan.Body
	for _, ran := range s.ran {
		bodies = append(bodies, ran)
	}
	if diff := cmp.Diff(want, ranAs(t, bodies...)); diff != "" {
		t.Error(diff)
	}
}

// TestAHookJudgesRequestsAndSeesTurns: it knows whose request it is, and what a turn used.
func TestAHookJudgesRequestsAndSeesTurns(t *testing.T) {
	t.Parallel()
	s := steer(t, "request", `grep -q '"request":{"for":"turn","parent":"c1","model":"m",'`+
		`'"messages":2,"tools":0,"tokens":7}' && exit 0; echo not these; exit 1`)
	out := loop.Outgoing{
		Conv:   "c1.0.0",
		Parent: "c1",
		For:    "turn",
		Tokens: 7,
		Call:   loop.Call{Model: "m", Messages: make([]plan.Message, 2)},
	}
	if o := s.BeforeRequest(context.Background(), out); o.Why != "" || ranAs(t, o.Record...)[0].Action != "passed" {
		t.Errorf("%+v", o)
	}
	out.For = "compact"
	if o := s.BeforeRequest(context.Background(), out); o.Why != "not these" || ranAs(t, o.Record...)[0].Action != "blocked" {
		t.Errorf("%+v", o)
	}
	seen := filepath.Join(t.TempDir(), "seen")
	s = steer(t, "turn_end", "cat > "+seen)
	s.TurnEnd(context.Background(), loop.Turned{Turn: 3, Reason: "completed", Usage: plan.Usage{Input: 5}, CostUSD: 0.25})
	data, err := os.ReadFile(seen)
	if err != nil || !strings.Contains(string(data), `"turn":3,`) || !strings.Contains(string(data), `"input":5`) ||
		!strings.Contains(string(data), `"cost_usd":0.25`) || !strings.Contains(string(data), `"ended":"completed"`) {
		t.Errorf("%s, %v", data, err)
	}
	if len(s.ran) != 1 || s.ran[0].Action != "passed" {
		t.Errorf("%+v", s.ran)
	}
}

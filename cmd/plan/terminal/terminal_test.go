package terminal

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
)

// typing is a terminal on which these lines are typed.
func typing(lines []string) io.Reader {
	if len(lines) == 0 {
		return strings.NewReader("")
	}
	return strings.NewReader(strings.Join(lines, "\n") + "\n")
}

// TestAskAboutPlan: what a person types, and what becomes of it. Nothing but a
// clear word approves.
func TestAskAboutPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	editor := filepath.Join(dir, "my editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho 'edited '$1 >> \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	letter := func(kind host.Kind, l host.Letter) host.Letter {
		l.Kind = kind
		l.Call = "plan-3"
		l.Digest = "d"
		return l
	}
	for name, c := range map[string]struct {
		typed  []string
		visual string
		kind   host.Kind
		want   host.Letter
		ok     bool
		says   string
	}{
		"yes":               {[]string{"y"}, "", host.Approve, host.Letter{}, true, "# Plan"},
		"yes, with a word":  {[]string{"yes as discussed"}, "", host.Approve, host.Letter{Text: "as discussed"}, true, ""},
		"sent back":         {[]string{"n keep the name"}, "", host.Deny, host.Letter{Text: "keep the name"}, true, ""},
		"no, then why":      {[]string{"n", "no smaller"}, "", host.Deny, host.Letter{Text: "smaller"}, true, "n REASON"},
		"reject":            {[]string{"reject no"}, "", host.Deny, host.Letter{Text: "no", Reject: true}, true, ""},
		"r is no reject":    {[]string{"r", "n smaller"}, "", host.Deny, host.Letter{Text: "smaller"}, true, `"r" is no answer`},
		"a is no approve":   {[]string{"a", ""}, "", "", host.Letter{}, false, `"a" is no answer`},
		"always is none":    {[]string{"always", ""}, "", "", host.Letter{}, false, "is no answer"},
		"edit":              {[]string{"e"}, `"` + editor + `" well`, host.Approve, host.Letter{Plan: "# Plan\nedited well"}, true, ""},
		"edit nothing":      {[]string{"edit", "y"}, "true", host.Approve, host.Letter{}, true, "as it was"},
		"edit, and fail":    {[]string{"e", ""}, "false", "", host.Letter{}, false, "the editor \"false\" failed"},
		"no editor":         {[]string{"e", ""}, "", "", host.Letter{}, false, "no editor is set"},
		"later":             {[]string{""}, "", "", host.Letter{}, false, ""},
		"the terminal ends": {nil, "", "", host.Letter{}, false, ""},
		"nonsense":          {[]string{"maybe", "approved?", ""}, "", "", host.Letter{}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			terminal := Terminal{
				In:      typing(c.typed),
				Out:     &out,
				Err:     &out,
				Environ: func(context.Context) []string { return []string{"PATH=" + os.Getenv("PATH"), "VISUAL=" + c.visual} },
			}
			l, ok := terminal.askAboutPlan(context.Background(), plan.WaitingCall{
				Call:   "plan-3",
				Digest: "d",
			}, &plan.PlanDoc{Version: 3, Text: "# Plan\x1b[2J"})
			if c.want.Plan != "" {
				l.Plan = strings.ReplaceAll(l.Plan, "\x1b[2J", "")
			}
			if diff := cmp.Diff(letter(c.kind, c.want), l, cmpopts.IgnoreUnexported(host.Letter{})); ok != c.ok || (ok && diff != "") {
				t.Errorf("%v: %s", ok, diff)
			}
			if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("the person reads %q", out.String())
			}
		})
	}
}

// Nothing but a clear yes lets hooks of the work tree run, and the question names them.
func TestAskHooks(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]bool{
		"y": true, "YES": true, "": false, "n": false, "yes please": false, "all": false,
	} {
		var out bytes.Buffer
		terminal := Terminal{
			In:  typing([]string{typed}),
			Out: &out,
			Err: &out,
		}
		if got := terminal.AskHooks(t.Context(), "/r/.husky\x1b[2J"); got != want {
			t.Errorf("%q: %v", typed, got)
		}
		if !strings.Contains(out.String(), "/r/.husky") || strings.Contains(out.String(), "\x1b") {
			t.Errorf("the person reads %q", out.String())
		}
	}
	if (Terminal{In: typing(nil), Out: io.Discard, Err: io.Discard}).AskHooks(t.Context(), "/r") {
		t.Error("the end of the input is a yes")
	}
}

func TestWhatAPersonAnswers(t *testing.T) {
	t.Parallel()
	push := plan.WaitingCall{
		Call:   "k1",
		Name:   "bash",
		Why:    "it sends work to others",
		Effect: "in /r\n$ git push \x1b[2J",
		Grant:  plan.Grant{Tool: "bash", Command: "git push"},
		Digest: "d",
	}
	alone := push
	alone.Grant = plan.Grant{}
	for _, c := range []struct {
		call   plan.WaitingCall
		says   string
		ok     bool
		kind   host.Kind
		letter host.Letter
	}{
		{push, "y\n", true, host.Approve, host.Letter{Call: "k1"}},
		{push, "YES do\n", true, host.Approve, host.Letter{Call: "k1", Text: "do"}},
		{push, "r\n", true, host.Approve, host.Letter{Call: "k1", Scope: plan.ScopeRun}},
		{push, "always\n", true, host.Approve, host.Letter{
			Call:  "k1",
			Scope: plan.ScopeAlways,
		}},
		{push, "a\n", false, "", host.Letter{Call: "k1"}},
		{push, "a\ny\n", true, host.Approve, host.Letter{Call: "k1"}},
		{push, "run\nreject\n", false, "", host.Letter{Call: "k1"}},
		{push, "n use another branch\n", true, host.Deny, host.Letter{Call: "k1", Text: "use another branch"}},
		{push, "no", true, host.Deny, host.Letter{Call: "k1"}},
		{push, "\n", false, "", host.Letter{Call: "k1"}},
		{push, "", false, "", host.Letter{Call: "k1"}},
		{push, "yeah sure\n", false, "", host.Letter{Call: "k1", Text: "sure"}},
		{alone, "r\nalways\n", false, "", host.Letter{Call: "k1"}},
		{alone, "y\n", true, host.Approve, host.Letter{Call: "k1"}},
	} {
		var out, errs bytes.Buffer
		terminal := Terminal{
			In:  strings.NewReader(c.says),
			Out: &out,
			Err: &errs,
		}
		letter, ok := terminal.ask(context.Background(), c.call, nil)
		c.letter.Kind = c.kind
		c.letter.Digest = "d"
		if ok != c.ok || (ok && letter != c.letter) {
			t.Errorf("%q: %+v %v", c.says, letter, ok)
		}
		if s := out.String(); !strings.Contains(s, "  $ git push") || !strings.Contains(s, "because: it sends work to others") ||
			strings.Contains(s, "\x1b") {
			t.Errorf("the prompt is %q", s)
		}
		if strings.Contains(out.String(), "r for this run") != (c.call.Grant != plan.Grant{}) {
			t.Errorf("the prompt is %q", out.String())
		}
	}
}

func TestAGateThatIsAbortedDecidesNothing(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe() // no process writes
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	terminal := Terminal{
		In:  r,
		Out: &bytes.Buffer{},
		Err: &bytes.Buffer{},
	}
	if letter, ok := terminal.ask(ctx, plan.WaitingCall{Call: "k1", Name: "bash"}, nil); ok {
		t.Errorf("%+v", letter)
	}
}

// chosen is what a person chose about a changed tree.
type chosen struct {
	on     engine.OnDrift
	replan string
}

// TestAskDrift: only a clear word goes on; a closed terminal never does.
func TestAskDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string
		state plan.State
		again bool
		want  chosen
	}{
		{"y\n", plan.Implementing, true, chosen{engine.DriftGoesOn, ""}},
		{"replan\n", plan.Implementing, true, chosen{engine.DriftReplans, host.DefaultReplanReason}},
		{"replan use  maps\n", plan.Reviewing, true, chosen{engine.DriftReplans, "use  maps"}},
		{"replan\n", plan.Exploring, false, chosen{}},
		{"r\n", plan.Implementing, false, chosen{}},
		{"what\ny\n", plan.Implementing, true, chosen{engine.DriftGoesOn, ""}},
		{"\n", plan.Implementing, false, chosen{}},
		{"c\n", plan.Implementing, false, chosen{}},
		{"", plan.Implementing, false, chosen{}},
	} {
		t.Run(c.typed, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			terminal := Terminal{In: strings.NewReader(c.typed), Out: &out}
			end := engine.End{
				State: c.state,
				Parked: &plan.Parked{
					Reason: plan.ParkDrift,
					Drift:  &plan.Drift{Files: []string{"a\x1b[2J.go"}, Total: 1},
				},
			}
			on, reason, again := terminal.askDrift(context.Background(), end)
			if got := (chosen{on, reason}); again != c.again || got != c.want {
				t.Errorf("again=%t with %+v", again, got)
			}
			if !strings.Contains(out.String(), "1 file") || strings.Contains(out.String(), "\x1b") {
				t.Errorf("the person reads %q", out.String())
			}
		})
	}
}

// TestAQuestionIsOfferedAnAnswer takes nothing but a clear yes for one.
func TestAQuestionIsOfferedAnAnswer(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]bool{"y\n": true, "YES\n": true, "\n": false, "n\n": false, "yo\n": false, "": false} {
		var out strings.Builder
		terminal := Terminal{In: strings.NewReader(typed), Out: &out}
		if got := terminal.WantsAnswer(t.Context()); got != want || !strings.Contains(out.String(), "change nothing") {
			t.Errorf("%q: %t, after %q", typed, got, out.String())
		}
	}
}

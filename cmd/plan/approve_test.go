package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

func TestWhatAPersonAnswers(t *testing.T) {
	t.Parallel()
	push := plan.WaitingCall{
		Call: "k1", Name: "bash", Why: "it sends work to others", Effect: "in /r\n$ git push \x1b[2J",
		Grant: plan.Grant{Tool: "bash", Command: "git push"},
	}
	alone := push
	alone.Grant = plan.Grant{}
	for _, c := range []struct {
		call   plan.WaitingCall
		says   string
		ok     bool
		kind   loop.LetterKind
		letter letterText
		writes string
	}{
		{push, "y\n", true, loop.Approve, letterText{Call: "k1"}, ""},
		{push, "YES do\n", true, loop.Approve, letterText{Call: "k1", Text: "do"}, ""},
		{push, "r\n", true, loop.Approve, letterText{Call: "k1", Scope: plan.ScopeRun}, ""},
		{push, "a\n", true, loop.Approve, letterText{Call: "k1", Scope: plan.ScopeAlways}, "[[permission]]\ntool = 'bash'\ncommand = 'git push'\naction = 'allow'\n"},
		{push, "n use another branch\n", true, loop.Deny, letterText{Call: "k1", Text: "use another branch"}, ""},
		{push, "no", true, loop.Deny, letterText{Call: "k1"}, ""},
		{push, "\n", false, "", letterText{Call: "k1"}, ""},
		{push, "", false, "", letterText{Call: "k1"}, ""},
		{push, "yeah sure\n", false, "", letterText{Call: "k1", Text: "sure"}, ""},
		{alone, "a\n", false, "", letterText{Call: "k1"}, ""},
		{alone, "y\n", true, loop.Approve, letterText{Call: "k1"}, ""},
	} {
		home := t.TempDir()
		var out, errs bytes.Buffer
		a := &app{in: strings.NewReader(c.says), out: &out, err: &errs, environ: []string{"PLAN_HOME=" + home}}
		kind, letter, ok := a.askPerson(context.Background(), c.call, nil)
		if ok != c.ok || (ok && (kind != c.kind || letter != c.letter)) {
			t.Errorf("%q: %q %+v %v", c.says, kind, letter, ok)
		}
		if got, _ := os.ReadFile(filepath.Join(home, "config.toml")); string(got) != c.writes {
			t.Errorf("%q writes %q", c.says, got)
		}
		if s := out.String(); !strings.Contains(s, "  $ git push") || !strings.Contains(s, "because: it sends work to others") || strings.Contains(s, "\x1b") {
			t.Errorf("the prompt is %q", s)
		}
		if strings.Contains(out.String(), "r for this run") != (c.call.Grant != plan.Grant{}) {
			t.Errorf("the prompt is %q", out.String())
		}
	}
}

func TestAGateThatIsAbortedDecidesNothing(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe() // nobody writes
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := &app{in: r, out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	if kind, letter, ok := a.askPerson(ctx, plan.WaitingCall{Call: "k1", Name: "bash"}, nil); ok {
		t.Errorf("%q %+v", kind, letter)
	}
}

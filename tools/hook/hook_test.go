package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/hook"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

func runner(t *testing.T, hooks ...hook.Hook) *hook.Runner {
	t.Helper()
	r, err := hook.New(hook.Config{
		Hooks: hooks, Dir: t.TempDir(), Env: append(os.Environ(), "OPENAI_API_KEY=sk-very-secret", "PLAN_HOME=/h"),
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "«secret»") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func one(t *testing.T, h hook.Hook, in hook.Input) hook.Report {
	t.Helper()
	in.Event = h.Event
	reports := runner(t, h).Each(context.Background(), in, nil)
	if len(reports) != 1 {
		t.Fatalf("%d hooks ran", len(reports))
	}
	return reports[0]
}

func TestAHook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, command string
		code          int
		output        string // in it
		err           string // in it
		args, context string
	}{
		{name: "passes", command: "true"},
		{name: "fails with its reason", command: "echo no; echo because >&2; exit 3", code: 3, output: "no\nbecause"},
		{name: "reads what happens", command: `read line; case $line in *'"tool":"bash"'*'"args":{"command":"ls"}'*) exit 0;; esac; echo "$line"; exit 1`},
		{name: "changes the arguments", command: `echo '{"args": {"command": "ls -l"}}'`, args: `{"command": "ls -l"}`},
		{name: "adds something", command: `echo '{"context": "mind hunter2"}'`, context: "mind «secret»"},
		{name: "gives a reason", command: `echo '{"reason": "not on a Friday"}'; exit 1`, code: 1, output: "not on a Friday"},
		{name: "changes nothing when it fails", command: `echo '{"args": {"command": "x"}}'; exit 1`, code: 1},
		{name: "prints no JSON", command: `echo '{"args": '`, err: "no JSON"},
		{name: "knows no keys", command: `echo "key ${OPENAI_API_KEY-none} home ${PLAN_HOME-none}"; exit 1`, code: 1, output: "key none home none"},
		{name: "prints a secret", command: `echo hunter2; exit 1`, code: 1, output: "«secret»"},
		{name: "reads nothing", command: "exec 0<&-; exit 0"},
		{name: "cannot be found", command: "there-is-no-such-program", code: 127, output: "not found"},
		{name: "kills itself", command: "kill -9 $$", code: -1},
		{name: "leaves something behind", command: "sleep 600 & exit 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rep := one(t, hook.Hook{Event: hook.PreToolUse, Command: c.command}, hook.Input{Tool: "bash", Args: json.RawMessage(`{"command":"ls"}`), Prompt: strings.Repeat("x", 200_000)})
			if c.err == "" && rep.Err != nil || c.err != "" && (rep.Err == nil || !strings.Contains(rep.Err.Error(), c.err)) {
				t.Errorf("error is %v", rep.Err)
			}
			if rep.ExitCode != c.code || !strings.Contains(rep.Output, c.output) || string(rep.Args) != c.args || rep.Context != c.context {
				t.Errorf("%+v", rep)
			}
			if rep.OK() != (c.code == 0 && c.err == "") {
				t.Errorf("OK is %v", rep.OK())
			}
		})
	}
}

func TestATimeoutKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	rep := one(t, hook.Hook{Event: hook.PreToolUse, Command: "sleep 600 & echo $! > " + file + "; sleep 600", Timeout: 300 * time.Millisecond}, hook.Input{})
	if rep.Err == nil || !strings.Contains(rep.Err.Error(), "killed after 300ms") || rep.OK() {
		t.Errorf("%+v", rep)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := json.Unmarshal([]byte(strings.TrimSpace(string(data))), &pid); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(pid, 0) == nil && !zombie(pid) {
		select {
		case <-deadline:
			t.Fatal("the child lives on")
		case <-tick.C:
		}
	}
}

// zombie reports whether a process is dead and only waits for its parent.
func zombie(pid int) bool {
	data, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(mustJSON(pid))), "stat"))
	return err == nil && strings.Contains(string(data), ") Z ")
}

func mustJSON(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	rep := one(t, hook.Hook{Event: hook.PreToolUse, Command: "head -c 5000000 /dev/zero | tr '\\0' a; exit 1"}, hook.Input{})
	if rep.ExitCode != 1 || len(rep.Output) > 5000 {
		t.Errorf("exit %d, %d bytes", rep.ExitCode, len(rep.Output))
	}
}

func TestMatching(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, path string
		in         hook.Input
		runs       bool
	}{
		{"", "", hook.Input{Tool: "x"}, true},
		{"write", "", hook.Input{Tool: "edit"}, false},
		{"{write,edit}", "", hook.Input{Tool: "edit"}, true},
		{"", "*.go", hook.Input{Tool: "edit", Paths: []string{"a/b.go"}}, true},
		{"", "src/**", hook.Input{Tool: "edit", Paths: []string{"b.go", "src/x/y"}}, true},
		{"", "src/**", hook.Input{Tool: "bash"}, false},
	} {
		c.in.Event = hook.PreToolUse
		r := runner(t, hook.Hook{Event: hook.PreToolUse, Tool: c.tool, Path: c.path, Command: "true"}, hook.Hook{Event: hook.Verdict, Command: "false"})
		if got := len(r.Each(context.Background(), c.in, nil)) == 1; got != c.runs {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestAHookThatIsNotTrustedAnyMoreDoesNotRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ran")
	changed := hook.Hook{
		Event:   hook.PreToolUse,
		Command: "touch " + file,
		Check:   func() (hook.Recheck, error) { return nil, errors.New("it has changed") },
	}
	rep := one(t, changed, hook.Input{})
	if rep.OK() || rep.Err == nil {
		t.Errorf("%+v", rep)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it ran")
	}
}

func call(args string) loop.ToolCall {
	return loop.ToolCall{ID: "k1", Info: loop.Info{Spec: loop.Spec{Name: "bash"}}, Args: json.RawMessage(args)}
}

func TestBeforeAndAfterATool(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pre := func(command string) hook.Hook { return hook.Hook{Event: hook.PreToolUse, Command: command} }
	for _, c := range []struct {
		name  string
		hooks []hook.Hook
		want  loop.Decision
		ran   string
	}{
		{"passes", []hook.Hook{pre("true"), pre("true")}, loop.Decision{Verb: loop.Pass}, "passed passed"},
		{"the first block counts", []hook.Hook{pre("echo no; false"), pre("true")}, loop.Decision{Verb: loop.Block, Reason: "no"}, "blocked"},
		{"a change and then a block", []hook.Hook{pre(`echo '{"args":{"n":1}}'`), pre("echo no; false")}, loop.Decision{Verb: loop.Block, Reason: "no"}, "changed blocked"},
		{"one sees what the other changed", []hook.Hook{pre(`echo '{"args":{"n":1}}'`), pre(`grep -q '"args":{"n":1}' && echo '{"args":{"n":2}}'`)}, loop.Decision{Verb: loop.Change, Args: json.RawMessage(`{"n":2}`)}, "changed changed"},
		{"closed when it cannot decide", []hook.Hook{{Event: hook.PreToolUse, Command: "sleep 60", Timeout: 50 * time.Millisecond}}, loop.Decision{Verb: loop.Block}, "blocked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := runner(t, c.hooks...).Loop(hook.Scope{}).BeforeTool(ctx, call(`{}`))
			var ran []string
			for _, b := range d.Record {
				ran = append(ran, b.(plan.HookRan).Action)
			}
			if d.Verb != c.want.Verb || string(d.Args) != string(c.want.Args) || (c.want.Reason != "" && d.Reason != c.want.Reason) || strings.Join(ran, " ") != c.ran {
				t.Errorf("%+v", d)
			}
		})
	}
	after := runner(t, hook.Hook{Event: hook.PostToolUse, Command: "exit 1"}, hook.Hook{Event: hook.PostToolUse, Command: `grep -q '"output":"out"' && echo '{"context":"well done"}'`})
	res := after.Loop(hook.Scope{}).AfterTool(ctx, call(`{}`), loop.Result{Output: "out"})
	if res.Output != "out\n[a hook says: well done]" || res.Error || len(res.Record) != 2 || res.Record[0].(plan.HookRan).Action != "failed" {
		t.Errorf("%+v", res)
	}
}

func TestTurnsPromptsAndCompactions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var events []plan.HookRan
	scope := hook.Scope{
		Run: "R", Phase: plan.Implement, Conv: "c",
		Emit: func(_ context.Context, evs ...plan.Event) error {
			for _, ev := range evs {
				events = append(events, ev.Body.(plan.HookRan))
			}
			return nil
		},
	}
	slow := 50 * time.Millisecond
	for _, c := range []struct {
		hook   hook.Hook
		passes bool
		action string
	}{
		{hook.Hook{Event: hook.TurnStart, Command: `grep -q '"phase":"implement","conv":"c","turn":0'`}, true, "passed"},
		{hook.Hook{Event: hook.TurnStart, Command: "echo enough; exit 1"}, false, "blocked"},
		{hook.Hook{Event: hook.TurnStart, Command: "sleep 60", Timeout: slow}, false, "blocked"},
		{hook.Hook{Event: hook.PreCompact, Command: `grep -q '"tokens":7'`}, true, "passed"},
		{hook.Hook{Event: hook.PreCompact, Command: "exit 1"}, false, "blocked"},
		{hook.Hook{Event: hook.PreCompact, Command: "sleep 60", Timeout: slow}, true, "failed"},
		{hook.Hook{Event: hook.PrePrompt, Command: `grep -q '"prompt":"hello"'`}, true, "passed"},
		{hook.Hook{Event: hook.PrePrompt, Command: "exit 1"}, false, "blocked"},
		{hook.Hook{Event: hook.PrePrompt, Command: "sleep 60", Timeout: slow}, false, "blocked"},
	} {
		events = nil
		r := runner(t, c.hook)
		h, passed := r.Loop(scope), false
		switch {
		case h.TurnStart != nil:
			passed = h.TurnStart(ctx, 0) == ""
		case h.BeforeCompaction != nil:
			passed = h.BeforeCompaction(ctx, 7)
		default:
			passed = r.Filters(scope)[0](ctx, "hello").Reject == ""
		}
		if passed != c.passes || len(events) != 1 || events[0].Action != c.action {
			t.Errorf("%s %q: passed %v, %+v", c.hook.Event, c.hook.Command, passed, events)
		}
	}
	said := runner(t, hook.Hook{Event: hook.PrePrompt, Command: `echo '{"context":"it is Friday"}'`}).Filters(scope)[0](ctx, "hello")
	if said.Warn != "it is Friday" || said.Reject != "" {
		t.Errorf("%+v", said)
	}
	scope.Emit = func(context.Context, ...plan.Event) error { return errors.New("disk full") }
	if runner(t, hook.Hook{Event: hook.TurnStart, Command: "true"}).Loop(scope).TurnStart(ctx, 0) == "" {
		t.Error("a turn begins that could not be recorded")
	}
}

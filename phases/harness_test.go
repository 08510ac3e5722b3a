package phases_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is phases over a real tree, with the scripted model behind the real
// client and the events of every conversation kept as a journal keeps them.
type bench struct {
	t      testing.TB
	root   string
	empty  string // stands for the tree without the change
	server *scripted.Server
	cfg    phases.Config

	mu        sync.Mutex
	brief     plan.Brief // of the phase that runs
	commits   [][]plan.Event
	seq       int64
	views     []string
	tried     []string // lines that were run to weigh a verdict, with the tree
	discarded int
	left      error          // what discarding a view comes to
	earlier   *plan.PlanDoc  // that Plan is told of
	process   *phases.Phases // that goes on; nil: each run is in a new one
}

func setup(t testing.TB, scenario string, files map[string]string) *bench {
	t.Helper()
	s, err := scripted.Parse([]byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: t.TempDir(), empty: t.TempDir()}
	for name, text := range files {
		b.write(name, text)
	}
	if b.server, err = scripted.Start(context.Background(), s, scripted.Config{}); err != nil {
		t.Fatal(err)
	}
	client, err := chat.New(chat.Config{Config: wire.Config{
		BaseURL: b.server.URL(),
		Key:     func(context.Context) (string, error) { return b.server.Key(), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := b.server.Close(); err != nil {
			t.Error(err)
		}
	})
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = phases.Config{
		Model: client, Models: map[plan.Phase]string{}, Kit: newKit(t, shell), Root: b.root,
		Room: b.room(shell), Hashes: b.hashes, Base: "base-commit", Try: b.try,
		Now:   func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	for _, p := range plan.Phases() {
		b.cfg.Models[p] = "model-" + string(p)
	}
	return b
}

func newKit(t testing.TB, shell *sandbox.Shell) phases.Kit {
	t.Helper()
	set, err := tools.New(tools.Config{Root: t.TempDir(), Shell: shell})
	if err != nil {
		t.Fatal(err)
	}
	offered, err := set.Tools(tools.Names()...)
	if err := errors.Join(err, set.Close()); err != nil {
		t.Fatal(err)
	}
	kit, err := phases.NewKit(offered, false)
	if err != nil {
		t.Fatal(err)
	}
	return kit
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// room copies the tree for a review.
func (b *bench) room(shell *sandbox.Shell) func(context.Context, plan.Phase, plan.Trees) (phases.Room, error) {
	return func(_ context.Context, p plan.Phase, _ plan.Trees) (phases.Room, error) {
		if p != plan.Review {
			return phases.Room{Dir: b.root, Shell: shell, Close: func() error { return nil }}, nil
		}
		dir := filepath.Join(b.t.TempDir(), "view")
		if err := os.CopyFS(dir, os.DirFS(b.root)); err != nil {
			return phases.Room{}, err
		}
		b.views = append(b.views, dir)
		return phases.Room{Dir: dir, Shell: shell, Close: func() error { b.discarded++; return errors.Join(os.RemoveAll(dir), b.left) }}, nil
	}
}

// try runs a line in the tree, or, in place of a counter tree, in an empty one.
func (b *bench) try(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error) {
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		return plan.CheckResult{}, nil, err
	}
	dir := b.root
	if t.On == plan.TreeCounter {
		dir = b.empty
	}
	b.mu.Lock()
	b.tried = append(b.tried, t.On+": "+t.Command)
	b.mu.Unlock()
	res, err := shell.Run(ctx, sandbox.Command{Line: t.Command, Dir: dir})
	return plan.CheckResult{ExitCode: res.ExitCode, Output: string(res.Output)}, nil, err
}

func (b *bench) hashes(_ context.Context, paths []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range paths {
		data, err := os.ReadFile(filepath.Join(b.root, p))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out[p] = ""
		case err != nil:
			return nil, err
		default:
			sum := sha256.Sum256(data)
			out[p] = hex.EncodeToString(sum[:])
		}
	}
	return out, nil
}

// emit does what the engine does with a phase's events.
func (b *bench) emit(_ context.Context, events ...plan.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if events[0].Live() {
		return nil
	}
	kept := make([]plan.Event, len(events))
	for i, ev := range events {
		b.seq++
		ev.Seq, ev.Run, ev.Phase, ev.Attempt = b.seq, b.brief.Run, b.brief.Phase, b.brief.Attempt
		kept[i] = stored(b.t, ev)
	}
	b.commits = append(b.commits, kept)
	return nil
}

// stored is an event as a later process reads it.
func stored(t testing.TB, ev plan.Event) plan.Event {
	line, err := ev.AppendJSON(nil)
	if err != nil {
		t.Error(err)
		return ev
	}
	var out plan.Event
	if err := json.Unmarshal(line, &out); err != nil {
		t.Error(err)
	}
	return out
}

func (b *bench) events() []plan.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Concat(b.commits...)
}

// briefFor is a brief with what every phase is told, and a conversation of its
// own for each attempt but Implement's.
func briefFor(p plan.Phase, attempt int) plan.Brief {
	conv := string(p)
	if p != plan.Implement {
		conv = fmt.Sprint(p, "-", attempt)
	}
	return plan.Brief{
		Run: "R1", Phase: p, Attempt: attempt, Conv: conv, Request: "the request",
		Plan:   &plan.PlanDoc{Version: 1, Text: "the plan"},
		Change: plan.Trees{Start: "start", Work: "work"},
	}
}

// run runs a phase in a new process that knows only the journal.
func (b *bench) run(brief plan.Brief) (plan.Outcome, error) {
	return b.runWith(context.Background(), brief)
}

func (b *bench) runWith(ctx context.Context, brief plan.Brief) (plan.Outcome, error) {
	b.t.Helper()
	ph := b.process
	if ph == nil {
		ph = b.start()
	}
	brief.Past = nil
	for _, ev := range b.events() {
		if ev.Conv == brief.Conv && ev.Attempt <= brief.Attempt {
			brief.Past = append(brief.Past, ev)
		}
	}
	if brief.Phase == plan.Explore || brief.Phase == plan.Plan {
		brief.Plan = b.earlier
	}
	b.brief = brief
	return ph.Run(ctx, brief, b.emit)
}

// start is a process that has run nothing.
func (b *bench) start() *phases.Phases {
	b.t.Helper()
	ph, err := phases.New(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return ph
}

// must is run for a phase that comes to its result.
func (b *bench) must(brief plan.Brief) plan.Outcome {
	b.t.Helper()
	out, err := b.run(brief)
	if err != nil {
		b.t.Fatal(err)
	}
	if out.Park != nil {
		b.t.Fatalf("%s parked: %+v", brief.Phase, out.Park)
	}
	return out
}

// message is one message of a request as it went over the wire.
type message struct {
	Role      string
	Content   any
	ToolCalls []any  `json:"tool_calls"`
	CallID    string `json:"tool_call_id"`
}

func (m message) text() string {
	switch c := m.Content.(type) {
	case string:
		return c
	case []any:
		var out strings.Builder
		for _, part := range c {
			if p, ok := part.(map[string]any); ok {
				fmt.Fprint(&out, p["text"])
			}
		}
		return out.String()
	}
	return ""
}

// request is one request as it went over the wire.
type request struct {
	phase, attempt, run string
	body                []byte
	raw                 map[string]json.RawMessage
	messages            []message
	rawMessages         []json.RawMessage
	tools               []json.RawMessage
}

func (r request) toolNames() []string {
	var out []string
	for _, raw := range r.tools {
		var tool struct{ Function struct{ Name string } }
		if json.Unmarshal(raw, &tool) == nil {
			out = append(out, tool.Function.Name)
		}
	}
	return out
}

// last is the last message.
func (r request) last() string { return string(r.rawMessages[len(r.rawMessages)-1]) }

// users are the texts of the user messages.
func (r request) users() []string {
	var out []string
	for _, m := range r.messages {
		if m.Role == "user" {
			out = append(out, m.text())
		}
	}
	return out
}

func (b *bench) requests() []request {
	b.t.Helper()
	var out []request
	for _, seen := range b.server.Requests() {
		r := request{
			phase: seen.Header.Get("X-Plan-Phase"), attempt: seen.Header.Get("X-Plan-Attempt"), run: seen.Header.Get("X-Plan-Run"),
			body: seen.Body,
		}
		if err := errors.Join(json.Unmarshal(seen.Body, &r.raw), json.Unmarshal(r.raw["messages"], &r.messages),
			json.Unmarshal(r.raw["messages"], &r.rawMessages)); err != nil {
			b.t.Fatal(err)
		}
		if r.raw["tools"] != nil {
			if err := json.Unmarshal(r.raw["tools"], &r.tools); err != nil {
				b.t.Fatal(err)
			}
		}
		out = append(out, r)
	}
	return out
}

// of are the requests of one phase attempt.
func (b *bench) of(p plan.Phase, attempt int) []request {
	b.t.Helper()
	var out []request
	for _, r := range b.requests() {
		if r.phase == string(p) && r.attempt == fmt.Sprint(attempt) {
			out = append(out, r)
		}
	}
	return out
}

// toolEnds are the results of tools, in order.
func (b *bench) toolEnds() []plan.ToolEnd {
	var out []plan.ToolEnd
	for _, ev := range b.events() {
		if end, ok := ev.Body.(plan.ToolEnd); ok {
			out = append(out, end)
		}
	}
	return out
}

// balanced fails the test unless everything that was started ended once.
func (b *bench) balanced() {
	b.t.Helper()
	open := map[string]int{}
	for _, ev := range b.events() {
		switch body := ev.Body.(type) {
		case plan.TurnStart:
			open["turn "+ev.Conv]++
		case plan.TurnEnd:
			open["turn "+ev.Conv]--
		case plan.MessageStart:
			open["message "+ev.Conv+string(body.Role)]++
		case plan.MessageEnd:
			open["message "+ev.Conv+string(body.Role)]--
		case plan.ToolStart:
			open["tool "+ev.Conv+body.Call]++
		case plan.ToolEnd:
			open["tool "+ev.Conv+body.Call]--
		}
		for key, n := range open {
			if n < 0 || n > 1 {
				b.t.Fatalf("%s is open %d times after event %d", key, n, ev.Seq)
			}
		}
	}
	for key, n := range open {
		if n != 0 {
			b.t.Errorf("%s never ends", key)
		}
	}
}

// hint is the advice that comes with an error.
func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

var _ loop.Model = (*wire.Client)(nil)

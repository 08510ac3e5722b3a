package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/memory"
)

// sampledChecks is how many plots of a run a property is tried with where samples
// are played; make soak tries each with all that the library draws.
const sampledChecks = "30"

func TestMain(m *testing.M) {
	if !sampling.All() {
		if err := flag.Set("rapid.checks", sampledChecks); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

var errDisk = errors.New("no space left on device")

// journal is a run's journal in a real database, which can be made to fail.
type journal struct {
	db     *memory.DB
	writer *memory.Writer
	run    plan.RunID

	appends int
	fail    func(append int, events []plan.Event) (stored bool, err error)
	reading error
}

func (j *journal) Append(ctx context.Context, events ...plan.Event) ([]plan.Event, error) {
	j.appends++
	stored, err := false, ctx.Err() // what has happened is recorded also while a run is being stopped
	if err == nil && j.fail != nil {
		stored, err = j.fail(j.appends, events)
	}
	if err != nil && !stored {
		return nil, err
	}
	out, werr := j.writer.Append(ctx, events...)
	if werr != nil || err != nil {
		return nil, errors.Join(werr, err)
	}
	return out, nil
}

func (j *journal) Conversation(ctx context.Context, conv string) ([]plan.Event, error) {
	if err := errors.Join(j.reading, ctx.Err()); err != nil {
		return nil, err
	}
	return collect(j.db.Events(ctx, j.run, memory.Query{Conv: conv}))
}

func collect(seq func(func(plan.Event, error) bool)) ([]plan.Event, error) {
	var out []plan.Event
	for ev, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	return out, nil
}

// crew plays the phases. Every attempt is a conversation of one turn with one
// tool call, in three commits, and goes on where its journal ends.
type crew struct {
	outcome func(plan.Brief) plan.Outcome
	// during is called while the model is asked; what it returns stops the
	// phase, whose events are balanced then, as the loop would do it.
	during func(ctx context.Context, b plan.Brief) (*plan.Parked, error)
	// tool names what an attempt calls; nil: it is a tool that means nothing here.
	tool func(plan.Brief) string

	mu      sync.Mutex
	briefs  []plan.Brief
	effects int // tools that ran
}

func (c *crew) Describe(p plan.Phase) plan.PhaseStart {
	return plan.PhaseStart{Model: "model-" + string(p), Tools: []string{"tool"}}
}

// standing says how far a conversation's attempt has come.
type standing struct{ said, asked, answered, done bool }

func standingOf(b plan.Brief) (s standing) {
	for _, ev := range b.Past {
		if ev.Attempt != b.Attempt {
			continue
		}
		switch body := ev.Body.(type) {
		case plan.MessageStart:
			s.asked = body.Role == plan.RoleAssistant
		case plan.MessageEnd:
			s.said = s.said || body.Role == plan.RoleUser
			s.asked = false
			s.answered = body.Role == plan.RoleAssistant && !body.Discarded
		case plan.ToolEnd:
			s.done = true
		}
	}
	return s
}

func (c *crew) Run(ctx context.Context, b plan.Brief, emit plan.Emit) (plan.Outcome, error) {
	c.mu.Lock()
	c.briefs = append(c.briefs, b)
	c.mu.Unlock()
	s := standingOf(b)
	turn := 0
	event := func(body plan.Body) plan.Event { return plan.Event{Conv: b.Conv, Turn: &turn, Body: body} }
	if !s.asked && !s.answered {
		var events []plan.Event
		if !s.said {
			events = append(events, plan.Event{Conv: b.Conv, Body: plan.MessageStart{Role: plan.RoleUser}},
				plan.Event{Conv: b.Conv, Body: plan.MessageEnd{Message: plan.UserText("do it")}})
		}
		if b.Notice != "" {
			m := plan.UserText(b.Notice)
			m.Origin = plan.OriginDrift
			events = append(events, plan.Event{Conv: b.Conv, Body: plan.MessageStart{Role: plan.RoleUser}},
				plan.Event{Conv: b.Conv, Body: plan.MessageEnd{Message: m}})
		}
		events = append(events, event(plan.TurnStart{Trigger: "user"}), event(plan.MessageStart{Role: plan.RoleAssistant}))
		if err := emit(ctx, events...); err != nil {
			return plan.Outcome{}, err
		}
	}
	call, name := fmt.Sprintf("%s-%d", b.Phase, b.Attempt), "tool"
	if c.tool != nil {
		name = c.tool(b)
	}
	if !s.answered {
		if err := emit(ctx, event(plan.MessageUpdate{Kind: plan.BlockText, Text: "…"})); err != nil {
			return plan.Outcome{}, err
		}
		if c.during != nil {
			if park, err := c.during(ctx, b); park != nil || err != nil {
				return plan.Outcome{Park: park}, errors.Join(err, emit(context.WithoutCancel(ctx),
					event(plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{}}, Discarded: true}),
					event(plan.TurnEnd{Reason: plan.EndCancelled})))
			}
		}
		if err := emit(ctx, event(plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockToolCall, Call: call, Name: name}}}}),
			event(plan.UsageReport{Model: "m", Usage: plan.Usage{Requests: 1, Input: 10, Output: 1}, CostUSD: 0.25, Priced: true}),
			event(plan.ToolStart{Call: call, Name: name, Args: []byte(`{}`)})); err != nil {
			return plan.Outcome{}, err
		}
		c.effects++
	}
	if !s.done {
		if err := emit(ctx, event(plan.ToolEnd{Call: call, Name: name}), event(plan.TurnEnd{Reason: plan.EndCompleted})); err != nil {
			return plan.Outcome{}, err
		}
	}
	return c.outcome(b), nil
}

// usual is a run in which the given review is the first that approves.
func usual(approves int) func(plan.Brief) plan.Outcome {
	return func(b plan.Brief) plan.Outcome {
		switch b.Phase {
		case plan.Explore:
			return plan.Outcome{Report: "the report"}
		case plan.Plan:
			return plan.Outcome{Plan: &plan.PlanDoc{Text: "the plan"}}
		case plan.Implement:
			return plan.Outcome{Summary: "what the implementer says of itself"}
		}
		if b.Attempt >= approves {
			return plan.Outcome{Judgement: &plan.Judgement{
				Verdict: plan.Done, Approved: true, Why: "proven", Missing: []plan.Missing{}, Commands: []plan.RanCommand{},
				Gaps: closed(b.Gaps),
			}}
		}
		id := fmt.Sprintf("G%d", b.Attempt)
		return plan.Outcome{Judgement: &plan.Judgement{
			Verdict: plan.NeedsFix, Why: "a gap", Missing: []plan.Missing{{ID: id, Gap: "gap " + id, Severity: plan.SeverityMust}},
			Commands: []plan.RanCommand{},
			Gaps:     append(closed(b.Gaps), plan.Gap{ID: id, Gap: "gap " + id, Severity: plan.SeverityMust, Status: plan.GapOpened}),
		}}
	}
}

func closed(gaps []plan.Gap) []plan.Gap {
	var out []plan.Gap
	for _, g := range gaps {
		if g.Open() {
			g.Status = plan.GapClosed
			out = append(out, g)
		}
	}
	return out
}

// checker runs checks by a function.
type checker struct {
	check func(ctx context.Context, c plan.Check) (plan.CheckResult, []plan.Blob, error)
	trial func(t plan.Trial) // sees what is asked for
	ran   []string
}

func (c *checker) Check(ctx context.Context, check plan.Trial, update func(string)) (plan.CheckResult, []plan.Blob, error) {
	c.ran = append(c.ran, check.Command)
	update("running " + check.Command)
	if c.trial != nil {
		c.trial(check)
	}
	if c.check != nil {
		return c.check(ctx, check.Check)
	}
	return plan.CheckResult{}, nil, nil
}

// snapshots names trees by the order in which they were taken.
type snapshots struct {
	meddled  bool              // the tree changes while it is reviewed
	named    map[string]string // trees by label, where two are the same
	edited   bool              // the tree changes before each implement
	snapshot func(label string) error
	tools    func(label string) map[string]string
	diff     error
	stat     error
	labels   []string
}

func (s *snapshots) Snapshot(ctx context.Context, run plan.RunID, label string) (plan.Snapshot, error) {
	if s.snapshot != nil {
		if err := s.snapshot(label); err != nil {
			return plan.Snapshot{}, err
		}
	}
	tree := "tree-" + label
	if before, ok := strings.CutPrefix(label, "before-"); ok { // it is not changed there either
		n := strings.TrimPrefix(before, "implement-")
		tree = map[string]string{"1": "tree-start", "2": "tree-implement-1", "3": "tree-implement-2"}[n]
		if s.edited {
			tree = "tree-edited-" + n
		}
	} else if strings.HasPrefix(label, "review-") { // the tree is not changed during a review,
		tree = "tree-" + strings.Replace(label, "review", "implement", 1)
		if s.meddled { // or it is
			tree = "tree-meddled"
		}
	} else {
		s.labels = append(s.labels, label)
	}
	if same, ok := s.named[label]; ok {
		tree = same
	}
	snap := plan.Snapshot{Label: label, Tree: tree, Ref: "refs/plan/" + string(run) + "/" + label}
	if s.tools != nil {
		snap.Tools = s.tools(label)
	}
	return snap, ctx.Err()
}

func (s *snapshots) Diff(_ context.Context, from, to string) (string, error) {
	return "diff " + from + " " + to, s.diff
}

func (s *snapshots) Stat(ctx context.Context, from, to string) (plan.DiffStat, error) {
	if from == to {
		return plan.DiffStat{}, s.stat
	}
	return plan.DiffStat{Files: len(to)}, errors.Join(s.stat, ctx.Err())
}

// bench is a run under test, over as many processes as it takes.
type bench struct {
	t       testing.TB
	db      *memory.DB
	id      plan.RunID
	j       *journal
	crew    *crew
	checker *checker
	snaps   *snapshots
	ground  *ground // instead of snaps, if set
	cfg     engine.Config
	given   *plan.PlanDoc
	against *plan.Against // of a run that reviews
	shown   []plan.Event
	now     time.Time
}

func openDB(t testing.TB) *memory.DB {
	t.Helper()
	db, err := memory.Open(context.Background(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func setup(t testing.TB) *bench {
	t.Helper()
	return benchOn(t, openDB(t), "R1")
}

func benchOn(t testing.TB, db *memory.DB, id plan.RunID) *bench {
	b := &bench{
		t: t, db: db, id: id,
		crew: &crew{outcome: usual(1)}, checker: &checker{}, snaps: &snapshots{},
		now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
	}
	b.cfg = engine.Config{
		MaxCycles: 2, Required: []plan.Check{{Command: "test", Required: true, Source: plan.CheckFlag}},
		Show: func(ev plan.Event) { b.shown = append(b.shown, ev) },
		Now:  func() time.Time { b.now = b.now.Add(time.Second); return b.now },
	}
	return b
}

// process is a new process that owns the run: a fresh engine over what the
// database holds. The caller closes it.
func (b *bench) process() (*engine.Engine, func()) {
	b.t.Helper()
	writer, err := b.db.Own(context.Background(), b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	fail, reading := (func(int, []plan.Event) (bool, error))(nil), error(nil)
	if b.j != nil {
		fail, reading = b.j.fail, b.j.reading
	}
	b.j = &journal{db: b.db, writer: writer, run: b.id, fail: fail, reading: reading}
	run := &engine.Run{}
	if _, err := b.db.Run(context.Background(), b.id); err == nil {
		if run, err = engine.Fold(b.db.Events(context.Background(), b.id, memory.Query{})); err != nil {
			b.t.Fatal(err)
		}
	}
	cfg := b.cfg
	cfg.Runner, cfg.Journal, cfg.Checker, cfg.Snapshots = b.crew, b.j, b.checker, b.snaps
	if b.ground != nil {
		cfg.Snapshots = b.ground
	}
	eng, err := engine.New(cfg, run)
	if err != nil {
		b.t.Fatal(err)
	}
	return eng, func() {
		if err := writer.Close(); err != nil {
			b.t.Error(err)
		}
	}
}

// drive begins the run if it has not begun, and drives it in a new process.
func (b *bench) drive(ctx context.Context) (engine.End, error) {
	b.t.Helper()
	eng, done := b.process()
	defer done()
	if eng.State().Head == 0 {
		start := plan.RunStart{Request: "the request", Repo: "/repo", Config: []byte(`{}`), Models: map[plan.Phase]string{}, Kit: "kit"}
		if b.against != nil {
			start.Aim, start.Against, start.View = plan.AimReview, b.against, plan.ViewSnapshot
		}
		if err := eng.Begin(ctx, b.id, "job-1", start, b.given, nil); err != nil {
			return engine.End{}, err
		}
	}
	return eng.Run(ctx)
}

// finish drives the run to an end that is not an error.
func (b *bench) finish() engine.End {
	b.t.Helper()
	end, err := b.drive(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return end
}

func (b *bench) events() []plan.Event {
	b.t.Helper()
	if _, err := b.db.Run(context.Background(), b.id); errors.Is(err, memory.ErrNoRun) {
		return nil
	}
	out, err := collect(b.db.Events(context.Background(), b.id, memory.Query{}))
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) count(t plan.EventType) int {
	n := 0
	for _, ev := range b.events() {
		if ev.Type() == t {
			n++
		}
	}
	return n
}

// lines are the events from the n-th on, in words.
func (b *bench) lines(from int) []string {
	var out []string
	for _, ev := range b.events()[from:] {
		out = append(out, line(ev))
	}
	return out
}

// line is what the engine decides about an event: type, place, and a word of
// the body.
func line(ev plan.Event) string {
	word := ""
	switch body := ev.Body.(type) {
	case plan.StateChange:
		word = fmt.Sprintf("%s>%s", body.From, body.To)
	case plan.PhaseStart:
		word = map[bool]string{true: "resumed"}[body.Resumed]
	case plan.PhaseEnd:
		word = body.Reason
	case plan.Parked:
		word = string(body.Reason)
	case plan.Unparked:
		word = string(body.Reason)
	case plan.CheckStart:
		word = fmt.Sprintf("%s %v", body.Command, body.Baseline)
	case plan.CheckEnd:
		word = fmt.Sprintf("%s %v", body.Command, body.Baseline) + map[bool]string{true: " cancelled"}[body.Cancelled]
	case plan.Snapshot:
		word = body.Label
	case plan.GapChange:
		word = body.ID + " " + string(body.Status)
	case plan.RunEnd:
		word = string(body.Outcome)
	}
	place := ""
	if ev.Phase != "" {
		place = fmt.Sprintf("%s/%d", ev.Phase, ev.Attempt)
	}
	if ev.Conv != "" {
		place += "/" + ev.Conv
	}
	return strings.TrimSpace(strings.Join(slices.DeleteFunc([]string{string(ev.Type()), place, word}, func(s string) bool { return s == "" }), " "))
}

package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
)

// Config is what the phases of one run work with.
type Config struct {
	Model loop.Model
	// Models names the model of each phase; Settings are sent with its calls.
	Models   map[plan.Phase]string // a critique's may be left out
	Settings map[plan.Phase]loop.Settings
	Kit      Kit

	Root string // the work tree
	// Room makes the place where the commands of a phase run. It is called
	// once for an attempt of a phase that has the bash tool; git shows at there.
	Room func(ctx context.Context, p plan.Phase, at plan.Trees) (Room, error)
	// Sandbox says, for the record, what keeps the commands of a phase in
	// their room. Default: nothing is said.
	Sandbox func(p plan.Phase) plan.Walls
	// Blob fetches a kept output by its hash.
	Blob func(ctx context.Context, hash string) ([]byte, error)
	// Conversation reads what a conversation of a run has journalled, for
	// sub-agents that were cut off. Nil: nothing is known of them.
	Conversation func(ctx context.Context, run plan.RunID, conv string) ([]plan.Event, error)
	// Hashes returns the content hash of each path, "" for one that is not
	// there; Base is the commit that plans are made on.
	Hashes func(ctx context.Context, paths []string) (map[string]string, error)
	Base   string
	// Instructions are what the repository says about itself.
	Instructions []Instruction

	Limits plan.Limits
	// Window is the window of a model in tokens, 0 if it is not known;
	// Compaction says what may be done where it gets full.
	Window     func(model string) int64
	Compaction loop.Level
	Count      func(text string) int64 // of tokens; see loop.Config
	Retry      loop.Retry
	Price      func(model string, u plan.Usage) (usd float64, known bool)
	Redact     func(string) string
	// Mail holds what people say to the run while it goes on.
	Mail loop.Mailbox
	// Adviser says what earlier runs have taught; nil: nothing.
	Adviser Adviser
	// Remember and Skill are behind the tools of these names; nil: there is
	// nothing to keep facts in, or no skill.
	Remember func(ctx context.Context, text string) (string, error)
	Skill    func(ctx context.Context, name string) (string, error)
	// Try runs a line on one of the trees of a change, alone in a fresh layer.
	// Nil: claimed lines cannot be run again, so they prove nothing.
	Try func(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error)
	// StrictEvidence refuses approvals that rest on nothing better than that
	// nothing broke.
	StrictEvidence bool
	// Watch gives a conversation the hooks and filters that look at what it
	// does; its tools work in dir. Nil: none.
	Watch func(b plan.Brief, dir string, emit plan.Emit) (loop.Hooks, []loop.Filter)
	// AutoApprove answers yes where a call needs a person.
	AutoApprove bool
	// NobodyAnswers says that no person will ever answer a question: the model
	// is told to decide for itself.
	NobodyAnswers bool
	Now           func() time.Time
	Sleep         func(ctx context.Context, d time.Duration) error
}

// Instruction is a file in which a repository says how to work on it.
type Instruction struct{ Path, Text string }

// Phases runs the four phases.
type Phases struct{ cfg Config }

// New makes the phases of a run.
func New(cfg Config) (*Phases, error) {
	for _, p := range plan.Phases() {
		if cfg.Models[p] == "" {
			return nil, fmt.Errorf("phases: no model is named for %s", p)
		}
	}
	if cfg.Model == nil || cfg.Room == nil || cfg.Hashes == nil {
		return nil, errors.New("phases: a model, a room and hashes are needed")
	}
	if cfg.Price == nil {
		cfg.Price = func(string, plan.Usage) (float64, bool) { return 0, false }
	}
	if cfg.Window == nil {
		cfg.Window = func(string) int64 { return 0 }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Phases{cfg: cfg}, nil
}

// toolNames is who may use what. It is enforced when tools are offered and
// again when they are called.
func toolNames(p plan.Phase) []string {
	switch p {
	case plan.Implement:
		return []string{"read", "grep", "glob", "list_dir", "symbols", "write", "edit", "apply_patch", "bash", "remember", "ask", "prune"}
	case plan.Review:
		return []string{"read", "grep", "glob", "list_dir", "symbols", "bash", "prune"}
	case plan.Critique:
		return []string{"read", "grep", "glob", "list_dir", "symbols"}
	}
	return []string{"read", "grep", "glob", "list_dir", "symbols", "ask", "prune"}
}

// refuse is what a model reads when it calls a tool that its phase does not
// have.
func refuse(p plan.Phase, name string) string {
	if !slices.Contains(tools.Names(), name) {
		return "" // no tool of ours: the loop says which there are
	}
	switch p {
	case plan.Review:
		return fmt.Sprintf("%s is not offered in Review: a reviewer changes nothing. If something must change, say so as a gap in `missing`. To try something out, use bash; your copy of the tree is thrown away.", name)
	case plan.Implement:
		return fmt.Sprintf("%s is not offered in this run.", name)
	default:
		return fmt.Sprintf("%s is not offered in %s, which only reads. Look with read, grep, glob, list_dir and symbols; what should be changed or run belongs into what you hand over, and Implement does it.", name, p)
	}
}

// Describe implements engine.Runner.
func (ph *Phases) Describe(p plan.Phase) plan.PhaseStart {
	start := plan.PhaseStart{Model: ph.model(p), Tools: ph.cfg.Kit.offer(p)}
	if ph.cfg.Sandbox != nil && ph.commands(p) {
		start.Walls = ph.cfg.Sandbox(p)
	}
	return start
}

// Run implements engine.Runner.
func (ph *Phases) Run(ctx context.Context, b plan.Brief, emit plan.Emit) (plan.Outcome, error) {
	worked := b.Spent.Requests > 0
	record := emit
	emit = func(ctx context.Context, events ...plan.Event) error {
		for _, ev := range events {
			worked = worked || ev.Type() == plan.TypeUsage
		}
		return record(ctx, events...)
	}
	work, ok := map[plan.Phase]func(context.Context, plan.Brief, *session) (plan.Outcome, error){
		plan.Explore: ph.explore, plan.Plan: ph.plan, plan.Critique: ph.critique, plan.Implement: ph.implement, plan.Review: ph.review,
	}[b.Phase]
	if !ok {
		return plan.Outcome{}, fmt.Errorf("there is no phase named %q", b.Phase)
	}
	out, err := ph.within(ctx, b, emit, func(s *session) (plan.Outcome, error) { return work(ctx, b, s) })
	if err != nil {
		return classify(err, b.Phase, ph.cfg.Now(), worked)
	}
	return out, nil
}

// within gives a phase its room and its conversation, and takes both away when
// its work is done.
func (ph *Phases) within(ctx context.Context, b plan.Brief, emit plan.Emit, work func(*session) (plan.Outcome, error)) (out plan.Outcome, err error) {
	room, err := ph.room(ctx, b.Phase, b.Trees)
	if err != nil {
		return out, err
	}
	defer func() { err = leave(ctx, room, b, emit, &out, err) }()
	s, err := ph.open(ctx, b, room, emit)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	out, err = work(s)
	if errors.Is(err, errParked) {
		return plan.Outcome{Park: s.parked}, nil
	}
	return out, err
}

// session is one phase attempt's conversation with its tools.
type session struct {
	loop   *loop.Loop
	close  func() error // gives its tools back
	told   int          // prompts of this attempt that the journal holds already
	judged int          // which of them, from 0, the phase last parked over
	brief  plan.Brief
	phase  plan.Phase
	mark   bool    // the first prompt gets the mark that advice stands in for
	ran    *record // what commands came to, for a review; nil elsewhere
	room   Room
	emit   plan.Emit
	end    loop.End
	parked *plan.Parked
}

// errParked ends the work of a phase that has to park.
var errParked = errors.New("the phase has to park")

// open makes the conversation as the brief says it stands, with tools that
// work in the room.
func (ph *Phases) open(ctx context.Context, b plan.Brief, room Room, emit plan.Emit) (*session, error) {
	advice, begun, err := ph.advise(ctx, b, emit)
	if err != nil {
		return nil, err
	}
	offered, shut, err := ph.offered(b, room)
	if err != nil {
		return nil, fmt.Errorf("open the tools of %s: %w", b.Phase, err)
	}
	var format *loop.Format
	var ran *record
	if b.Phase == plan.Review {
		format = &loop.Format{Name: "verdict", Schema: ph.cfg.Kit.Verdict}
		ran = newRecord(b.Past)
		emit = ran.watch(emit)
		offered = recordCommands(offered, ran, room.Changes)
	}
	var hooks loop.Hooks
	var filters []loop.Filter
	if ph.cfg.Watch != nil {
		hooks, filters = ph.cfg.Watch(b, room.Dir, emit)
	}
	model := ph.model(b.Phase)
	l, err := loop.New(loop.Config{
		Model: ph.cfg.Model, Name: model, System: ph.cfg.Kit.System, Tools: offered,
		Settings: ph.cfg.Settings[b.Phase], Format: format, Headers: headers(b),
		Run: b.Run, Conv: b.Conv, Attempt: b.Attempt, Limits: ph.limits(b.Phase), Spent: b.Spent, Cost: b.Cost,
		Price: ph.cfg.Price, Retry: ph.cfg.Retry,
		Refuse: func(name string) string { return refuse(b.Phase, name) },
		Redact: ph.cfg.Redact, Emit: emit, Now: ph.cfg.Now, Sleep: ph.cfg.Sleep,
		Notice: b.Notice, Mail: ph.mail(b.Phase), Gate: ph.gate(), Conversation: ph.conversation(b.Run),
		Window: ph.cfg.Window(model), Compaction: ph.cfg.Compaction, Count: ph.cfg.Count, Hooks: loop.Join(advised(advice), hooks), Filters: filters,
	}, b.Past)
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	prompts, judged := told(b)
	return &session{
		loop:   l,
		close:  shut,
		told:   prompts,
		judged: judged,
		brief:  b,
		phase:  b.Phase,
		mark:   advice != "" && !begun,
		ran:    ran,
		room:   room,
		emit:   emit,
	}, nil
}

// ask puts the n-th prompt of this attempt (from 0) to the model and runs the
// conversation until it answers. A prompt that the journal holds already is
// not repeated. The error is errParked when the phase has to park.
func (s *session) ask(ctx context.Context, n int, prompt ...plan.Message) error {
	if n < s.told {
		prompt = nil
		if n < s.told-1 {
			s.end = answered(s.brief, n) // before the process died
			return nil
		}
	}
	if s.mark && len(prompt) > 0 {
		s.mark = false
		prompt[len(prompt)-1] = advisable(prompt[len(prompt)-1])
	}
	end, err := s.loop.Run(ctx, prompt...)
	if err != nil {
		return err
	}
	switch end.Reason {
	case loop.Completed:
		s.end = end
		return nil
	case loop.Limited:
		return s.park(plan.ParkLimit, limitDetail(*end.Limit))
	case loop.Refused:
		return s.park(plan.ParkRefused, refusedDetail(s.phase, end))
	case loop.Waiting:
		s.parked = waitingPark(end.Waiting)
		return errParked
	case loop.Vetoed, loop.Rejected:
		return s.park(plan.ParkLimit, vetoDetail(end.Rejection))
	case loop.Stuck:
		// What was built or judged so far still counts, and says that it is
		// unfinished; an unfinished report or plan is none.
		if s.phase == plan.Implement || s.phase == plan.Review {
			s.end = end
			return nil
		}
		return &Error{Err: fmt.Errorf("%s made no progress: %s", s.phase, end.Text), Advice: "Say more precisely what is wanted, or run it with another model (--model)."}
	}
	return fmt.Errorf("the conversation of %s ended as %s, which no phase does", s.phase, end.Reason)
}

// park notes why the phase has to park, and returns errParked.
func (s *session) park(reason plan.ParkReason, detail string) error {
	s.parked = &plan.Parked{Reason: reason, Detail: detail}
	return errParked
}

// waitingPark says what a person is asked.
func waitingPark(calls []loop.Pending) *plan.Parked {
	p := &plan.Parked{Reason: plan.ParkQuestion}
	for _, c := range calls {
		if c.Question == "" {
			p.Reason = plan.ParkApproval
		}
		p.Waiting = append(p.Waiting, plan.WaitingCall{Call: c.Call, Name: c.Name, Args: c.Args, Why: c.Why, Rule: c.Rule, Effect: c.Effect, Grant: c.Grant, Question: c.Question, Options: c.Options})
	}
	first := calls[0]
	if p.Detail = first.Question; p.Detail == "" {
		p.Detail = fmt.Sprintf("may it call %s %s?", first.Name, first.Args)
	}
	return p
}

// gate answers for people who are not there, if that is the policy.
func (ph *Phases) gate() func(context.Context, loop.Pending) (loop.Ruling, bool) {
	if !ph.cfg.NobodyAnswers && !ph.cfg.AutoApprove {
		return nil
	}
	return func(_ context.Context, p loop.Pending) (loop.Ruling, bool) {
		if p.Question == "" {
			return loop.Ruling{Approved: true, By: "policy", Text: "approved without a person, as set with auto-approve"}, ph.cfg.AutoApprove
		}
		return loop.Ruling{
			By:   "policy",
			Text: "Nobody can answer here. Decide for yourself, choose what fits the request and the code best, and say in what you hand over what you decided and why.",
		}, ph.cfg.NobodyAnswers
	}
}

// mail is what a phase hears. Guidance reaches every phase; a further request
// waits for Implement, which alone can carry it out.
func (ph *Phases) mail(p plan.Phase) loop.Mailbox {
	if ph.cfg.Mail == nil || p == plan.Implement {
		return ph.cfg.Mail
	}
	return withoutFollowUps{ph.cfg.Mail}
}

type withoutFollowUps struct{ loop.Mailbox }

// Waiting implements loop.Mailbox.
func (m withoutFollowUps) Waiting(ctx context.Context) ([]loop.Letter, error) {
	letters, err := m.Mailbox.Waiting(ctx)
	return slices.DeleteFunc(slices.Clone(letters), func(x loop.Letter) bool { return x.Kind == loop.FollowUp }), err
}

func vetoDetail(why string) string {
	if why == "" {
		why = "see the last hook in `plan events`"
	}
	return "a hook does not let it go on: " + why
}

func limitDetail(l plan.LimitHit) string {
	if l.Kind == "time" {
		return fmt.Sprintf("time: the time limit of %s is reached; going on gives the run as much again", time.Duration(l.Max*float64(time.Second)))
	}
	format := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	used := fmt.Sprintf("%s: %s of %s used; go on with ", l.Kind, format(l.Value), format(l.Max))
	if l.Kind == "context" {
		return used + "--compaction full, or a --model with a larger window"
	}
	return used + "a higher --max-" + l.Kind
}

// headers let a gateway attribute every call.
func headers(b plan.Brief) map[string]string {
	return map[string]string{
		"X-Plan-Run": string(b.Run), "X-Plan-Phase": string(b.Phase), "X-Plan-Attempt": strconv.Itoa(b.Attempt),
	}
}

// seen is what the conversation has been shown of each file.
func seen(past []plan.Event) map[string]string {
	out := map[string]string{}
	for _, ev := range past {
		if end, ok := ev.Body.(plan.ToolEnd); ok {
			maps.Copy(out, end.Files)
		}
	}
	return out
}

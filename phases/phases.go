package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
	"github.com/plan-engine/plan/tools/outside"
)

// Config is what the phases of one run work with.
type Config struct {
	Model loop.Model
	// Models names the model of each phase; Settings are sent with its calls.
	Models   map[plan.Phase]string // a critique's may be left out
	Settings map[plan.Phase]loop.Settings
	Kit      Kit
	// Why says for the record why a phase has its model, where a hint chose it,
	// such as "@cheap, as [phase.explore] asks".
	Why   map[plan.Phase]string
	Route Route
	// SameServer reports whether two models are spoken to in the same way at the
	// same place, so that a conversation can go from one to the other. Nil: they
	// always are.
	SameServer func(a, b string) bool
	// Wire names how a model is spoken to. Nil: it is not known, and in no
	// record.
	Wire func(model string) string
	// Provider names the provider of a model, "" for the default one. Nil: it is
	// what stands before the first slash of the model's name.
	Provider func(model string) string

	Root string // the work tree
	// Room makes the place where the commands of a phase run. It is called
	// once for an attempt of a phase that has the bash tool; git shows at there.
	// For those that only look it is called at the first command, as for Explore.
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
	// Way is how much of the workflow Explore may leave out: plan.WayFull or "",
	// plan.WayShort, plan.WayAuto.
	Way string
	// PlanSize is how long a plan may be: plan.PlanShort; otherwise as long as it needs.
	PlanSize string
	// Checks are the commands that decide, as far as they are known before there is
	// a plan, with why one cannot start here. Nil: none are.
	Checks func() []plan.Unready
	// Instructions are what the repository says about itself.
	Instructions []Instruction

	Limits plan.Limits
	// Own bound single phases by themselves: turns in the place of Limits', tokens and
	// cost of all their attempts beside it.
	Own map[plan.Phase]plan.Limits
	// Window is the window of a model in tokens, 0 if it is not known; it is
	// asked before each request. LearnWindow is told a window that a server has
	// named. Compaction says what may be done where the window gets full.
	Window      func(model string) int64
	LearnWindow func(model string, window int64)
	Compaction  loop.Level
	// MaxOutput is how long an answer of a model can become in tokens, 0 if it
	// is not known.
	MaxOutput func(model string) int
	Count     func(text string) int64 // of tokens; see loop.Config
	Retry     loop.Retry
	Timeouts  map[loop.Category]time.Duration // of tools; see loop.Config
	Price     func(model string, u plan.Usage) (usd float64, known bool)
	Redact    func(string) string
	// RedactRead is [loop.Config.RedactRead]; nil: Redact.
	RedactRead func(string) string
	// Mail holds what people say to the run while it goes on; of what waits, so much
	// is taken in at once.
	Mail             loop.Mailbox
	SteerDelivery    loop.Delivery
	FollowUpDelivery loop.Delivery
	Strategy         loop.Strategy // of the calls of one answer
	// PlanOnly says that the run ends with its plan.
	PlanOnly bool
	// Adviser says what earlier runs have taught; nil: nothing.
	Adviser Adviser
	// Remember, Recall and Skill are behind the tools of these names; nil: there is
	// nothing to keep facts in, or no skill. What Recall returns is data, "" for none.
	Remember func(ctx context.Context, text string) (string, error)
	Recall   func(ctx context.Context, query string) (string, error)
	Skill    func(ctx context.Context, name string) (string, error)
	// Servers are the command lines of language servers that symbols asks, by language.
	Servers map[string]string
	// Outside opens the tools that come from outside, for a conversation of a phase. Nil: there
	// are none.
	Outside func(p plan.Phase) *outside.Set
	// Index is where the tool symbols finds what mentions a name; nil: each phase
	// begins anew.
	Index *tools.Index
	// Avoid is [tools.Config.Avoid]; nil: nothing is avoided.
	Avoid func(path string) bool
	// Try runs a line on one of the trees of a change, alone in a fresh layer.
	// Nil: claimed lines cannot be run again, so they prove nothing.
	Try func(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error)
	// StrictEvidence refuses approvals that rest on nothing better than that
	// nothing broke.
	StrictEvidence bool
	// Watch gives a conversation the hooks and filters that look at what it
	// does; its tools work in dir. Nil: none.
	Watch func(b plan.Brief, dir string, emit plan.Emit) (loop.Hooks, []loop.Filter)
	// Withheld reports whether rules do not let a file of dir be read that no call has
	// named. Nil: no file is.
	Withheld func(dir, path string) bool
	// Denied reports whether rules that the user answers for deny that a file of dir is
	// read: a reviewer is shown that it changed, and not how. Nil: none is.
	Denied func(dir, path string) bool
	// AutoApprove answers yes where a call needs a person.
	AutoApprove bool
	// Unattended says that no person will ever answer a question: the model
	// is told to decide for itself.
	Unattended bool
	Now        func() time.Time
	Sleep      func(ctx context.Context, d time.Duration) error
}

// Instruction is a file in which a repository says how to work on it.
type Instruction struct{ Path, Text string }

// Phases runs the phases.
type Phases struct {
	cfg    Config
	shared *sharedRoom
	// The tools of the latest conversation, open or closed.
	opened    *tools.Set
	openedFor string
}

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
	if cfg.Redact == nil {
		cfg.Redact = func(text string) string { return text }
	}
	if cfg.RedactRead == nil {
		cfg.RedactRead = cfg.Redact
	}
	if cfg.Window == nil {
		cfg.Window = func(string) int64 { return 0 }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	look := func(ctx context.Context) (Room, error) { return cfg.Room(ctx, plan.Explore, plan.Trees{}) }
	return &Phases{cfg: cfg, shared: &sharedRoom{open: look}}, nil
}

// Close closes what a phase has left for one that did not come.
func (ph *Phases) Close(ctx context.Context) error { return ph.shared.close(ctx) }

// toolNames are the tools of a phase in a run that has nothing special.
func toolNames(p plan.Phase) []string {
	d, _ := describe(p)
	return d.tools()
}

// refuse is what a model reads when it calls a tool that its phase does not
// have.
func refuse(p plan.Phase, name string) string {
	d, ok := describe(p)
	if !ok || tools.PurposeOf(name) == "" {
		return "" // no tool of ours: the loop says which there are
	}
	if tools.PurposeOf(name) == tools.Ask && d.asks() {
		return alone
	}
	look := tools.Names(tools.Inspect)
	last := len(look) - 1
	return strings.NewReplacer(
		"%tool%", name,
		"%phase%", string(p),
		"%look%", strings.Join(look[:last], ", ")+" and "+look[last],
	).Replace(d.refusal)
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
	d, ok := describe(b.Phase)
	if !ok {
		return plan.Outcome{}, fmt.Errorf("there is no phase named %q", b.Phase)
	}
	out, err := ph.inRoom(ctx, b, emit, func(s *session) (plan.Outcome, error) { return d.work(ph, ctx, b, s) })
	if err != nil {
		return ph.classify(err, b, worked)
	}
	return out, nil
}

// inRoom gives a phase its room and its conversation, and takes both away when
// its work is done.
func (ph *Phases) inRoom(
	ctx context.Context,
	b plan.Brief,
	emit plan.Emit,
	work func(*session) (plan.Outcome, error),
) (out plan.Outcome, err error) {
	room, err := ph.room(ctx, b.Phase, b.Trees)
	if err != nil {
		return out, err
	}
	room.ready = b.Ready
	defer func() {
		if err == nil && out.Report != "" && room.shared != nil {
			return // what is handed a report goes on in it
		}
		err = closeRoom(ctx, room, b, emit, &out, err)
	}()
	s, err := ph.open(ctx, b, room, emit)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	out, err = work(s)
	switch {
	case errors.Is(err, errParked):
		return plan.Outcome{Park: s.parked}, nil
	case errors.Is(err, errAnother):
		return plan.Outcome{Replan: s.another.evidence}, nil
	}
	return out, err
}

// alone is told to a model that asks where no person answers.
const alone = "Nobody can answer here. Decide for yourself, choose what fits the request and the code best, " +
	"and say in what you hand over what you decided and why."

// gate answers for people who are not there, if that is the policy.
func (ph *Phases) gate() func(context.Context, loop.Pending) (loop.Ruling, bool) {
	if !ph.cfg.Unattended && !ph.cfg.AutoApprove {
		return nil
	}
	return func(_ context.Context, p loop.Pending) (loop.Ruling, bool) {
		if p.Question == "" {
			return loop.Ruling{
				Approved: true,
				By:       "policy",
				Text:     "approved without a person, as set with auto-approve",
			}, ph.cfg.AutoApprove
		}
		return loop.Ruling{
			By:   "policy",
			Text: alone,
		}, ph.cfg.Unattended
	}
}

// mail is what a phase hears. Guidance reaches every phase; a further request
// waits for one that writes, which alone can carry it out, for the planner where the
// plan is all that is wanted, or for one that answers questions.
func (ph *Phases) mail(b plan.Brief) loop.Mailbox {
	planOnly := ph.cfg.PlanOnly && b.Phase == plan.Plan
	if ph.cfg.Mail == nil || TraitsOf(b.Phase).Writes || planOnly || b.Aim == plan.AimAsk {
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

// headers let a gateway attribute every call.
func headers(b plan.Brief) map[string]string {
	return map[string]string{
		"X-Plan-Run": string(b.Run), "X-Plan-Phase": string(b.Phase), "X-Plan-Attempt": strconv.Itoa(b.Attempt),
	}
}

// filesShown is what the conversation has been shown of each file.
func filesShown(past []plan.Event) map[string]string {
	out := map[string]string{}
	for _, ev := range past {
		if end, ok := ev.Body.(plan.ToolEnd); ok {
			maps.Copy(out, end.Files)
		}
	}
	return out
}

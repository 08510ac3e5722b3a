package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// Delegate describes a tool that gives a task to a sub-agent: a fresh
// conversation with its own tools and limits. The zero value of a field means
// its default.
type Delegate struct {
	Name        string // default "task"
	Description string // what the model is told about the tool
	Tools       []Tool // of the sub-agent, in this order; none may be External
	// Limits bound one task; default 10 turns and 5 minutes. What it consumes
	// counts against the parent's limits as well.
	Limits plan.Limits
	// Depth is how deep sub-agents may stand under the first conversation;
	// default 1: a sub-agent has none of its own.
	Depth int
	// Model and System are the sub-agent's; default the parent's. Why says for
	// the record why Model is another one.
	Model, System, Why string
	// Prompt stands before the task in the sub-agent's first message.
	Prompt string
	// Fallback is the result of a sub-agent that ends without a word.
	Fallback string
}

// The defaults of a [Delegate].
const (
	taskName        = "task"
	taskDescription = "Give one self-contained task to a helper that starts with an empty conversation. It knows " +
		"nothing of this one, so say all that it has to know. You get back its last message and nothing else. " +
		"Several calls in one answer run at the same time."
	taskPrompt = "Another agent has given you the task below. It reads nothing but your last message: put " +
		"everything it needs to know into that, with the places you found it at, and say what you could not find " +
		"out. Nobody can answer questions."
	taskFallback = "The helper ended without a word."
	taskTurns    = 10
	taskTime     = 5 * time.Minute
	// taskGrace is what a sub-agent has to come to its end once its time is up.
	taskGrace = 5 * time.Second
)

const taskSchema = `{"type":"object","properties":{"task":{"type":"string","minLength":1,"description":"what is to be done or found out, with all that is needed to do it"}},"required":["task"],"additionalProperties":false}`

// SubAgent makes the tool. Each call has a conversation of its own, with this
// one as its parent in every event: its requests carry the parent's headers and
// keys, its tools pass the parent's hooks, and its last words are the result.
// A call that would have to wait for a person is refused. Several
// calls run at the same time if none of the tools wants to run alone.
func SubAgent(d Delegate) Tool {
	d.Name = cmp.Or(d.Name, taskName)
	d.Description = cmp.Or(d.Description, taskDescription)
	d.Prompt = cmp.Or(d.Prompt, taskPrompt)
	d.Fallback = cmp.Or(d.Fallback, taskFallback)
	d.Depth = cmp.Or(d.Depth, 1)
	d.Limits.Turns = cmp.Or(d.Limits.Turns, taskTurns)
	d.Limits.Time = cmp.Or(d.Limits.Time, taskTime)
	info := Info{
		Spec: Spec{
			Name:        d.Name,
			Description: d.Description,
			Schema:      json.RawMessage(taskSchema),
		},
		Effect:   plan.EffectUnknown,
		Timeout:  d.Limits.Time + taskGrace,
		Delegate: &d,
	}
	for _, t := range d.Tools {
		own := t.Info()
		info.Writes = info.Writes || own.Writes
		info.Serial = info.Serial || own.Serial
	}
	return subAgent{info}
}

type subAgent struct{ info Info }

// Info implements Tool.
func (s subAgent) Info() Info { return s.info }

// Run implements Tool. The loop that offers the tool runs the sub-agent; by
// itself it has nothing to run in.
func (s subAgent) Run(context.Context, Input) (Result, error) {
	return Failed(s.info.Name + " works in a conversation only."), nil
}

// taskConv names the conversation of a sub-agent; "" for other calls. A turn
// that is made again keeps its number, but then had no calls.
func (l *Loop) taskConv(c *call) string {
	if c.offer == nil || c.offer.info.Delegate == nil {
		return ""
	}
	return fmt.Sprintf("%s.%d.%d", l.cfg.Conv, l.turn, c.index)
}

// runSubAgent runs a sub-agent to its end.
func (l *Loop) runSubAgent(ctx context.Context, c *call) (Result, error) {
	d := c.offer.info.Delegate
	var args struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal(c.args, &args); err != nil || strings.TrimSpace(args.Task) == "" {
		return Failed("Give a task: the argument `task` is missing or empty."), nil
	}
	if l.depth >= d.Depth {
		return Failed(
			fmt.Sprintf(
				"A helper cannot have helpers of its own here (the depth limit is %d). Do the work yourself.",
				d.Depth,
			),
		), nil
	}
	child, err := l.child(*c.child, nil)
	if err != nil {
		return Result{}, err
	}
	defer child.account.GiveBack()
	if child.cfg.Name != l.cfg.Name {
		child.record(plan.Route{
			For:   plan.RouteTask,
			Model: child.cfg.Name,
			Why:   cmp.Or(d.Why, "the model that is set for sub-agents"),
		})
	}
	end, err := child.Run(ctx, plan.UserText(d.Prompt+"\n\n"+args.Task))
	switch {
	case child.dead != nil:
		return Result{}, child.dead
	case err != nil && ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return Failed("The helper could not go on: " + err.Error()), nil
	}
	return l.taskResult(*d, end), nil
}

// taskResult is what the parent reads of how a sub-agent ended.
func (l *Loop) taskResult(d Delegate, end End) Result {
	text := strings.TrimSpace(end.Text)
	switch {
	case end.Reason == Limited:
		return Failed(
			strings.TrimSpace(
				cmp.Or(
					text,
					d.Fallback,
				) + fmt.Sprintf(
					"\n\n[the helper was stopped: the limit on %s was reached, so this may be unfinished]",
					end.Limit.Kind,
				),
			),
		)
	case end.Reason != Completed:
		return Failed(fmt.Sprintf("The helper ended as %s. %s", end.Reason, cmp.Or(text, end.Rejection, d.Fallback)))
	case text == "":
		return Result{Output: d.Fallback}
	case end.Cut:
		text += "\n\n[cut off by the output limit]"
	}
	return Result{Output: text}
}

// childConfig is what the sub-agent of a call is made of.
func (l *Loop) childConfig(c *call, emit plan.Emit) Config {
	d := c.offer.info.Delegate
	cfg := l.cfg
	cfg.Tools, cfg.Limits, cfg.Format = d.Tools, d.Limits, nil
	cfg.Mail, cfg.Filters, cfg.Closes = nil, nil, nil
	cfg.Skills = nil // the parent's prompt has them in it
	cfg.Name, cfg.System = cmp.Or(d.Model, cfg.Name), cmp.Or(d.System, cfg.System)
	cfg.Wire = l.wireOf(cfg.Name)
	if cfg.Name != l.cfg.Name && cfg.WindowOf != nil {
		cfg.Window = 0 // it is the parent's
	}
	cfg.Conv, cfg.Parent, cfg.Trigger = l.taskConv(c), l.cfg.Conv, plan.TriggerSubAgent
	cfg.Spent, cfg.Cost, cfg.Part, cfg.Before = plan.Usage{}, 0, Part{}, nil
	cfg.Hooks = Hooks{
		BeforeRequest: l.cfg.Hooks.BeforeRequest,
		BeforeTool:    l.cfg.Hooks.BeforeTool,
		AfterTool:     l.cfg.Hooks.AfterTool,
	}
	cfg.Gate, cfg.Refuse = l.taskGate, func(string) string { return "" }
	cfg.Emit = func(ctx context.Context, events ...plan.Event) error {
		if events[0].Live() {
			return nil // the parent's readers watch the parent
		}
		return emit(ctx, events...)
	}
	return cfg
}

// child makes the loop of a sub-agent, as it stood when past was journalled.
func (l *Loop) child(cfg Config, past []plan.Event) (*Loop, error) {
	child, err := New(cfg, past)
	if err != nil {
		return nil, fmt.Errorf("start the sub-agent %s: %w", cfg.Conv, err)
	}
	child.account.PutUnder(l.account)
	child.depth, child.grace = l.depth+1, l.grace/2
	return child, nil
}

// taskGate decides for a sub-agent, which cannot wait for a person.
func (l *Loop) taskGate(ctx context.Context, p Pending) (Ruling, bool) {
	l.gating.Lock()
	defer l.gating.Unlock()
	if l.cfg.Gate != nil {
		if r, ok := l.cfg.Gate(ctx, p); ok {
			return r, true
		}
	}
	return Ruling{
		By:   "policy",
		Text: "a helper cannot wait for a person. Leave this to whoever gave you the task, and say so.",
	}, true
}

// recoverTasks looks after sub-agents whose process died. One that came to its
// end still has its result; one that recorded nothing has done nothing and is
// begun anew; the events of any other are brought to their end, and what it did
// is unknown.
func (l *Loop) recoverTasks(ctx context.Context, calls []*call) error {
	if l.cfg.Conversation == nil {
		return nil
	}
	for _, c := range calls {
		if c.end != nil || !c.lost || c.offer == nil || c.offer.info.Delegate == nil {
			continue
		}
		conv := l.taskConv(c)
		past, err := l.cfg.Conversation(context.WithoutCancel(ctx), conv)
		if err != nil {
			return fmt.Errorf("read the conversation %s of a sub-agent: %w", conv, err)
		}
		if len(past) == 0 {
			c.lost = false
			continue
		}
		child, err := l.child(l.childConfig(c, l.cfg.Emit), past)
		if err != nil {
			return err
		}
		if child.hasEnded() {
			l.takeResult(toolReport{call: c, end: l.taskEnd(ctx, c, child)})
			continue
		}
		over, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		cancel(errLost)
		if _, err := child.Run(over); child.dead != nil {
			l.dead = err
			return err
		}
	}
	return nil
}

var errLost = errors.New("the process of this sub-agent died")

// taskEnd is the result of a sub-agent that had ended before its process died.
func (l *Loop) taskEnd(ctx context.Context, c *call, child *Loop) *plan.ToolEnd {
	end := child.ending(Completed)
	if n := len(child.messages); child.stuck != "" || child.messages[n-1].Origin == plan.OriginNotice {
		end.Reason, end.Rejection = Vetoed, cmp.Or(child.stuck, child.messages[n-1].Text())
	}
	done, _ := l.endOf(l.afterTool(ctx, c, l.taskResult(*c.offer.info.Delegate, end)))
	return done
}

// hasEnded reports whether a restored conversation had come to its end.
func (l *Loop) hasEnded() bool {
	if l.open.started || len(l.messages) == 0 {
		return false
	}
	return l.stuck != "" || l.isDone() || l.messages[len(l.messages)-1].Origin == plan.OriginNotice
}

// checkTasks refuses tools that a sub-agent cannot have.
func checkTasks(info Info) error {
	if info.Delegate == nil {
		return nil
	}
	if i := slices.IndexFunc(info.Delegate.Tools, func(t Tool) bool { return t.Info().External }); i >= 0 {
		return fmt.Errorf(
			"loop: tool %s is run elsewhere, so a sub-agent cannot have it",
			info.Delegate.Tools[i].Info().Name,
		)
	}
	return nil
}

// subAgentEvents is what a sub-agent wants recorded.
type subAgentEvents struct {
	events []plan.Event
	done   chan error
}

// emitThroughLoop gives a call the means to record events through the loop's own
// goroutine, for as long as that waits for the call.
func emitThroughLoop(c *call, feed chan<- toolReport, over <-chan struct{}) plan.Emit {
	return func(_ context.Context, events ...plan.Event) error {
		p := &subAgentEvents{events: slices.Clone(events), done: make(chan error, 1)}
		select {
		case feed <- toolReport{call: c, post: p}:
			return <-p.done
		case <-over:
			return errors.New("the conversation that this sub-agent works for has ended")
		}
	}
}

// recordForSubAgent records what a sub-agent has to say.
func (l *Loop) recordForSubAgent(ctx context.Context, p *subAgentEvents) {
	if l.dead == nil {
		if err := l.cfg.Emit(context.WithoutCancel(ctx), p.events...); err != nil {
			l.dead = fmt.Errorf("record the conversation of a sub-agent: %w", err)
		}
	}
	p.done <- l.dead
}

package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
)

// session is one phase attempt's conversation with its tools.
type session struct {
	loop  *loop.Loop
	close func() error // gives its tools back
	files *tools.Set   // the files as its tools see them
	// redactRead is what a prompt goes through.
	redactRead func(string) string
	recorded   int // prompts of this attempt that the journal holds already
	judged     int // which of them, from 0, the phase last parked over
	brief      plan.Brief
	phase      plan.Phase
	mark       bool    // the first prompt gets the mark that advice stands in for
	ran        *record // what commands came to, for a review; nil elsewhere
	room       Room
	emit       plan.Emit
	end        loop.End
	parked     *plan.Parked
	another    *another
}

// What ends the work of a phase before its exit.
var (
	errParked  = errors.New("the phase has to park")
	errAnother = errors.New("the phase needs another plan")
)

// open makes the conversation as the brief says it stands, with tools that
// work in the room.
func (ph *Phases) open(ctx context.Context, b plan.Brief, room Room, emit plan.Emit) (*session, error) {
	advice, begun, err := ph.advise(ctx, b, emit)
	if err != nil {
		return nil, err
	}
	wanted := newAnother(b)
	offered, files, shut, err := ph.offered(b, room, wanted)
	if err != nil {
		return nil, fmt.Errorf("open the tools of %s: %w", b.Phase, err)
	}
	var format *loop.Format
	var ran *record
	if TraitsOf(b.Phase).Judges {
		format = &loop.Format{Name: "verdict", Schema: ph.cfg.Kit.Verdict}
		ran = newRecord(b.Past)
		emit = ran.watch(emit)
		files := newMadeFiles(room, b.Past, ph.cfg.RedactRead)
		if err := files.putBack(ctx, ph.cfg.Blob); err != nil {
			return nil, errors.Join(err, shut())
		}
		offered = recordCommands(offered, ran, room, files)
	}
	var hooks loop.Hooks
	var filters []loop.Filter
	if ph.cfg.Watch != nil {
		hooks, filters = ph.cfg.Watch(b, room.Dir, emit)
	}
	chosen := ph.choose(b)
	if err := chosen.record(ctx, b, emit); err != nil {
		return nil, errors.Join(err, shut())
	}
	cfg := ph.conversing(b, chosen.model)
	if cfg.Before, err = ph.carried(b, chosen.model); err != nil {
		return nil, errors.Join(err, shut())
	}
	cfg.Wire, cfg.WireOf = chosen.wire, ph.cfg.Wire
	cfg.Tools, cfg.Format, cfg.Emit = offered, format, emit
	cfg.Parts = partsOf(advice)
	if TraitsOf(b.Phase).Writes {
		cfg.Closes = leftOpen().MatchString
	}
	cfg.Shared = ph.cfg.Kit.shared(b.Phase)
	cfg.Hooks, cfg.Filters = loop.Join(loop.Join(advised(advice), wanted.hooks()), hooks), filters
	l, err := loop.New(cfg, b.Past)
	if err != nil {
		return nil, errors.Join(err, shut())
	}
	prompts, judged := recordedPrompts(b)
	return &session{
		loop:       l,
		close:      shut,
		files:      files,
		redactRead: ph.cfg.RedactRead,
		recorded:   prompts,
		judged:     judged,
		brief:      b,
		phase:      b.Phase,
		mark:       advice != "" && !begun,
		ran:        ran,
		room:       room,
		emit:       emit,
		another:    wanted,
	}, nil
}

// conversing is what a conversation of a phase is made of, apart from what is
// opened for it.
func (ph *Phases) conversing(b plan.Brief, model string) loop.Config {
	cfg := loop.Config{
		Model:      ph.cfg.Model,
		Name:       model,
		System:     ph.cfg.Kit.System,
		Settings:   ph.settings(b.Phase),
		Headers:    headers(b),
		Run:        b.Run,
		Conv:       b.Conv,
		Attempt:    b.Attempt,
		Limits:     ph.limits(b.Phase),
		Part:       ph.part(b),
		Spent:      b.Spent,
		Cost:       b.Cost,
		Price:      ph.cfg.Price,
		Retry:      ph.cfg.Retry,
		Timeouts:   ph.cfg.Timeouts,
		Refuse:     func(name string) string { return refuse(b.Phase, name) },
		Redact:     ph.cfg.Redact,
		RedactRead: ph.cfg.RedactRead,
		Now:        ph.cfg.Now,
		Sleep:      ph.cfg.Sleep,
		Notice:     b.Notice,
		Mail:       ph.mail(b),
		Strategy:   ph.cfg.Strategy,

		SteerDelivery:    ph.cfg.SteerDelivery,
		FollowUpDelivery: ph.cfg.FollowUpDelivery,

		Gate:         ph.gate(),
		Conversation: ph.conversation(b.Run),
		WindowOf:     ph.cfg.Window,
		LearnWindow:  ph.cfg.LearnWindow,
		MaxOutput:    ph.cfg.MaxOutput,
		Compaction:   ph.cfg.Compaction,
		Count:        ph.cfg.Count,
	}
	if name := ph.cfg.Route.Summary; name != "" {
		cfg.SummaryModel, cfg.SummaryWhy = name, ph.cfg.Route.hint(name)+"as [route] summary asks"
	}
	return cfg
}

// ask puts the n-th prompt of this attempt (from 0) to the model and runs the
// conversation until it answers. A prompt that the journal holds already is
// not repeated. The error is errParked when the phase has to park, and errAnother
// when it needs another plan.
func (s *session) ask(ctx context.Context, n int, prompt ...plan.Message) error {
	if s.another.evidence != "" { // asked for by a process that died
		return errAnother
	}
	if n < s.recorded {
		prompt = nil
		if n < s.recorded-1 {
			s.end = answered(s.brief, n) // before the process died
			return nil
		}
	}
	if s.mark && len(prompt) > 0 {
		s.mark = false
		prompt[len(prompt)-1] = advisable(prompt[len(prompt)-1])
	}
	prompt = slices.Clone(prompt)
	for i := range prompt {
		prompt[i].Blocks = slices.Clone(prompt[i].Blocks)
		for at := range prompt[i].Blocks {
			prompt[i].Blocks[at].Text = s.redactRead(prompt[i].Blocks[at].Text)
		}
	}
	end, err := s.loop.Run(ctx, prompt...)
	if err != nil {
		return err
	}
	if s.another.evidence != "" {
		return errAnother
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
		if d, _ := describe(s.phase); d.unfinishedCounts {
			s.end = end
			return nil
		}
		return &Error{
			Err:    fmt.Errorf("%s made no progress: %s", s.phase, end.Text),
			Advice: "Say more precisely what is wanted, or run it with another model (--model).",
		}
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
		p.Waiting = append(p.Waiting, plan.WaitingCall{
			Call:     c.Call,
			Name:     c.Name,
			Args:     c.Args,
			Why:      c.Why,
			Rule:     c.Rule,
			Effect:   c.Effect,
			Grant:    c.Grant,
			Question: c.Question,
			Options:  c.Options,
			Digest:   c.Digest,
		})
	}
	first := calls[0]
	if p.Detail = first.Question; p.Detail == "" {
		p.Detail = fmt.Sprintf("may it call %s %s?", first.Name, first.Args)
	}
	return p
}

func vetoDetail(why string) string {
	if why == "" {
		why = "see the last hook in `plan show --events`"
	}
	return "a hook does not let it go on: " + why
}

func limitDetail(l plan.LimitHit) string {
	if l.Kind == "time" {
		limit := time.Duration(l.Max * float64(time.Second))
		return fmt.Sprintf("time: the time limit of %s is reached; going on gives the run as much again", limit)
	}
	format := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	used := fmt.Sprintf("%s: %s of %s used", l.Kind, format(l.Value), format(l.Max))
	if l.Kind == "cost" && l.Value < l.Max {
		used += ", and the next call could cost more than is left"
	}
	switch {
	case l.Of != "":
		return fmt.Sprintf("%s, which is all that [%s] allows; go on with a higher --phase-limit %s.max_%s=N",
			used, l.Of, strings.TrimPrefix(l.Of, "phase."), l.Kind)
	case l.Kind == "context":
		return used + "; go on with --compaction full, or a --model with a larger window"
	}
	return used + "; go on with a higher --max-" + l.Kind
}

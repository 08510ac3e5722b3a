package phases

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/loop"
)

// Error is a failure that ends the run, with advice.
type Error struct {
	Err    error
	Advice string
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.Advice }

func errEmpty(phase, subject string) error {
	return &Error{
		Err:    fmt.Errorf("%s handed over no %s: the model's last message was empty or cut off", phase, subject),
		Advice: "Run it again, perhaps with another model (--model) or a higher max_output_tokens.",
	}
}

// shortWait is when to try again after a failure that named no time.
const shortWait = time.Minute

// classify decides what a failed phase means for the run. Going on later, or with
// other settings, can help in most cases: those park it. A wrong key or an
// unknown model before anything was done ends it.
func (ph *Phases) classify(err error, b plan.Brief, worked bool) (plan.Outcome, error) {
	var me *loop.ModelError
	if !errors.As(err, &me) {
		return plan.Outcome{}, err
	}
	model := ph.choose(b).model
	if worked && (me.Kind == loop.ErrAuth || me.Kind == loop.ErrNotFound) {
		// It answered before, so this is a key that ran out or a model that was
		// withdrawn; what was done so far is not lost for that.
		advice := fmt.Sprintf("check %s and the name of the model (%s) before going on", ph.keyOf(model), model)
		return park(plan.ParkLimit, nil, me, advice), nil
	}
	wake := ph.cfg.Now().UTC().Add(shortWait)
	switch me.Kind {
	case loop.ErrRateLimit:
		if me.RetryAfter > 0 {
			wake = ph.cfg.Now().UTC().Add(me.RetryAfter)
		}
		return park(plan.ParkRateLimit, &wake, me, ""), nil
	case loop.ErrUnserved, loop.ErrServed:
		return park(plan.ParkRateLimit, &wake, me, ""), nil
	case loop.ErrIdle: // it took the request, and no answer reached an end
		return park(plan.ParkUnreachable, &wake, me, ""), nil
	case loop.ErrUnreachable:
		advice := "check the network and the base URL; `plan doctor` makes a test call"
		if !worked && !me.Answered {
			return park(plan.ParkUnreachable, nil, me, advice), nil
		}
		return park(plan.ParkUnreachable, &wake, me, advice), nil
	case loop.ErrQuota:
		return park(plan.ParkLimit, nil, me, "add credit, or go on with another model"), nil
	case loop.ErrFiltered:
		return park(plan.ParkRefused, nil, me, refusedAdvice(b.Phase)), nil
	case loop.ErrOverlong:
		return park(plan.ParkLimit, nil, me, "go on with another model, or with a lower max_output_tokens"), nil
	case loop.ErrTooLong:
		return park(plan.ParkLimit, nil, me, ph.shorterAdvice()), nil
	case loop.ErrAuth:
		advice := fmt.Sprintf(
			"Check %s, and that it belongs to the server at its base URL; `plan doctor` makes a test call.",
			ph.keyOf(model),
		)
		return plan.Outcome{}, &Error{Err: err, Advice: advice}
	case loop.ErrNotFound:
		advice := fmt.Sprintf(
			"Check the name of the model (%s; set it with --model or PLAN_MODEL) and the base URL, which usually "+
				"ends in /v1; "+
				"`plan doctor` lists what the server offers.",
			model,
		)
		return plan.Outcome{}, &Error{Err: err, Advice: advice}
	}
	return park(plan.ParkRefused, nil, me, changeAdvice(b.Phase)), nil
}

// keyOf names the key that a model is called with.
func (ph *Phases) keyOf(model string) string {
	name, _, within := strings.Cut(model, "/")
	if !within {
		name = ""
	}
	if ph.cfg.Provider != nil {
		name = ph.cfg.Provider(model)
	}
	if name == "" {
		return "the key of the model server (OPENAI_API_KEY)"
	}
	return "the key of provider " + name
}

// shorterAdvice says what helps where a request stays too long.
func (ph *Phases) shorterAdvice() string {
	if ph.cfg.Compaction == loop.CompactFull {
		return "go on with a --model with a larger window"
	}
	return "go on with --compaction full, or a --model with a larger window"
}

// changeAdvice says what can be changed about a request that a server refuses.
func changeAdvice(phase plan.Phase) string {
	return fmt.Sprintf("going on as it is asks the same again: go on with another model "+
		"(--model NAME, or --phase-model %s=NAME) or another effort, "+
		"or change what [providers.NAME] sends; `plan doctor` makes a small test call", phase)
}

// refusedDetail says whose refusal it is, in its own words, and what can be
// done about it.
func refusedDetail(phase plan.Phase, end loop.End) string {
	detail, word := "the model refused", end.Finish
	if end.Stop == loop.StopFiltered {
		detail = "a content filter of the model server ended the answer"
	}
	if word == "" {
		word = string(end.Stop)
	}
	detail += fmt.Sprintf(" (stop reason %s)", word)
	if text := strings.TrimSpace(end.Text); text != "" {
		detail += ": " + quote(text)
	}
	return detail + "; " + refusedAdvice(phase)
}

func refusedAdvice(phase plan.Phase) string {
	return fmt.Sprintf(
		"go on with another model (--model NAME, or --phase-model %s=NAME), say more with `plan tell`, "+
			"or put the request otherwise in a new run; going on as it is asks again",
		phase,
	)
}

// quotedWords bounds how much of a model's words stands in a detail, in runes.
const quotedWords = 300

// quote puts a model's words on one line.
func quote(text string) string {
	return fmt.Sprintf("%q", oneline.Cut(oneline.Of(text), quotedWords))
}

// park stops a phase where it stands. Advice says what to do, where going on
// later is not enough.
func park(reason plan.ParkReason, wake *time.Time, cause error, advice string) plan.Outcome {
	detail := cause.Error()
	if advice != "" {
		detail += "; " + advice
	}
	return plan.Outcome{Park: &plan.Parked{
		Reason: reason,
		WakeAt: wake,
		Detail: detail,
	}}
}

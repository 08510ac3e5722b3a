package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
)

// LetterKind says what a letter is for.
type LetterKind string

// The kinds of letters.
const (
	// Steer is guidance for the work that is going on. It is taken in before
	// the first turn, after tools, and at the end of each turn.
	Steer LetterKind = "steer"
	// FollowUp is a further request. It is taken in when the model is done,
	// and starts it again.
	FollowUp LetterKind = "follow_up"
	// Approve and Deny decide about a call, Reply answers a question.
	Approve LetterKind = "approve"
	Deny    LetterKind = "deny"
	Reply   LetterKind = "answer"
)

// Letter is something that a person outside has to say to a conversation.
type Letter struct {
	ID   int64 // more than 0
	Kind LetterKind
	Text string
	Call string // Approve, Deny, Reply: the call; a Reply without one is for whichever waits
	// Digest is that of what the person was shown, as in Pending. A decision that
	// has none, or another one, decides nothing.
	Digest string
	// Scope is how far an Approve reaches; default plan.ScopeOnce.
	Scope string
}

// Mailbox holds letters for a running conversation.
type Mailbox interface {
	// Waiting returns the letters that wait, oldest first, without taking
	// them. It is called between turns and between serial calls.
	Waiting(ctx context.Context) ([]Letter, error)
	// Taken is called once what became of these letters is recorded. A letter
	// that is never taken waits on: nothing is lost to a limit or a veto.
	Taken(ids ...int64)
}

// Queue is a Mailbox in memory. The zero value is empty and ready; it is safe
// for concurrent use.
type Queue struct {
	mu      sync.Mutex
	next    int64
	letters []Letter
}

// Put adds a letter.
func (q *Queue) Put(kind LetterKind, text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next++
	q.letters = append(q.letters, Letter{
		ID:   q.next,
		Kind: kind,
		Text: text,
	})
}

// Rule adds a decision about a call that waits, or an answer to it.
func (q *Queue) Rule(kind LetterKind, p Pending, text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next++
	q.letters = append(q.letters, Letter{
		ID:     q.next,
		Kind:   kind,
		Text:   text,
		Call:   p.Call,
		Digest: p.Digest,
	})
}

// Waiting implements Mailbox.
func (q *Queue) Waiting(context.Context) ([]Letter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.letters), nil
}

// Taken implements Mailbox.
func (q *Queue) Taken(ids ...int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.letters = slices.DeleteFunc(q.letters, func(l Letter) bool { return slices.Contains(ids, l.ID) })
}

// Delivery says how many waiting letters of a kind are taken in at once.
type Delivery string

// The deliveries.
const (
	OneAtATime Delivery = "" // the default
	AllAtOnce  Delivery = "all"
)

// Filter looks at the text of prompts and letters before the model does.
type Filter func(ctx context.Context, text string) Screening

// Screening is what a filter says.
type Screening struct {
	// Warn is added to the message for the model to read.
	Warn string
	// Reject keeps the message out of the conversation, and says why.
	Reject string
}

// waiting lists the letters of some kinds that have not been taken in, oldest
// first.
func (l *Loop) waiting(ctx context.Context, kinds ...LetterKind) ([]Letter, error) {
	if l.cfg.Mail == nil {
		return nil, nil
	}
	letters, err := l.cfg.Mail.Waiting(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("look for letters to the conversation: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(letters), func(x Letter) bool {
		return !slices.Contains(kinds, x.Kind) || slices.Contains(l.taking, x.ID)
	}), nil
}

// deliver takes waiting letters of a kind into the conversation, and says
// whether there was one.
func (l *Loop) deliver(ctx context.Context, kind LetterKind) (bool, error) {
	letters, err := l.waiting(ctx, kind)
	if err != nil || len(letters) == 0 {
		return false, err
	}
	mode := l.cfg.SteerDelivery
	if kind == FollowUp {
		mode = l.cfg.FollowUpDelivery
	}
	if mode == OneAtATime {
		letters = letters[:1]
	}
	accepted := false
	for _, x := range letters {
		l.taking = append(l.taking, x.ID)
		text := l.cfg.RedactRead(x.Text)
		text, why := l.applyFilters(ctx, text, x.ID)
		if why != "" {
			continue
		}
		accepted = true
		if kind == Steer {
			l.record(plan.Steering{Text: text, Letter: x.ID})
			l.appendMessage(messageFrom(guidance(text), plan.OriginSteering))
			continue
		}
		l.record(plan.FollowUp{Text: text, Letter: x.ID})
		l.appendMessage(messageFrom(text, plan.OriginFollowUp))
	}
	return accepted, nil
}

func messageFrom(text, origin string) plan.Message {
	m := plan.UserText(text)
	m.Origin = origin
	return m
}

// guidance wraps steering so that a model does not take it for a new task.
func guidance(text string) string {
	return "Guidance from the person who asked for this work, given while you are at it. " +
		"It does not replace your task; take it into account from here on.\n\n" + strings.TrimSpace(text)
}

// applyFilters passes a text through the filters, and says why it was rejected if it
// was. What they object to is recorded.
func (l *Loop) applyFilters(ctx context.Context, text string, letter int64) (fit, why string) {
	for _, f := range l.cfg.Filters {
		s := f(ctx, text)
		if s.Reject != "" {
			l.record(plan.Filtered{
				Action: "reject",
				Why:    s.Reject,
				Text:   text,
				Letter: letter,
			})
			return "", s.Reject
		}
		if s.Warn != "" {
			l.record(plan.Filtered{Action: "warn", Why: s.Warn})
			text += "\n\n[note: " + s.Warn + "]"
		}
	}
	return text, ""
}

// lettersTaken tells the mailbox which letters have been dealt with for good.
func (l *Loop) lettersTaken() {
	if len(l.taking) > 0 {
		l.cfg.Mail.Taken(l.taking...)
		l.taking = nil
	}
}

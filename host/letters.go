package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/userinfo"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
)

// Kind says what a letter to a run is for.
type Kind string

// The kinds of letters. Those up to Answer are for a conversation of the run, the
// others for the process that drives it.
const (
	Steer    = Kind(loop.Steer)    // guidance for the work that goes on
	FollowUp = Kind(loop.FollowUp) // a further request, once the implementer would be done
	Approve  = Kind(loop.Approve)  // of a call, or of the plan that waits
	Deny     = Kind(loop.Deny)     // of a call; of a plan: send it back, or end the run
	Answer   = Kind(loop.Reply)    // to a question
	cancel   = Kind("cancel")      // end the run
	Replan   = Kind("replan")      // give the plan up and make another one
)

// decides reports whether a letter is about a call, a question or a plan that waits.
func (k Kind) decides() bool { return k == Approve || k == Deny || k == Answer }

// Letter is something that is said to a run.
type Letter struct {
	// Kind is what it is for. Default: an answer where a question waits, else guidance.
	Kind Kind `json:"-"`
	// Text is the guidance, the answer, or the reason of a decision.
	Text string `json:"text"`
	// Call is the call, the question or the plan (plan.PlanCall) that is meant; ""
	// for the one that waits.
	Call string `json:"call,omitempty"`
	// Digest is that of what the person was shown (plan.WaitingCall). What waits
	// with another one is not decided about. Default: that of what waits now.
	Digest string `json:"digest,omitempty"`
	// Scope is how far an Approve reaches, as in plan.ApprovalResolved. Default:
	// plan.ScopeOnce.
	Scope string `json:"scope,omitempty"`
	// Plan is approved in the place of the plan that waits.
	Plan string `json:"plan,omitempty"`
	// Reject ends the run whose plan is denied.
	Reject bool `json:"reject,omitempty"`

	bound string // the digest that it was given, once it is about what waits
}

// Told is what becomes of a letter.
type Told struct {
	// Kind is what the letter was, where it did not say so itself.
	Kind Kind
	// Driver is the process that reads it at its next step; nil where none drives the
	// run, and the next one that resumes it reads it.
	Driver *memory.HeldError
	// Continuation is the run that goes on from the one that was told, which is final.
	// [Host.Resume] begins it, once, and drives it.
	Continuation plan.RunID
}

// Tell says something to a run. The process that drives the run reads it at its next
// step, and the next one that resumes it otherwise. What is said to a final run begins
// one that continues it. A decision, an answer or a wish that nothing waits for is
// refused: it would lie in the inbox and decide about something that comes later.
func (h *Host) Tell(ctx context.Context, id plan.RunID, l Letter) (result Told, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return result, err
	}
	err = h.postBound(ctx, db, id, &l, func() error { return h.bind(ctx, db, id, &l) })
	result.Kind = l.Kind
	if errors.Is(err, memory.ErrEnded) && (l.Kind == Steer || l.Kind == FollowUp) {
		text, err := h.continuationText(l.Text)
		if err == nil {
			err = h.requireTreeOf(ctx, id)
		}
		if err == nil {
			result.Continuation, err = h.postContinuation(ctx, db, id, text)
		}
		return result, err
	}
	if err != nil {
		return result, err
	}
	result.Driver, _ = db.Holder(id)
	return result, nil
}

// continuationText is what is said to a final run, as the request of the next one.
func (h *Host) continuationText(text string) (string, error) {
	return ReadRequest(userinfo.Redact(h.UserRedactor()(text)), `plan tell RUN "Also cover the empty list"`)
}

// postBound posts a letter that bind makes one about what waits now. It is bound anew
// where others came to the run in between: of two that decide at once, one is told what
// the other was.
func (h *Host) postBound(ctx context.Context, db *memory.DB, id plan.RunID, l *Letter, bind func() error) error {
	for {
		last, err := db.LastLetter(ctx)
		if err != nil {
			return wrap("look into the inbox", err)
		}
		if err := bind(); err != nil {
			return err
		}
		if !l.Kind.decides() {
			return h.post(ctx, db, id, *l)
		}
		if err := h.postSeen(ctx, db, id, *l, last); !errors.Is(err, memory.ErrNewLetters) {
			return err
		}
	}
}

// post puts a letter into the inbox of a run.
func (h *Host) post(ctx context.Context, db *memory.DB, id plan.RunID, l Letter) error {
	return h.postSeen(ctx, db, id, l, math.MaxInt64)
}

// postSeen is post for one that was written by what the inbox had up to the letter last,
// as [memory.DB.PostSeen]. Secrets and credentials in addresses are replaced on the way
// in: the inbox is on disk.
func (h *Host) postSeen(ctx context.Context, db *memory.DB, id plan.RunID, l Letter, last int64) error {
	known := h.UserRedactor()
	redact := func(text string) string { return userinfo.Redact(known(text)) }
	l.Text = redact(strings.TrimSpace(l.Text))
	l.Plan = redact(l.Plan)
	data, err := plan.MarshalCompact(l)
	if err != nil {
		return fmt.Errorf("write the letter: %w", err)
	}
	_, err = db.PostSeen(ctx, id, string(l.Kind), data, last)
	if errors.Is(err, memory.ErrEnded) {
		return hint.Wrap(
			fmt.Errorf("run %s is final, and nothing in it waits for that: %w", id, err),
			fmt.Sprintf("`plan tell %s TEXT` begins a run that goes on from it.", id),
		)
	}
	return err
}

// bind makes a letter one about what waits now, and refuses one that nothing waits
// for.
func (h *Host) bind(ctx context.Context, db *memory.DB, id plan.RunID, l *Letter) error {
	if l.Kind == "" {
		if err := decideKind(ctx, db, id, l); err != nil {
			return err
		}
	}
	if l.Kind == Steer || l.Kind == FollowUp {
		return nil
	}
	if l.Kind.decides() {
		waits, err := readPending(ctx, db, id)
		if err == nil {
			_, err = bindToCall(ctx, db, waits, l)
		}
		return err
	}
	run, err := Fold(ctx, db, id, nil)
	if err != nil {
		return err
	}
	if run.State.Final() || len(run.Plans) > 0 && run.State != plan.Planning {
		return nil // of a final one, post says so
	}
	return hint.New(
		fmt.Sprintf("run %s is %s: it has no plan yet that could be given up", id, run.State),
		fmt.Sprintf("Without --replan, the text reaches the implementer; `plan tell %s TEXT` reaches the "+
			"planner.", id),
	)
}

// decideKind makes a letter that does not say what it is an answer where a question
// waits, and else guidance.
func decideKind(ctx context.Context, db *memory.DB, id plan.RunID, l *Letter) error {
	l.Kind = Steer
	waits, err := readPending(ctx, db, id)
	if err != nil {
		return err
	}
	if waits.asksSomething() {
		l.Kind = Answer
	}
	return nil
}

// Unread is the guidance and the further requests that a run has not read yet, oldest first.
func (h *Host) Unread(ctx context.Context, id plan.RunID) ([]Letter, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	letters, err := db.Letters(ctx, id)
	if err != nil {
		return nil, wrap("look into the inbox", err)
	}
	var unread []Letter
	for _, l := range letters {
		read := Letter{Kind: Kind(l.Kind)}
		if (read.Kind == Steer || read.Kind == FollowUp) && json.Unmarshal(l.Data, &read) == nil {
			unread = append(unread, read)
		}
	}
	return unread, nil
}

// mailbox is the inbox of a run as a loop wants it. Taking is the journal's:
// it happens in the commit of the events that follow from a letter.
type mailbox struct {
	writer *memory.Writer
	// question is the one that the run waited with when this process went on with
	// it, "" for none or for several. Letters of earlier programs do not name what
	// they answer: it is this one, and never a later one.
	question string
	// before is the id of the last letter that may be such a one.
	before int64
}

// noCall stands where a letter names no call, and is the id of none.
const noCall = "(none)"

// openMailbox opens the inbox of a run that goes on.
func (h *Host) openMailbox(ctx context.Context, db *memory.DB, writer *memory.Writer, id plan.RunID) (mailbox, error) {
	m := mailbox{writer: writer}
	letters, err := writer.Letters(ctx)
	if err != nil || !slices.ContainsFunc(letters, isNameless) {
		return m, wrap("look into the inbox", err)
	}
	waits, err := readPending(ctx, db, id)
	if err != nil {
		return m, err
	}
	if call, err := waits.find(Letter{Kind: Answer}); err == nil {
		m.question = call.Call
	}
	for _, l := range letters {
		m.before = max(m.before, l.ID)
	}
	return m, nil
}

// isNameless reports whether a letter is an answer that does not say to what.
func isNameless(l memory.Letter) bool {
	var text Letter
	return Kind(l.Kind) == Answer && json.Unmarshal(l.Data, &text) == nil && text.Call == ""
}

// Waiting implements loop.Mailbox.
func (m mailbox) Waiting(ctx context.Context) ([]loop.Letter, error) {
	letters, err := m.writer.Letters(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]loop.Letter, 0, len(letters))
	for _, l := range letters {
		var text Letter
		if forDriver(l) || json.Unmarshal(l.Data, &text) != nil {
			continue
		}
		if isNameless(l) {
			text.Call = noCall
			if m.question != "" && l.ID <= m.before {
				text.Call = m.question
			}
		}
		out = append(out, loop.Letter{
			ID:     l.ID,
			Kind:   loop.LetterKind(l.Kind),
			Text:   text.Text,
			Call:   text.Call,
			Scope:  text.Scope,
			Digest: text.Digest,
		})
	}
	return out, nil
}

// Taken implements loop.Mailbox.
func (mailbox) Taken(...int64) {}

// forDriver reports whether a letter is for the process that drives the run, and
// not for a conversation.
func forDriver(l memory.Letter) bool {
	return Kind(l.Kind) == cancel || Kind(l.Kind) == Replan
}

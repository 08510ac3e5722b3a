package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// pending is what a run waits for people with, and what they have said about it.
type pending struct {
	run *engine.Run
	// open are the calls, questions and plans that the run waits with, each with
	// its digest.
	open []plan.WaitingCall
	// own are the digests of those that only a journal from elsewhere tells of, by call:
	// people decide about them under another one.
	own map[string]string
	// resolved says of those that were decided by whom and when.
	resolved map[string]string
	last     string   // the one of them that was decided last
	letters  []Letter // what the inbox has about them
}

// undecided are those of open about which no decision has come yet.
func (d *pending) undecided() []plan.WaitingCall {
	return slices.DeleteFunc(slices.Clone(d.open), func(w plan.WaitingCall) bool {
		return slices.ContainsFunc(d.letters, func(l Letter) bool {
			return l.Call == w.Call && l.Digest == d.digestOf(w)
		})
	})
}

// digestOf is the digest under which a decision about a call lies in the inbox.
func (d *pending) digestOf(w plan.WaitingCall) string { return cmp.Or(d.own[w.Call], w.Digest) }

// seal has people decide about what only a journal from elsewhere tells of under digests that
// its author cannot know: it may say that they are shown something else.
func (d *pending) seal(at time.Time) {
	d.own = map[string]string{}
	for i, w := range d.open {
		if w.Digest != "" {
			d.own[w.Call] = w.Digest
			d.open[i].Digest = plan.SealedDigest(at.UTC().Format(time.RFC3339Nano), w.Digest)
		}
	}
}

// readPending reads a run's journal, and what in its inbox has decided already.
func readPending(ctx context.Context, db *memory.DB, id plan.RunID) (*pending, error) {
	letters, err := db.Letters(ctx, id) // first: one that is taken meanwhile stands in the journal then
	if err != nil {
		return nil, wrap("read the inbox", err)
	}
	past, err := db.ReadAll(ctx, id)
	if err != nil {
		return nil, wrap("read the journal", err)
	}
	from, err := readStory(ctx, db, id, past)
	if err != nil {
		return nil, err
	}
	d := &pending{
		run:      &engine.Run{},
		resolved: map[string]string{},
	}
	for _, ev := range past {
		ev = from.tell(ev)
		d.run.Apply(ev)
		d.apply(ev)
	}
	d.readLetters(letters)
	if d.run.Parked == nil {
		d.open = nil // what it has asked, it asks of the process that drives it
		return d, nil
	}
	waiting := d.run.Parked.Waiting
	if len(waiting) > 0 { // else an earlier program parked it
		d.open = slices.Clone(waiting)
	}
	d.bind()
	if from.isForeign() && len(waiting) == 0 {
		at, err := db.ImportedAt(ctx, id)
		if err != nil {
			return nil, err
		}
		d.seal(at)
	}
	return d, nil
}

// apply takes in what an event asks people, or says that was decided.
func (d *pending) apply(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.ApprovalRequired:
		d.close(b.Call) // asked again: it has changed
		delete(d.resolved, b.Call)
		d.open = append(d.open, plan.WaitingCall{
			Call:   b.Call,
			Name:   b.Name,
			Args:   b.Args,
			Why:    b.Why,
			Rule:   b.Rule,
			Effect: b.Effect,
			Grant:  b.Grant,
			Digest: b.Digest,
		})
	case plan.Question:
		d.open = append(d.open, plan.WaitingCall{
			Call:     b.Call,
			Question: b.Question,
			Options:  b.Options,
		})
	case plan.ApprovalResolved:
		d.resolve(b.Call, decisionWord(b), b.By, ev.Time)
	case plan.Answered:
		d.resolve(b.Call, "answered", b.By, ev.Time)
	case plan.ToolEnd:
		d.close(b.Call)
	}
}

func (d *pending) close(call string) {
	d.open = slices.DeleteFunc(d.open, func(w plan.WaitingCall) bool { return w.Call == call })
}

func (d *pending) resolve(call, how, by string, at time.Time) {
	d.close(call)
	d.last = call
	d.resolved[call] = fmt.Sprintf("%s by %s at %s", how, by, ClockTime(at))
}

// bind gives what waits its digest, and a plan its text.
func (d *pending) bind() {
	text := ""
	if doc := d.run.Plan(); doc != nil {
		text = doc.Text
	}
	for i, w := range d.open {
		if w.IsPlan() && w.Effect == "" {
			w.Effect = text
		}
		if w.Question == "" || w.Name != "" { // else an earlier program asked it
			w = w.Bound(text)
		}
		d.open[i] = w
	}
}

// readLetters adds what was decided and is yet to be read by the process that drives
// the run.
func (d *pending) readLetters(letters []memory.Letter) {
	for _, l := range letters {
		var text Letter
		if !Kind(l.Kind).decides() || json.Unmarshal(l.Data, &text) != nil {
			continue
		}
		d.letters = append(d.letters, text)
		if d.resolved[text.Call] != "" {
			continue
		}
		d.last = text.Call
		d.resolved[text.Call] = fmt.Sprintf("%s by person at %s", letterWord(l), ClockTime(l.Created))
	}
}

func letterWord(l memory.Letter) string {
	return map[Kind]string{
		Approve: "approved",
		Deny:    "denied",
		Answer:  "answered",
	}[Kind(l.Kind)]
}

func decisionWord(b plan.ApprovalResolved) string {
	if b.Approved {
		return "approved"
	}
	return "denied"
}

// ClockTime is when something was decided, as people are told.
func ClockTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// bindToCall makes a decision, or an answer, one about what waits now: the call that
// it names, or the only one that waits. It refuses one about anything else, and a
// second one.
func bindToCall(ctx context.Context, db *memory.DB, waits *pending, l *Letter) (plan.WaitingCall, error) {
	id := waits.run.ID
	if waits.run.State.Final() && waits.resolved[l.Call] == "" {
		return plan.WaitingCall{}, nil // post says so
	}
	call, err := waits.find(*l)
	if err != nil {
		return call, err
	}
	if l.Digest != "" && call.Digest != "" && l.Digest != call.Digest && l.bound != call.Digest {
		return call, hint.New(
			fmt.Sprintf("call %s of run %s waits with the digest %s: it is not what you were shown",
				call.Call, id, call.Digest),
			fmt.Sprintf("Look at it, and decide again: plan approve %s --show", id),
		)
	}
	l.Call, l.Digest, l.bound = call.Call, waits.digestOf(call), call.Digest
	return call, requireFirst(ctx, db, id, plan.WaitingCall{Call: l.Call, Digest: l.Digest})
}

// asksSomething reports whether the run waits with a question.
func (d *pending) asksSomething() bool {
	return slices.ContainsFunc(d.open, func(w plan.WaitingCall) bool { return w.Question != "" })
}

// find is what a letter is about.
func (d *pending) find(l Letter) (plan.WaitingCall, error) {
	id, expected := d.run.ID, "call waits for a decision"
	if l.Kind == Answer {
		expected = "question waits for an answer"
	}
	isOther := func(w plan.WaitingCall) bool { return (w.Question != "") != (l.Kind == Answer) }
	open := slices.DeleteFunc(slices.Clone(d.open), isOther)
	if left := slices.DeleteFunc(d.undecided(), isOther); l.Call == "" && len(open) > 1 {
		open = left
	}
	named := slices.DeleteFunc(slices.Clone(open), func(w plan.WaitingCall) bool {
		return l.Call != "" && w.Call != l.Call
	})
	how := fmt.Sprintf("`plan show %s` says how it stands; `plan tell %s TEXT` gives it guidance.", id, id)
	switch resolution := d.resolved[l.Call]; {
	case len(named) == 1:
		return named[0], nil
	case resolution != "":
		return plan.WaitingCall{}, hint.New(
			fmt.Sprintf("call %q does not wait in run %s: it was %s", l.Call, id, resolution),
			how,
		)
	case l.Call != "":
		return plan.WaitingCall{}, hint.New(
			fmt.Sprintf("run %s waits with no such call: call %q does not wait", id, l.Call),
			"Those that do: "+callNames(open),
		)
	case len(open) == 0 && d.last != "":
		return plan.WaitingCall{}, hint.New(
			fmt.Sprintf("no %s in run %s; call %s was %s", expected, id, d.last, d.resolved[d.last]), how)
	case len(open) == 0:
		return plan.WaitingCall{}, hint.New(fmt.Sprintf("no %s in run %s", expected, id), how)
	}
	return plan.WaitingCall{}, hint.New(
		fmt.Sprintf("run %s waits with %d calls; say which one is meant: %s", id, len(open), callNames(open)),
		fmt.Sprintf("See them: plan approve %s --show", id),
	)
}

func callNames(calls []plan.WaitingCall) string {
	names := make([]string, len(calls))
	for i, w := range calls {
		names[i] = w.Call
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// requireFirst refuses a second decision while the first one waits to be read.
func requireFirst(ctx context.Context, db *memory.DB, id plan.RunID, call plan.WaitingCall) error {
	l, ok, err := decided(ctx, db, id, call)
	if err != nil || !ok {
		return err
	}
	return hint.New(
		fmt.Sprintf(
			"call %s of run %s was already %s by person at %s",
			call.Call,
			id,
			letterWord(l),
			ClockTime(l.Created),
		),
		fmt.Sprintf("It takes effect with: plan resume %s", id),
	)
}

// decided is the letter in a run's inbox that decides about a call.
func decided(ctx context.Context, db *memory.DB, id plan.RunID, call plan.WaitingCall) (memory.Letter, bool, error) {
	letters, err := db.Letters(ctx, id)
	if err != nil {
		return memory.Letter{}, false, err
	}
	for _, l := range letters {
		var text Letter
		if Kind(l.Kind).decides() && json.Unmarshal(l.Data, &text) == nil &&
			text.Call == call.Call && text.Digest == call.Digest {
			return l, true, nil
		}
	}
	return memory.Letter{}, false, nil
}

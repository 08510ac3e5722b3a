package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/oneline"
)

// queuedDecision is what a person decided about what a job waits with, as the queue has
// it until the job's run reads it.
type queuedDecision struct {
	Run     plan.RunID `json:"run"`
	Approve bool       `json:"approve"`
	Call    string     `json:"call"`
	Digest  string     `json:"digest"`
	Text    string     `json:"text,omitempty"`
	Plan    string     `json:"plan,omitempty"`
	Reject  bool       `json:"reject,omitempty"`
	At      time.Time  `json:"at,omitzero"`
	Machine string     `json:"machine,omitempty"` // of the person
}

// words say what was decided, by whom and when.
func (d queuedDecision) words() string {
	how := "denied"
	if d.Approve {
		how = "approved"
	}
	if d.Machine != "" {
		how += " by person on " + oneline.Of(d.Machine)
	}
	if !d.At.IsZero() {
		how += " at " + host.ClockTime(d.At)
	}
	return how
}

// Waiting is what the jobs of a batch wait with for a yes, or one of them that is named.
func (q *Queued) Waiting(ctx context.Context, prefix, job string) (nats.Batch, []WaitingJob, error) {
	b, jobs, err := q.find(ctx, prefix)
	if err == nil && job != "" {
		err = requireQueued(b.ID, jobs, []string{job})
	}
	if err != nil {
		return b, nil, err
	}
	var out []WaitingJob
	for _, j := range jobs {
		if j.State != batch.JobParked || job != "" && j.ID != job {
			continue
		}
		var res queuedResult
		result, err := q.store.Result(ctx, j)
		if err == nil {
			err = json.Unmarshal(result, &res)
		}
		if err != nil {
			return b, nil, fmt.Errorf("read job %s: %w", j.ID, err)
		}
		w := WaitingJob{
			Job:    j.ID,
			Run:    j.Run,
			stored: j,
		}
		for _, call := range res.Waits {
			if call.Question == "" {
				w.Calls = append(w.Calls, call)
			}
		}
		if len(w.Calls) > 0 {
			out = append(out, w)
		}
	}
	return b, out, nil
}

// WaitingJob is a job that waits for a yes.
type WaitingJob struct {
	Job    string             `json:"job"`
	Run    plan.RunID         `json:"run"`
	Calls  []plan.WaitingCall `json:"waiting"`
	stored nats.Job
}

// Decide decides about what a job waits with, the one that is named or the only one that
// waits, and puts it into the queue again. The decision goes with the job: it names the
// run, the call and what was shown of it, and decides about nothing else.
func (q *Queued) Decide(ctx context.Context, prefix, job string, d host.Decision) (id, decided string, err error) {
	b, waiting, err := q.Waiting(ctx, prefix, job)
	if err != nil {
		return "", "", err
	}
	names := make([]string, len(waiting))
	for i, w := range waiting {
		names[i] = w.Job
	}
	switch len(waiting) {
	case 0:
		return "", "", q.nothingWaits(ctx, b, job, d.Digest)
	case 1:
	default:
		return "", "", hint.Usage(
			"%d jobs wait; say which one is meant: --job %s",
			len(names),
			strings.Join(names, ", "),
		)
	}
	w := waiting[0]
	call, err := w.find(d)
	if err != nil {
		return "", "", err
	}
	machine, _ := os.Hostname() // "" where it has none
	if d.Show != nil {
		d.Show(call)
	}
	letter, err := json.Marshal(queuedDecision{
		Run:     w.Run,
		Approve: d.Approve,
		Call:    call.Call,
		Digest:  call.Digest,
		Text:    d.Text,
		Plan:    d.Plan,
		Reject:  d.Reject,
		At:      q.batches.host.Now().UTC(),
		Machine: machine,
	})
	if err != nil {
		return "", "", fmt.Errorf("encode the decision: %w", err)
	}
	accepted, err := q.store.Decide(ctx, b.ID, w.stored, letter)
	if err == nil && !accepted { // another one was faster
		err = q.nothingWaits(ctx, b, w.Job, call.Digest)
	}
	return b.ID, w.Job, err
}

// nothingWaits refuses a decision where no job of a batch waits, or that which is named does
// not, and says what was decided about it before.
func (q *Queued) nothingWaits(ctx context.Context, b nats.Batch, job, digest string) error {
	jobs, err := q.store.Jobs(ctx, b.ID)
	if err != nil {
		return err
	}
	text, last := fmt.Sprintf("no job of batch %s waits to be decided about", b.ID), time.Time{}
	for _, j := range jobs {
		if d, ok := lastDecision(j, digest); ok && (job == "" || j.ID == job) && d.At.After(last) {
			text, last = alreadyDecided(j, d), d.At
		}
	}
	return hint.New(text, "`plan batch show "+b.ID+" --queue URL` says how it stands.")
}

// lastDecision is the last one about what the run of a job waited with, and was shown with that
// digest if one is given.
func lastDecision(j nats.Job, digest string) (last queuedDecision, ok bool) {
	for _, letter := range append([]json.RawMessage{j.Decided}, j.Letters...) {
		var d queuedDecision
		if json.Unmarshal(letter, &d) == nil && d.Run == j.Run && (digest == "" || d.Digest == digest) {
			last, ok = d, true
		}
	}
	return last, ok
}

func alreadyDecided(j nats.Job, d queuedDecision) string {
	return fmt.Sprintf("what job %s waited with was already %s", j.ID, d.words())
}

// find is the call that a decision is about: the only one, or that which has the digest.
func (w WaitingJob) find(d host.Decision) (plan.WaitingCall, error) {
	at := slices.IndexFunc(w.Calls, func(c plan.WaitingCall) bool { return c.Digest == d.Digest })
	if len(w.Calls) == 1 && d.Digest == "" {
		at = 0
	}
	if at < 0 && d.Digest == "" {
		text := fmt.Sprintf("job %s waits with %d calls; say which one is meant:", w.Job, len(w.Calls))
		for _, c := range w.Calls {
			text += fmt.Sprintf(" --digest %s (%s);", c.Digest, oneline.Cut(c.Shown(), maxShown))
		}
		return plan.WaitingCall{}, hint.Usage("%s", strings.TrimSuffix(text, ";"))
	}
	if before, ok := lastDecision(w.stored, d.Digest); at < 0 && ok {
		return plan.WaitingCall{}, errors.New(alreadyDecided(w.stored, before))
	}
	if at < 0 {
		var digests []string
		for _, c := range w.Calls {
			digests = append(digests, c.Digest)
		}
		return plan.WaitingCall{}, fmt.Errorf("job %s waits with the digest %s: it is not what you were shown",
			w.Job, strings.Join(digests, " or "))
	}
	call := w.Calls[at]
	switch {
	case !call.IsPlan() && (d.OfPlan || d.Plan != "" || d.Reject):
		return call, fmt.Errorf("no plan of job %s waits to be approved", w.Job)
	case call.IsPlan() && !d.Approve && !d.Reject && strings.TrimSpace(d.Text) == "":
		return call, hint.Usage("say what should change about the plan, or reject it to end the run (--comment TEXT, " +
			"or --reject)")
	}
	return call, nil
}

// maxShown bounds what is said of a call where it is one of several, in runes.
const maxShown = 60

// hear puts the decisions that came with a job into the inbox of its run. One that is
// there already, or is about what does not wait any more, changes nothing.
func (r *runner) hear(ctx context.Context, try batch.Try) {
	for _, letter := range r.letters(try.Batch + "/" + try.ID) {
		var d queuedDecision
		if json.Unmarshal(letter, &d) != nil || d.Run != try.Run {
			continue
		}
		_, err := r.host.Decide(ctx, d.Run, host.Decision{
			Approve: d.Approve,
			Call:    d.Call,
			Digest:  d.Digest,
			Text:    d.Text,
			Plan:    d.Plan,
			Reject:  d.Reject,
			Scope:   plan.ScopeOnce,
		})
		if err != nil {
			r.view.note(try.ID, err.Error())
		}
	}
}

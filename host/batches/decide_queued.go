package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
		return "", "", hint.New(
			fmt.Sprintf("no job of batch %s waits to be decided about", b.ID),
			"`plan batch show "+b.ID+" --queue URL` says how it stands.",
		)
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
	})
	if err != nil {
		return "", "", fmt.Errorf("encode the decision: %w", err)
	}
	accepted, err := q.store.Decide(ctx, b.ID, w.stored, letter)
	if err == nil && !accepted {
		err = fmt.Errorf("job %s does not wait any more: another decision was faster", w.Job)
	}
	return b.ID, w.Job, err
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

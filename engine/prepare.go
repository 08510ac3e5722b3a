package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

const (
	// goWithout is the answer that does without the checks that cannot start.
	goWithout = "go on without"
	// maxAsked bounds how often a run asks about them.
	maxAsked = 3
	// setupTail is how much of a setup that failed is told, in bytes.
	setupTail = 600
)

// checksQuestion is a question about checks that cannot start, and what was answered.
type checksQuestion struct {
	plan.Question
	Answer string // "" as long as there is none
}

// isAboutChecks tells questions about checks from those of tools.
func isAboutChecks(call string) bool { return strings.HasPrefix(call, plan.ChecksCall) }

func (r *Run) applyQuestion(q plan.Question) {
	if isAboutChecks(q.Call) {
		r.asking = append(r.asking, &checksQuestion{Question: q})
	}
}

func (r *Run) applyAnswer(a plan.Answered) {
	for _, q := range r.asking {
		if q.Call == a.Call {
			q.Answer = a.Text
		}
	}
}

// lastChecksQuestion is the latest question about checks, nil before the first.
func (r *Run) lastChecksQuestion() *checksQuestion {
	if len(r.asking) == 0 {
		return nil
	}
	return r.asking[len(r.asking)-1]
}

// chosenSetup is the setup that a person chose last, of those that they were offered.
func (r *Run) chosenSetup() string {
	q := r.lastChecksQuestion()
	if q == nil || q.Answer == goWithout || !slices.Contains(q.Options, q.Answer) {
		return ""
	}
	return q.Answer
}

// prepare makes the checks possible before anything is spent, but for the first request
// of an Explore that a setup runs beside: it runs the setup, and
// where a check cannot start all the same, it asks what is to be done. A check that
// cannot start says nothing before the work and nothing after it.
func (e *Engine) prepare(ctx context.Context) (*plan.Parked, error) {
	begun := e.run.convCount > 0 && (e.cfg.Setup == "" || e.run.State != plan.Exploring)
	if begun || e.cfg.PlanOnly || e.besides() {
		return nil, nil
	}
	if err := e.setUp(ctx); err != nil {
		return nil, err
	}
	return e.askAboutChecks(ctx)
}

// setUpHere makes the checks possible on another machine than the one on which the run
// began: what a setup makes is in no snapshot.
func (e *Engine) setUpHere(ctx context.Context) error {
	if !e.run.fromElsewhere || e.run.State != plan.Implementing && e.run.State != plan.Reviewing {
		return nil
	}
	todo := slices.DeleteFunc([]string{e.cfg.Setup, e.run.chosenSetup()}, func(command string) bool {
		_, ran := e.run.setUps[command]
		return command == "" || ran
	})
	if len(todo) == 0 {
		return nil
	}
	if err := e.setUp(ctx); err != nil {
		return err
	}
	if _, err := e.runChosenSetup(ctx); err != nil {
		return err
	}
	return e.snapPrepared(ctx)
}

// snapPrepared names the tree after a setup, which may have changed it: that is no
// drift.
func (e *Engine) snapPrepared(ctx context.Context) error {
	snap, err := e.cfg.Snapshots.Snapshot(ctx, e.run.ID, "prepared")
	if err != nil {
		return &plan.Outage{Err: fmt.Errorf("take a snapshot after the setup: %w", err)}
	}
	if snap.Tree == e.run.Tree() {
		return nil
	}
	return e.emit(ctx, e.event(snap))
}

// askAboutChecks asks about checks that cannot start, until all can, or a person or a
// policy does without them.
func (e *Engine) askAboutChecks(ctx context.Context) (*plan.Parked, error) {
	if e.cfg.Unready == nil || e.cfg.Answer == nil {
		return nil, nil
	}
	for {
		q := e.run.lastChecksQuestion()
		if q != nil && q.Answer == "" {
			park, err := e.awaitAnswer(ctx, q.Question)
			if park != nil || err != nil {
				return park, err
			}
			continue
		}
		if q != nil && q.Answer == goWithout {
			return nil, nil
		}
		if asks, err := e.askNext(ctx); err != nil || !asks {
			return nil, err
		}
	}
}

// askNext runs the setup that was chosen, and asks about what cannot start then, if
// anything cannot.
func (e *Engine) askNext(ctx context.Context) (asks bool, err error) {
	output, err := e.runChosenSetup(ctx)
	if err != nil {
		return false, err
	}
	missing, err := e.cfg.Unready(ctx)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil || len(missing) == 0 || len(e.run.asking) >= maxAsked {
		return false, nil //nolint:nilerr // the baseline says the same, only later
	}
	return true, e.emit(ctx, e.event(e.question(missing, output)))
}

// runChosenSetup runs what a person chose, once, and returns what it said if it failed.
func (e *Engine) runChosenSetup(ctx context.Context) (output string, err error) {
	command := e.run.chosenSetup()
	if _, ran := e.run.setUps[command]; command == "" || ran {
		return "", nil
	}
	res, _, err := e.runCheck(ctx, plan.Check{Command: command, Source: plan.CheckSetup}, true)
	if err == nil {
		err = e.snapPrepared(ctx)
	}
	if err != nil || res.Passed() {
		return "", err
	}
	tail := strings.TrimSpace(res.Output)
	if len(tail) > setupTail {
		tail = "…" + strings.ToValidUTF8(tail[len(tail)-setupTail:], "")
	}
	return fmt.Sprintf("`%s` ended with exit code %d:\n%s\n\n", command, res.ExitCode, tail), nil
}

// question says which checks cannot start, and what can be done.
func (e *Engine) question(missing []plan.Unready, output string) plan.Question {
	q := plan.Question{Call: fmt.Sprintf("%s%d", plan.ChecksCall, len(e.run.asking)+1)}
	text := output + "These checks cannot start here, so they would say nothing of the work, before it or after it:\n"
	for _, m := range missing {
		text += fmt.Sprintf("- `%s`: %s\n", firstLine(m.Command), m.Why)
		_, ran := e.run.setUps[m.Setup]
		if m.Setup != "" && !ran && !slices.Contains(q.Options, m.Setup) {
			q.Options = append(q.Options, m.Setup)
		}
	}
	text += "Nothing has been spent yet. "
	if len(q.Options) > 0 {
		text += "Answer with the setup that is to run first (`" + strings.Join(q.Options, "`, `") + "`)"
	} else {
		text += "Set up what is missing, or name in the settings what does it (checks.setup), and cancel this run"
	}
	q.Options = append(q.Options, goWithout)
	q.Question = text + ", or `" + goWithout + "`."
	return q
}

// awaitAnswer takes the answer to a question, or waits for it. Only what was offered is
// one: a text of another kind is never run.
func (e *Engine) awaitAnswer(ctx context.Context, q plan.Question) (*plan.Parked, error) {
	args, err := json.Marshal(map[string]any{"question": q.Question, "options": q.Options})
	if err != nil {
		return nil, fmt.Errorf("describe the question about the checks: %w", err)
	}
	waiting := plan.WaitingCall{
		Call:     q.Call,
		Name:     plan.ChecksTool,
		Args:     args,
		Question: q.Question,
		Options:  q.Options,
		Digest:   plan.CallDigest(plan.ChecksTool, args),
	}
	answer, err := e.cfg.Answer(ctx, waiting)
	if err != nil {
		return nil, &plan.Outage{Err: fmt.Errorf("look for an answer about the checks: %w", err)}
	}
	if answer != nil {
		answer.Call = q.Call
		if strings.TrimSpace(answer.Text) == "" {
			answer.Text = "nothing"
		}
		return nil, e.emit(ctx, e.event(*answer))
	}
	return &plan.Parked{
		Reason:  plan.ParkQuestion,
		Detail:  q.Question,
		Waiting: []plan.WaitingCall{waiting},
	}, nil
}

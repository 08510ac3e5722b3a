package learning

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
	"github.com/plan-engine/plan/worktree"
)

// defaultReviewCycles is the limit of review cycles of a trial that does not say
// its own.
const defaultReviewCycles = 2

// maxEventLine is how long a line of a trial's events may be, in bytes.
const maxEventLine = 64 << 20

// Trial is one run that measuring a draft makes.
type Trial struct {
	Home    string // of the program for this run alone, with the user's settings
	Tree    string // the work tree: a clone at the commit that the task was done on
	Request string
}

// RunTrial makes a run, without asking a person, and gives each event of its
// journal to observe as it comes. It returns when the run has ended or parked,
// however it did; an error is a run that could not be made.
type RunTrial func(ctx context.Context, t Trial, observe func(plan.Event)) error

// Measurement is how a draft did on the tasks that it was made from.
type Measurement struct {
	Name     string         `json:"name"`
	Revision int            `json:"revision"`
	Score    float64        `json:"score"` // mean reward of the tasks with the draft, 0 to 1
	Tasks    []MeasuredTask `json:"tasks"`
}

// Counted is the number of tasks that the score is of.
func (m Measurement) Counted() int {
	n := 0
	for _, t := range m.Tasks {
		if !t.With.Neutral {
			n++
		}
	}
	return n
}

// MeasuredTask is one task, done with and without the draft.
type MeasuredTask struct {
	Run     plan.RunID  `json:"run"` // whose task it is
	With    TrialResult `json:"with"`
	Without TrialResult `json:"without"`
}

// TrialResult is how a trial ended.
type TrialResult struct {
	Outcome plan.State `json:"outcome"`
	Reviews int        `json:"reviews"`
	Tokens  int64      `json:"tokens"`
	Reward  float64    `json:"reward"`            // 0 to 1
	Neutral bool       `json:"neutral,omitempty"` // says nothing about the draft
}

// Trials is the number of runs that [Learning.Measure] makes for a draft.
func Trials(d auto.Draft) int { return 2 * len(d.Meta.Runs) }

// Measure repeats the tasks that a draft was made from, with it and without it,
// and notes the mean reward with it as the draft's score, which is where the
// router begins. It is an error if no repetition came to a review.
func (l *Learning) Measure(ctx context.Context, d auto.Draft, run RunTrial) (Measurement, error) {
	m := Measurement{
		Name:     d.Name,
		Revision: d.Revision,
	}
	sum := 0.0
	for _, id := range d.Meta.Runs {
		t, err := l.measureTask(ctx, d, id, run)
		if err != nil {
			return m, fmt.Errorf("repeat the task of run %s: %w", id, err)
		}
		m.Tasks = append(m.Tasks, t)
		if !t.With.Neutral {
			sum += t.With.Reward
		}
	}
	counted := m.Counted()
	if counted == 0 {
		return m, errors.New("none of the repetitions came to a review, so there is no score")
	}
	m.Score = sum / float64(counted)
	return m, l.library.Score(d, m.Score)
}

// measureTask does one task twice.
func (l *Learning) measureTask(
	ctx context.Context,
	d auto.Draft,
	id plan.RunID,
	run RunTrial,
) (m MeasuredTask, err error) {
	m.Run = id
	start, err := l.runStart(ctx, id)
	if err != nil {
		return m, err
	}
	room, err := scratch.New("", scratch.Skill)
	if err != nil {
		return m, fmt.Errorf("make a folder for it: %w", err)
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	dir := room.Dir
	request := withoutOverride(start.Request)
	without := Trial{
		Home:    filepath.Join(dir, "without", "home"),
		Tree:    filepath.Join(dir, "without", "tree"),
		Request: request,
	}
	with := Trial{
		Home:    filepath.Join(dir, "with", "home"),
		Tree:    filepath.Join(dir, "with", "tree"),
		Request: "@@skill=" + d.Name + " " + request,
	}
	if err := l.prepareTrial(ctx, without, start); err != nil {
		return m, err
	}
	if m.Without, err = scoreTrial(ctx, without, run); err != nil {
		return m, err
	}
	if err := l.prepareTrial(ctx, with, start); err != nil {
		return m, err
	}
	if err := os.CopyFS(filepath.Join(with.Home, "skills", d.Name), os.DirFS(d.Dir)); err != nil {
		return m, fmt.Errorf("copy the draft: %w", err)
	}
	m.With, err = scoreTrial(ctx, with, run)
	return m, err
}

// overridePart is the part of a request that names a skill.
var overridePart = lazy.Regexp(`(?i)@@skill=[-_0-9A-Za-z]+`)

// withoutOverride is a request without the part that names a skill.
func withoutOverride(request string) string {
	if at := overridePart().FindStringIndex(request); at != nil && skills.Override(request) != "" {
		request = request[:at[0]] + request[at[1]:]
	}
	return strings.TrimSpace(request)
}

// prepareTrial makes the home of a trial, with the user's settings, and its work
// tree.
func (l *Learning) prepareTrial(ctx context.Context, t Trial, start plan.RunStart) error {
	if err := os.MkdirAll(t.Home, 0o700); err != nil {
		return fmt.Errorf("make a home for it: %w", err)
	}
	if settings, err := os.ReadFile(filepath.Join(l.home, "config.toml")); err == nil {
		copied := filepath.Join(t.Home, "config.toml")
		if err := os.WriteFile(copied, settings, 0o600); err != nil { //nolint:gosec // the folder is our own
			return fmt.Errorf("copy the settings: %w", err)
		}
	}
	source, err := worktree.Open(ctx, start.Repo, l.avoid)
	if err != nil {
		return fmt.Errorf("clone the repository: %w", err)
	}
	return source.CloneAt(ctx, t.Tree, start.Base)
}

// scoreTrial runs a trial and scores it by what its journal says.
func scoreTrial(ctx context.Context, t Trial, run RunTrial) (TrialResult, error) {
	var r TrialResult
	maxCycles := defaultReviewCycles
	err := run(ctx, t, func(ev plan.Event) {
		switch b := ev.Body.(type) {
		case plan.RunStart:
			var cfg config.Config
			if json.Unmarshal(b.Config, &cfg) == nil && cfg.MaxReviewCycles != nil {
				maxCycles = *cfg.MaxReviewCycles
			}
		case plan.VerdictGiven:
			r.Reviews++
		case plan.RunEnd:
			r.Outcome = b.Outcome
			r.Tokens = b.Usage.Tokens()
		}
	})
	if err != nil {
		return r, err
	}
	r.Reward, r.Neutral = skills.Reward(skills.Result{
		Outcome:   r.Outcome,
		Reviews:   r.Reviews,
		MaxCycles: maxCycles,
	})
	return r, nil
}

// TrialProcess makes trials by starting a program for each: plan itself. It gets
// the environment and the home of the trial, and what it says to people goes to
// messages.
func TrialProcess(program string, environ []string, messages io.Writer) RunTrial {
	return func(ctx context.Context, t Trial, observe func(plan.Event)) error {
		cmd := exec.CommandContext(ctx, program, "-C", t.Tree, "run", "--json", "--auto-approve", "--", t.Request)
		cmd.Env = append(slices.Clone(environ), "PLAN_HOME="+t.Home)
		cmd.Stderr = messages
		out, err := cmd.StdoutPipe()
		if err != nil {
			return fmt.Errorf("read what it says: %w", err)
		}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start it: %w", err)
		}
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, maxEventLine)
		for lines.Scan() {
			var ev plan.Event
			if json.Unmarshal(lines.Bytes(), &ev) == nil {
				observe(ev)
			}
		}
		var ended *exec.ExitError // its events say how it ended
		if err := errors.Join(lines.Err(), cmd.Wait()); err != nil && !errors.As(err, &ended) {
			return fmt.Errorf("run it: %w", err)
		}
		return nil
	}
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// measured is one task of `plan skills test`, done with and without the skill.
type measured struct {
	Run     plan.RunID `json:"run"` // whose task it is
	With    trial      `json:"with"`
	Without trial      `json:"without"`
}

// trial is how one repetition of a task ended.
type trial struct {
	Outcome plan.State `json:"outcome"`
	Reviews int        `json:"reviews"`
	Tokens  int64      `json:"tokens"`
	Reward  float64    `json:"reward"`
	Neutral bool       `json:"neutral,omitempty"` // says nothing about the skill
}

func (a *app) skillsTest() *cobra.Command {
	var yes bool
	var revision int
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Do the tasks that a draft was made from again, with and without it, and note its score",
		Long: `Repeats each task that the draft was made from twice, on the commit it was done
on, in a work tree and a home of its own: once with the draft and once without.
The mean reward with it becomes its score, which is where the router begins.
This makes as many runs as it says, with the model that is set up, and costs
what they cost.`,
		Example: `  plan skills test parser-tidy --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDraft(cmd, args[0], revision, func(ctx context.Context, l *learning, d auto.Draft) error {
				if !yes {
					return usage("this makes %d runs; say --yes if that is what you want", 2*len(d.Meta.Runs))
				}
				return a.measure(ctx, l, d)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "make the runs")
	cmd.Flags().IntVar(&revision, "revision", 0, "revision `N` of the draft")
	return cmd
}

// measure repeats all tasks of a draft and notes its score.
func (a *app) measure(ctx context.Context, l *learning, d auto.Draft) error {
	var all []measured
	sum, counted := 0.0, 0
	for _, run := range d.Meta.Runs {
		m, err := a.measureTask(ctx, l, d, run)
		if err != nil {
			return fmt.Errorf("repeat the task of run %s: %w", run, err)
		}
		all = append(all, m)
		if !m.With.Neutral {
			sum += m.With.Reward
			counted++
		}
	}
	if counted == 0 {
		return errors.New("none of the repetitions came to a review, so there is no score")
	}
	score := sum / float64(counted)
	if err := l.library.Score(d, score); err != nil {
		return err
	}
	if a.json {
		return a.document(map[string]any{"name": d.Name, "revision": d.Revision, "score": score, "tasks": all})
	}
	fmt.Fprintf(a.out, "%s revision %d: score %.2f over %d tasks\n", d.Name, d.Revision, score, counted)
	for _, m := range all {
		fmt.Fprintf(
			a.out,
			"  %s  with %s after %d reviews, %s tokens · without %s after %d reviews, %s tokens\n",
			m.Run,
			m.With.Outcome,
			m.With.Reviews,
			render.Tokens(m.With.Tokens),
			m.Without.Outcome,
			m.Without.Reviews,
			render.Tokens(m.Without.Tokens),
		)
	}
	return nil
}

// measureTask does one task twice.
func (a *app) measureTask(ctx context.Context, l *learning, d auto.Draft, run plan.RunID) (m measured, err error) {
	m.Run = run
	start, err := startOf(ctx, l.db, run)
	if err != nil {
		return m, err
	}
	room, err := os.MkdirTemp("", "plan-skill-")
	if err != nil {
		return m, fmt.Errorf("make a folder for it: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(room)) }()
	request := strings.TrimSpace(strings.Replace(start.Request, overrideOf(start.Request), "", 1))
	if m.Without, err = a.trial(ctx, filepath.Join(room, "without"), start, request, nil); err != nil {
		return m, err
	}
	m.With, err = a.trial(ctx, filepath.Join(room, "with"), start, "@@skill="+d.Name+" "+request, &d)
	return m, err
}

// overrideOf is the part of a request that names a skill.
func overrideOf(request string) string {
	name := skills.Override(request)
	if name == "" {
		return ""
	}
	i := strings.Index(request, "="+name)
	return request[i-len("@@skill") : i+1+len(name)]
}

func startOf(ctx context.Context, db *memory.DB, run plan.RunID) (plan.RunStart, error) {
	for ev, err := range db.Events(ctx, run, memory.Query{Types: []plan.EventType{plan.TypeRunStart}}) {
		if err != nil {
			return plan.RunStart{}, err
		}
		if b, ok := ev.Body.(plan.RunStart); ok {
			return b, nil
		}
	}
	return plan.RunStart{}, errors.New("it has no beginning")
}

// trial does a task in a clone and a home of its own, which hold the user's
// settings and, if there is one, the draft as an ordinary skill.
func (a *app) trial(
	ctx context.Context,
	dir string,
	start plan.RunStart,
	request string,
	d *auto.Draft,
) (trial, error) {
	home, tree := filepath.Join(dir, "home"), filepath.Join(dir, "tree")
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return trial{}, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return trial{}, fmt.Errorf("make a home for it: %w", err)
	}
	if settings, err := os.ReadFile(filepath.Join(paths.Home, "config.toml")); err == nil {
		if err := os.WriteFile(filepath.Join(home, "config.toml"), settings, 0o600); err != nil { //nolint:gosec // the folder is our own
			return trial{}, fmt.Errorf("copy the settings: %w", err)
		}
	}
	if d != nil {
		if err := os.CopyFS(filepath.Join(home, "skills", d.Name), os.DirFS(d.Dir)); err != nil {
			return trial{}, fmt.Errorf("copy the draft: %w", err)
		}
	}
	for _, git := range [][]string{{"clone", "-q", "--shared", "--no-checkout", start.Repo, tree}, {"-C", tree, "checkout", "-q", start.Base}} {
		if out, err := exec.CommandContext(ctx, "git", git...).CombinedOutput(); err != nil {
			return trial{}, fmt.Errorf("git %s: %w: %s", git[0], err, out)
		}
	}
	return a.runTrial(ctx, home, tree, request)
}

// runTrial runs the task in a process of its own and reads what it says.
func (a *app) runTrial(ctx context.Context, home, tree, request string) (trial, error) {
	self, err := os.Executable()
	if err != nil {
		return trial{}, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "-C", tree, "run", "--json", "--auto-approve", "--", request)
	cmd.Env = append(a.environ[:len(a.environ):len(a.environ)], "PLAN_HOME="+home)
	cmd.Stderr = a.err
	out, err := cmd.StdoutPipe()
	if err != nil {
		return trial{}, fmt.Errorf("read what it says: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return trial{}, fmt.Errorf("start it: %w", err)
	}
	var t trial
	maxCycles := 2
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var ev plan.Event
		if json.Unmarshal(lines.Bytes(), &ev) != nil {
			continue
		}
		switch b := ev.Body.(type) {
		case plan.RunStart:
			var cfg config.Config
			if json.Unmarshal(b.Config, &cfg) == nil && cfg.MaxReviewCycles != nil {
				maxCycles = *cfg.MaxReviewCycles
			}
		case plan.VerdictGiven:
			t.Reviews++
		case plan.RunEnd:
			t.Outcome, t.Tokens = b.Outcome, b.Usage.Tokens()
		}
	}
	var ended *exec.ExitError
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil && !errors.As(err, &ended) {
		return t, fmt.Errorf("run it: %w", err)
	}
	t.Reward, t.Neutral = skills.Reward(skills.Result{
		Outcome:   t.Outcome,
		Reviews:   t.Reviews,
		MaxCycles: maxCycles,
	})
	return t, nil
}

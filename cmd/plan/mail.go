package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/command"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

// tellCommand makes a command that sends text to a run. Without a kind, the host finds
// out which it is.
func (a *app) tellCommand(use, short, long string, kind host.Kind) *cobra.Command {
	var replan, after bool
	var then reader
	letter := func(text []string) host.Letter {
		l := host.Letter{
			Kind: kind,
			Text: strings.Join(text, " "),
		}
		switch {
		case replan:
			l.Kind = host.Replan
		case after:
			l.Kind = host.FollowUp
		}
		return l
	}
	cmd := &cobra.Command{
		Use:   use + " RUN TEXT",
		Short: short,
		Long:  long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 || strings.TrimSpace(strings.Join(args[1:], " ")) == "" {
				return usage("%s needs the id of a run and a text", cmd.CommandPath())
			}
			return nil
		},
		Example: fmt.Sprintf("  plan %s 01JX \"Keep the old flag working\"", use),
		RunE: func(cmd *cobra.Command, args []string) error {
			l := letter(args[1:])
			return a.deliver(cmd.Context(), args[0], &then, func(id plan.RunID) (host.Told, error) {
				return a.host.Tell(cmd.Context(), id, l)
			})
		},
	}
	if kind == "" {
		cmd.Flags().BoolVar(&after, "after", false, "as a further request, once the implementer would be done")
	}
	if kind == host.FollowUp || kind == "" {
		cmd.Flags().BoolVar(&replan, "replan", false, "give the plan up for it and make another one now")
	}
	then.register(cmd)
	return a.machines().Tell(cmd, letter)
}

// decideCommand makes a command that decides about what a run waits with.
func (a *app) decideCommand(use, short string, approve bool) *cobra.Command {
	var then reader
	flags := decisionFlags{approve: approve}
	cmd := &cobra.Command{
		Use:     use + " RUN [CALL]",
		Short:   short,
		Example: fmt.Sprintf("  plan %s 01JX --reason \"as discussed\" --resume", use),
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.show {
				return a.showApprovals(cmd.Context(), args[0])
			}
			d, err := flags.decision(a, args[1:])
			if err != nil {
				return err
			}
			return a.deliver(cmd.Context(), args[0], &then, func(id plan.RunID) (result host.Told, err error) {
				d.Show = func(call plan.WaitingCall) {
					then.decided = &call
					render.WriteCall(a.forPeople(), call)
				}
				result.Driver, err = a.host.Decide(cmd.Context(), id, d)
				return result, err
			})
		},
	}
	flags.register(cmd)
	then.register(cmd)
	return cmd
}

// decisionFlags are what approve and deny take.
type decisionFlags struct {
	approve bool

	reason            string
	show, run, always bool // of approve
	plan              string
	comment           string // of deny
	reject            bool
	digest            string
}

func (f *decisionFlags) register(cmd *cobra.Command) {
	f.registerForPlan(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.digest, "digest", "", "decide only if what waits has this `DIGEST`, as approval_required says it")
	if !f.approve {
		return
	}
	fl.BoolVar(&f.show, "show", false, "show what waits, and what it would do, and decide nothing")
	fl.BoolVar(&f.run, "for-run", false, "allow the same for the rest of this run, too")
	fl.BoolVar(&f.always, "always", false, "allow the same from now on: add a rule to your config.toml")
	cmd.MarkFlagsMutuallyExclusive("show", "for-run", "always")
}

// registerForPlan registers those that make sense where only a plan can wait.
func (f *decisionFlags) registerForPlan(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.reason, "reason", "", "a `TEXT` that the model reads")
	if f.approve {
		fl.StringVar(&f.plan, "plan", "",
			"where a plan waits: approve the text in `FILE` (- for standard input) in its place")
		return
	}
	fl.StringVar(&f.comment, "comment", "", "where a plan waits: send it back with this `TEXT`, to be written anew")
	fl.BoolVar(&f.reject, "reject", false, "where a plan waits: end the run")
	cmd.MarkFlagsMutuallyExclusive("comment", "reject")
}

// decision is what the flags and the name of a call say.
func (f *decisionFlags) decision(a *app, call []string) (d host.Decision, err error) {
	d = host.Decision{
		Approve: f.approve,
		Call:    strings.Join(call, ""),
		Digest:  f.digest,
		Text:    f.reason,
		Reject:  f.reject,
		OfPlan:  f.comment != "",
	}
	if f.comment != "" {
		d.Text = f.comment
	}
	switch {
	case f.run:
		d.Scope = plan.ScopeRun
	case f.always:
		d.Scope = plan.ScopeAlways
	}
	if f.plan != "" {
		d.Plan, err = a.readPlan(f.plan)
	}
	return d, err
}

// reader says which process is to read a letter to a run that none drives.
type reader struct {
	resume  bool
	decided *plan.WaitingCall // what the letter decides about; nil for none
}

func (r *reader) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.resume, "resume", false, "go on with the run in this process, if no other one drives it")
}

// deliver sends a letter and says when it will be read, or reads it here.
func (a *app) deliver(
	ctx context.Context,
	prefix string,
	then *reader,
	send func(plan.RunID) (host.Told, error),
) error {
	id, err := a.host.ResolveAt(ctx, prefix, a.dir)
	if err != nil {
		return err
	}
	result, err := send(id)
	if err != nil {
		return err
	}
	if result.Continuation != "" {
		return a.continueWith(ctx, id, result.Continuation)
	}
	driver := result.Driver
	if then.resume {
		err := a.resumeRun(ctx, id, host.Options{})
		if !errors.As(err, &driver) {
			return err
		}
	}
	if driver != nil {
		return a.confirmLetter(id, "now", fmt.Sprintf("process %d reads it at its next step", driver.PID), then.decided)
	}
	return a.confirmLetter(id, "resume", fmt.Sprintf(
		"it waits; nobody is driving the run now, so go on with: plan resume %s", id), then.decided)
}

// continueWith says which run goes on from a final one, and drives it. With --json that
// is the one document; the run itself is shown by others.
func (a *app) continueWith(ctx context.Context, id, next plan.RunID) error {
	text := fmt.Sprintf("it is final; run %s goes on from it", next)
	if !a.json {
		if err := a.confirm(id, text); err != nil {
			return err
		}
		return a.resumeRun(ctx, next, host.Options{})
	}
	if err := a.document(map[string]any{"id": id, "run": next, "reaches": "run", "result": text}); err != nil {
		return err
	}
	ctx, stop := a.interruptible(ctx)
	defer stop()
	end, err := a.host.Resume(ctx, next, host.Options{}, host.Face{})
	if err != nil {
		return err
	}
	return exitWith(end.ExitCode)
}

// confirmLetter answers a command that wrote to a run: reaches is now or resume.
func (a *app) confirmLetter(id plan.RunID, reaches, text string, decided *plan.WaitingCall) error {
	if a.json {
		answer := map[string]any{"id": id, "reaches": reaches, "result": text}
		if decided != nil {
			answer["decided"] = decided
		}
		return a.document(answer)
	}
	return a.confirm(id, text)
}

// showApprovals tells what waits for a yes.
func (a *app) showApprovals(ctx context.Context, prefix string) error {
	id, err := a.host.ResolveAt(ctx, prefix, a.dir)
	if err != nil {
		return err
	}
	waiting, err := a.host.WaitingCalls(ctx, id)
	if err != nil {
		return err
	}
	document := map[string]any{"run": id, "waiting": waiting}
	return a.answer(document, func(w io.Writer) error { return render.WaitingCalls(w, id, waiting) })
}

// mailCommands are the ways to say something to a run.
func (a *app) mailCommands() []command.Row {
	tell := func(use, short, long string, kind host.Kind) func() *cobra.Command {
		return func() *cobra.Command { return a.tellCommand(use, short, long, kind) }
	}
	return []command.Row{
		{Name: "tell", Group: command.Decide, Make: tell(
			"tell",
			"Say something to a run: guidance, an answer, or what comes next",
			`Tell reaches a run within one turn, also when another process drives it. Where a
question waits, the text answers it; else it is guidance, which does not replace the
request, and which later phases and the reviewer see too. With --after it is a further
request, for when the implementer would be done. With --replan the run gives its plan
up at once, and the planner reads the text.

A run that has ended stays as it is: the text begins one that goes on from it, in the
same tree and with a budget of its own, and this process drives that. With --json its
id is there at once, as "run".`,
			"",
		)},
		{Name: "steer", Now: "tell", Make: tell("steer", "Give a running run guidance", "", host.Steer)},
		{
			Name: "follow-up",
			Now:  "tell --after",
			Make: tell("follow-up", "Add to what a run is asked to do", "", host.FollowUp),
		},
		{Name: "answer", Now: "tell", Make: tell("answer", "Answer a question of a run", "", host.Answer)},
		{Name: "approve", Group: command.Decide, Make: func() *cobra.Command {
			return a.decideCommand("approve", "Allow the call, or the plan, that a run waits with", true)
		}},
		{Name: "deny", Group: command.Decide, Make: func() *cobra.Command {
			return a.decideCommand("deny", "Refuse the call that a run waits with, or send its plan back", false)
		}},
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
)

// letterText is what a letter in the inbox holds.
type letterText struct {
	Text string `json:"text"`
	Call string `json:"call,omitempty"`
	// Scope is how far a yes reaches, as in plan.ApprovalResolved.
	Scope string `json:"scope,omitempty"`
	// Plan is approved in the place of the plan that waits; Reject ends the run.
	Plan   string `json:"plan,omitempty"`
	Reject bool   `json:"reject,omitempty"`
}

// mailbox is the inbox of a run as a loop wants it. Taking is the journal's:
// it happens in the commit of the events that follow from a letter.
type mailbox struct{ writer *memory.Writer }

// Waiting implements loop.Mailbox.
func (m mailbox) Waiting(ctx context.Context) ([]loop.Letter, error) {
	letters, err := m.writer.Letters(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]loop.Letter, 0, len(letters))
	for _, l := range letters {
		var text letterText
		if l.Kind == letterCancel || l.Kind == letterReplan || json.Unmarshal(l.Data, &text) != nil {
			continue
		}
		out = append(out, loop.Letter{
			ID:    l.ID,
			Kind:  loop.LetterKind(l.Kind),
			Text:  text.Text,
			Call:  text.Call,
			Scope: text.Scope,
		})
	}
	return out, nil
}

// Taken implements loop.Mailbox.
func (mailbox) Taken(...int64) {}

// post puts a letter into the inbox of a run. Secrets are replaced on the way
// in: the inbox is on disk.
func (a *app) post(ctx context.Context, db *memory.DB, id plan.RunID, kind loop.LetterKind, l letterText) error {
	redact := config.Redactor(a.ownSettings().Secrets(a.environ))
	l.Text, l.Plan = redact(strings.TrimSpace(l.Text)), redact(l.Plan)
	data, err := plan.MarshalCompact(l)
	if err != nil {
		return failed(fmt.Errorf("write the letter: %w", err))
	}
	_, err = db.Post(ctx, id, string(kind), data)
	if errors.Is(err, memory.ErrEnded) {
		return failed(
			&advice{
				fmt.Sprintf("run %s is final; nobody reads letters to it any more", id),
				"Start a new run with what you have to say.",
			},
		)
	}
	return failed(err)
}

// sayCommand makes a command that sends text to a run.
func (a *app) sayCommand(use, short, long string, kind loop.LetterKind) *cobra.Command {
	var replan bool
	var then reader
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
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				kind := kind
				if replan {
					kind = letterReplan
				}
				return a.deliver(ctx, db, args[0], kind, letterText{Text: strings.Join(args[1:], " ")}, then)
			})
		},
	}
	if kind == loop.FollowUp {
		cmd.Flags().BoolVar(&replan, "replan", false, "give the plan up for it and make another one now")
	}
	then.register(cmd)
	return cmd
}

// ruleCommand makes a command that decides about a waiting call.
func (a *app) ruleCommand(use, short string, kind loop.LetterKind) *cobra.Command {
	var reason string
	var then reader
	var far reach
	var flags planFlags
	cmd := &cobra.Command{
		Use:     use + " RUN [CALL]",
		Short:   short,
		Example: fmt.Sprintf("  plan %s 01JX --reason \"as discussed\" --resume", use),
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				if far.show {
					return a.showApprovals(ctx, db, args[0])
				}
				letter := letterText{Text: reason}
				if len(args) == 2 {
					letter.Call = args[1]
				}
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				if letter, err = flags.address(ctx, a, db, id, kind, letter); err != nil {
					return err
				}
				if err := a.widen(ctx, db, args[0], &letter, far); err != nil {
					return err
				}
				return a.deliver(ctx, db, string(id), kind, letter, then)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `TEXT` that the model reads")
	then.register(cmd)
	if kind == loop.Approve {
		far.register(cmd)
	}
	flags.register(cmd, kind)
	return cmd
}

// reader says who is to read a letter to a run that nobody drives.
type reader struct{ resume bool }

func (r *reader) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.resume, "resume", false, "go on with the run in this process, if no other one drives it")
}

// deliver puts a letter into a run's inbox and says when it will be read, or
// reads it here.
func (a *app) deliver(
	ctx context.Context,
	db *memory.DB,
	prefix string,
	kind loop.LetterKind,
	l letterText,
	then reader,
) error {
	id, err := findRun(ctx, db, prefix)
	if err != nil {
		return err
	}
	if err := a.wanted(ctx, db, id, kind, &l); err != nil {
		return err
	}
	if err := a.post(ctx, db, id, kind, l); err != nil {
		return err
	}
	if then.resume {
		err := a.resumeRun(ctx, db, id, said{})
		var held *memory.HeldError
		if !errors.As(err, &held) {
			return err
		}
	}
	if holder, ok := db.Holder(id); ok {
		return a.told(id, "now", fmt.Sprintf("process %d reads it at its next step", holder.PID))
	}
	return a.told(
		id,
		"resume",
		fmt.Sprintf("it waits; nobody is driving the run now, so go on with: plan resume %s", id),
	)
}

// wanted refuses a decision, an answer or a wish that nothing waits for: it
// would lie in the inbox and decide about something that comes later.
func (a *app) wanted(ctx context.Context, db *memory.DB, id plan.RunID, kind loop.LetterKind, l *letterText) error {
	if kind == loop.Steer || kind == loop.FollowUp {
		return nil
	}
	run, err := foldRun(ctx, db, id, nil)
	if err != nil {
		return failed(err)
	}
	if run.State.Final() {
		return nil // post says so
	}
	if kind == letterReplan {
		if len(run.Plans) == 0 || run.State == plan.Planning {
			return failed(&advice{
				fmt.Sprintf("run %s is %s: it has no plan yet that could be given up", id, run.State),
				fmt.Sprintf(
					"Without --replan, the text reaches the implementer; `plan steer %s TEXT` reaches the planner.",
					id,
				),
			})
		}
		return nil
	}
	return l.meet(run, kind)
}

// meet finds the call that a decision or an answer is for.
func (l *letterText) meet(run *engine.Run, kind loop.LetterKind) error {
	reason, what := plan.ParkApproval, "call waits for a decision"
	if kind == loop.Reply {
		reason, what = plan.ParkQuestion, "question waits for an answer"
	}
	var calls []string
	if run.Parked != nil {
		for _, c := range run.Parked.Waiting {
			if (c.Question != "") == (kind == loop.Reply) {
				calls = append(calls, c.Call)
			}
		}
	}
	parked := run.Parked != nil && run.Parked.Reason == reason
	switch {
	case len(calls) == 0 && !parked:
		return failed(
			&advice{
				fmt.Sprintf("no %s in run %s", what, run.ID),
				fmt.Sprintf(
					"`plan show %s` says how it stands; `plan steer %s TEXT` gives it guidance.",
					run.ID,
					run.ID,
				),
			},
		)
	case l.Call != "" && len(calls) > 0 && !slices.Contains(calls, l.Call):
		return failed(
			&advice{
				fmt.Sprintf("call %q does not wait in run %s", l.Call, run.ID),
				"Those that do: " + strings.Join(calls, ", "),
			},
		)
	}
	return nil
}

// told answers a command that wrote to a run: reaches is now or resume.
func (a *app) told(id plan.RunID, reaches, what string) error {
	if a.json {
		return a.document(map[string]any{"id": id, "reaches": reaches, "result": what})
	}
	return a.said(id, what)
}

// mailCommands are the ways to say something to a run.
func (a *app) mailCommands() []command {
	return []command{
		{"steer", func() *cobra.Command {
			return a.sayCommand(
				"steer",
				"Give a running run guidance",
				"Steer reaches the run within one turn, also when another process drives it. It does\nnot replace the request; later phases and the reviewer see it too.",
				loop.Steer,
			)
		}},
		{"follow-up", func() *cobra.Command {
			return a.sayCommand(
				"follow-up",
				"Add to what a run is asked to do",
				"The text is given to the implementer when it would otherwise be done. With --replan\nthe run gives its plan up at once, and the planner reads the text.",
				loop.FollowUp,
			)
		}},
		{"answer", func() *cobra.Command {
			return a.sayCommand("answer", "Answer a question of a run",
				"The answer goes to the question that waits. See `plan show RUN`.", loop.Reply)
		}},
		{"approve", func() *cobra.Command {
			return a.ruleCommand("approve", "Allow the call, or the plan, that a run waits with", loop.Approve)
		}},
		{"deny", func() *cobra.Command {
			return a.ruleCommand("deny", "Refuse the call that a run waits with, or send its plan back", loop.Deny)
		}},
	}
}

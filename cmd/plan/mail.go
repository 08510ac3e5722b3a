package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
)

// letterText is what a letter in the inbox holds.
type letterText struct {
	Text string `json:"text"`
	Call string `json:"call,omitempty"`
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
		if l.Kind == letterCancel || json.Unmarshal(l.Data, &text) != nil {
			continue
		}
		out = append(out, loop.Letter{ID: l.ID, Kind: loop.LetterKind(l.Kind), Text: text.Text, Call: text.Call})
	}
	return out, nil
}

// Taken implements loop.Mailbox.
func (mailbox) Taken(...int64) {}

// post puts a letter into the inbox of a run. Secrets are replaced on the way
// in: the inbox is on disk.
func (a *app) post(ctx context.Context, db *memory.DB, id plan.RunID, kind loop.LetterKind, l letterText) error {
	l.Text = config.Redactor(config.Secrets(a.environ))(strings.TrimSpace(l.Text))
	data, err := plan.MarshalCompact(l)
	if err != nil {
		return failed(fmt.Errorf("write the letter: %w", err))
	}
	_, err = db.Post(ctx, id, string(kind), data)
	if errors.Is(err, memory.ErrEnded) {
		return failed(&advice{fmt.Sprintf("run %s is final; nobody reads letters to it any more", id), "Start a new run with what you have to say."})
	}
	return failed(err)
}

// sayCommand makes a command that sends text to a run.
func (a *app) sayCommand(use, short, long string, kind loop.LetterKind) *cobra.Command {
	return &cobra.Command{
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
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				if err := a.post(ctx, db, id, kind, letterText{Text: strings.Join(args[1:], " ")}); err != nil {
					return err
				}
				return a.delivered(db, id)
			})
		},
	}
}

// ruleCommand makes a command that decides about a waiting call.
func (a *app) ruleCommand(use, short string, kind loop.LetterKind) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     use + " RUN [CALL]",
		Short:   short,
		Example: fmt.Sprintf("  plan %s 01JX --reason \"as discussed\"", use),
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				letter := letterText{Text: reason}
				if len(args) == 2 {
					letter.Call = args[1]
				}
				if err := a.post(ctx, db, id, kind, letter); err != nil {
					return err
				}
				return a.delivered(db, id)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `TEXT` that the model reads")
	return cmd
}

// delivered says when the letter will be read.
func (a *app) delivered(db *memory.DB, id plan.RunID) error {
	if holder, ok := db.Holder(id); ok {
		return a.said(id, fmt.Sprintf("process %d reads it at its next step", holder.PID))
	}
	return a.said(id, fmt.Sprintf("it waits; nobody is driving the run now, so go on with: plan resume %s", id))
}

// mailCommands are the ways to say something to a run.
func (a *app) mailCommands() []*cobra.Command {
	return []*cobra.Command{
		a.sayCommand("steer", "Give a running run guidance",
			"Steer reaches the run within one turn, also when another process drives it. It does\nnot replace the request; later phases and the reviewer see it too.", loop.Steer),
		a.sayCommand("follow-up", "Add to what a run is asked to do",
			"The text is given to the implementer when it would otherwise be done.", loop.FollowUp),
		a.sayCommand("answer", "Answer a question of a run",
			"The answer goes to the question that waits. See `plan show RUN`.", loop.Reply),
		a.ruleCommand("approve", "Allow the call that a run waits with", loop.Approve),
		a.ruleCommand("deny", "Refuse the call that a run waits with", loop.Deny),
	}
}

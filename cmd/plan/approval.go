package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
)

var _ engine.PlanApprover = desk{}

// desk brings what people decide about plans to the engine. A letter counts for
// the version that it names and for no other.
type desk struct{ w *workshop }

// Ruling implements engine.PlanApprover.
func (d desk) Ruling(ctx context.Context, doc plan.PlanDoc) (*engine.Ruling, error) {
	letters, err := d.w.writer.Letters(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range letters {
		var text letterText
		kind := loop.LetterKind(l.Kind)
		if (kind != loop.Approve && kind != loop.Deny) || json.Unmarshal(l.Data, &text) != nil ||
			text.Call != plan.PlanCall(doc.Version) {
			continue
		}
		r := &engine.Ruling{
			Approved: kind == loop.Approve,
			Rejected: text.Reject,
			Text:     text.Text,
			By:       "person",
			Letter:   l.ID,
		}
		if r.Approved && text.Plan != "" {
			if r.Plan, err = d.w.readPlan(ctx, text.Plan, doc.Base); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
	if d.w.autoApprove {
		return &engine.Ruling{Approved: true, By: "policy"}, nil
	}
	return nil, nil
}

// readPlan makes a plan of the text that a person wrote.
func (w *workshop) readPlan(ctx context.Context, text, base string) (*plan.PlanDoc, error) {
	doc := phases.ParsePlan(w.redact(text))
	names := make([]string, 0, len(doc.Files))
	for name := range doc.Files {
		names = append(names, name)
	}
	var err error
	if doc.Files, err = w.repo.Hashes(ctx, names); err != nil {
		return nil, err
	}
	doc.Base = base
	return &doc, nil
}

// planFlags are what approve and deny take when a plan waits.
type planFlags struct {
	file, comment string
	reject        bool
}

func (f *planFlags) register(cmd *cobra.Command, kind loop.LetterKind) {
	if kind == loop.Approve {
		cmd.Flags().StringVar(
			&f.file,
			"plan",
			"",
			"where a plan waits: approve the text in `FILE` (- for standard input) in its place",
		)
		return
	}
	cmd.Flags().StringVar(
		&f.comment,
		"comment",
		"",
		"where a plan waits: send it back with this `TEXT`, to be written anew",
	)
	cmd.Flags().BoolVar(&f.reject, "reject", false, "where a plan waits: end the run")
	cmd.MarkFlagsMutuallyExclusive("comment", "reject")
}

func (f *planFlags) given() bool { return f.file != "" || f.comment != "" || f.reject }

// address turns a ruling into one about the plan that waits, if one does. It
// then names the version that waits now, so that it cannot meet another.
func (f *planFlags) address(
	ctx context.Context,
	a *app,
	db *memory.DB,
	id plan.RunID,
	kind loop.LetterKind,
	l letterText,
) (letterText, error) {
	call, err := waitingPlan(ctx, db, id)
	if err != nil {
		return l, failed(err)
	}
	switch {
	case call == "" && f.given():
		return l, failed(
			&advice{
				fmt.Sprintf("no plan of run %s waits to be approved", id),
				"`plan show RUN` says what a run waits for.",
			},
		)
	case call == "" || l.Call != "" && l.Call != call:
		return l, nil
	}
	info, err := db.Run(ctx, id)
	if err != nil {
		return l, failed(err)
	}
	if info.Parked == plan.ParkDrift && !f.reject {
		return l, failed(&advice{
			fmt.Sprintf(
				"the work tree of run %s changed while its plan waited, so the plan cannot be decided about yet",
				id,
			),
			fmt.Sprintf(
				"Say first whether to go on with the tree as it is: plan resume %s --accept-drift, or --replan. Then decide about the plan.",
				id,
			),
		})
	}
	l.Call, l.Reject = call, f.reject
	if f.comment != "" {
		l.Text = f.comment
	}
	if kind == loop.Deny && !f.reject && strings.TrimSpace(l.Text) == "" {
		return l, usage("say what should change about the plan with --comment TEXT, or end the run with --reject")
	}
	if f.file != "" {
		l.Plan, err = a.readText(f.file)
	}
	return l, err
}

// readText reads a plan that must not be empty.
func (a *app) readText(file string) (string, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(a.in, maxRequest))
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return "", failed(&hinted{
			fmt.Errorf("read the plan: %w", err),
			"Name a file with a plan, relative to where you are and not to -C, or - for standard input; `plan show RUN --plan` prints one to start from.",
		})
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
	if text == "" {
		return "", failed(
			&advice{fmt.Sprintf("the plan in %s is empty", file), "Write what to change and how to verify it."},
		)
	}
	return text, nil
}

// waitingPlan is the call of the plan that a run waits with, "" for none.
func waitingPlan(ctx context.Context, db *memory.DB, id plan.RunID) (string, error) {
	info, err := db.Run(ctx, id)
	if err != nil || info.Parked != plan.ParkApproval {
		return "", err
	}
	run, err := foldRun(ctx, db, id, nil)
	if err != nil || run.Parked == nil {
		return "", err
	}
	i := slices.IndexFunc(run.Parked.Waiting, plan.WaitingCall.IsPlan)
	if i < 0 {
		return "", nil
	}
	return run.Parked.Waiting[i].Call, nil
}

// askAboutPlan shows a plan to the person at the terminal and takes the
// decision. It reports false where there is none: nothing but a clear word
// approves.
func (a *app) askAboutPlan(ctx context.Context, doc *plan.PlanDoc) (loop.LetterKind, letterText, bool) {
	l := letterText{Call: plan.PlanCall(doc.Version)}
	fmt.Fprintf(a.out, "\n%s\n\n", render.SafeText(doc.Text))
	for {
		fmt.Fprintf(
			a.out,
			"Version %d: (a)pprove, (e)dit, (c)omment TEXT to send it back, (r)eject (empty: leave it for later): ",
			doc.Version,
		)
		line, ok := a.readLine(ctx)
		if !ok || line == "" {
			return "", l, false
		}
		word, text, _ := strings.Cut(line, " ")
		text = strings.TrimSpace(text)
		switch strings.ToLower(word) {
		case "a", "approve", "y", "yes":
			l.Text = text
			return loop.Approve, l, true
		case "r", "reject":
			l.Text, l.Reject = text, true
			return loop.Deny, l, true
		case "c", "comment":
			if text != "" {
				l.Text = text
				return loop.Deny, l, true
			}
		case "e", "edit":
			edited, err := a.editText(ctx, doc.Text)
			switch {
			case err != nil:
				fmt.Fprintf(a.out, "%s\n", render.SafeLine(err.Error()))
			case edited == "" || edited == strings.TrimSpace(doc.Text):
				fmt.Fprintln(a.out, "The plan is as it was.")
			default:
				l.Plan = edited
				return loop.Approve, l, true
			}
		}
	}
}

// editText opens the person's editor on a text and returns what it leaves.
func (a *app) editText(ctx context.Context, text string) (_ string, err error) {
	editor := a.getenv("VISUAL")
	if editor == "" {
		editor = a.getenv("EDITOR")
	}
	if editor == "" {
		return "", fmt.Errorf("no editor is set: set VISUAL or EDITOR, or use `plan approve RUN --plan FILE`")
	}
	dir, err := os.MkdirTemp("", "plan-edit-")
	if err != nil {
		return "", fmt.Errorf("make room for the plan: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a copy of what the journal has
	name := filepath.Join(dir, "plan.md")
	if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the plan for the editor: %w", err)
	}
	// An editor may be a command with flags, as git takes it.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", name)
	cmd.Stdout, cmd.Stderr = a.out, a.err
	if terminal, ok := a.in.(*os.File); ok {
		cmd.Stdin = terminal
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the editor %q failed: %w", editor, err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read the edited plan: %w", err)
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "�")), nil
}

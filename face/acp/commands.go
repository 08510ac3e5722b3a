package acp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// command is what a prompt that begins with its name does in place of a run.
type command struct {
	name, about, input string
	do                 doing
}

// doing carries a command out.
type doing func(s *session, ctx context.Context, t *telling, rest string) (sdk.StopReason, error)

// commands are what an editor offers behind a slash.
func commands() []command {
	return []command{
		{"ask", "Answer a question about the repository, and change nothing", "the question", (*session).ask},
		{
			"review",
			"Judge the change that the work tree holds, and change nothing",
			"what it was to do",
			(*session).review,
		},
		{"diff", "Show what the thread's newest run changed", "", (*session).diff},
		{"apply", "Bring the change over that a run made in a tree of its own", "", (*session).apply},
		{"undo", "Put the tree back as the run found it", "", (*session).undo},
	}
}

// commandOf finds the command that a prompt begins with, nil for none.
func commandOf(text string) (do doing, rest string) {
	name, rest, _ := strings.Cut(text, " ")
	for _, c := range commands() {
		if name == "/"+c.name {
			return c.do, strings.TrimSpace(rest)
		}
	}
	return nil, ""
}

// offerCommands tells the editor which there are.
func (s *session) offerCommands() {
	var list []sdk.AvailableCommand
	for _, c := range commands() {
		offered := sdk.AvailableCommand{
			Name:        c.name,
			Description: c.about,
		}
		if c.input != "" {
			offered.Input = &sdk.AvailableCommandInput{
				Unstructured: &sdk.UnstructuredCommandInput{Hint: c.input},
			}
		}
		list = append(list, offered)
	}
	newTelling(s).update(sdk.SessionUpdate{
		AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: list},
	})
}

// ask has Explore answer a question, as a run of its own.
func (s *session) ask(ctx context.Context, t *telling, rest string) (sdk.StopReason, error) {
	question, err := host.ReadRequest(rest, "/ask Where is the retry limit decided?")
	if err != nil {
		return "", err
	}
	r := s.request("")
	r.Text = question
	r.AsQuestion()
	return s.begin(ctx, t, r)
}

// review judges the change that is there, as a run of its own.
func (s *session) review(ctx context.Context, t *telling, rest string) (sdk.StopReason, error) {
	r := s.request(rest)
	r.Aim = plan.AimReview
	r.PlanOnly = false
	r.Settings.Way = ""
	return s.begin(ctx, t, r)
}

// newest is the thread's newest run, which there has to be.
func (s *session) newest() (plan.RunID, error) {
	run, _ := s.current()
	if run == "" {
		return "", invalid("there is no run in this session yet")
	}
	return run, nil
}

// diff shows the change as a patch.
func (s *session) diff(ctx context.Context, t *telling, _ string) (sdk.StopReason, error) {
	id, err := s.newest()
	if err != nil {
		return "", err
	}
	run, err := s.agent.host.Load(ctx, id)
	if err != nil {
		return "", err
	}
	change, err := s.agent.host.ChangeOf(ctx, run)
	if err != nil {
		return "", err
	}
	patch, err := change.Diff(ctx)
	if err != nil {
		return "", err
	}
	text := clean(patch)
	fence := fenceFor(text)
	t.say(fence + "diff\n" + text + "\n" + fence + "\n")
	return sdk.StopReasonEndTurn, nil
}

// apply brings the change of a run over to the user's tree.
func (s *session) apply(ctx context.Context, t *telling, _ string) (sdk.StopReason, error) {
	return s.move(ctx, t, func(id plan.RunID) (host.ApplyResult, error) {
		run, err := s.agent.host.Load(ctx, id)
		if err != nil {
			return host.ApplyResult{}, err
		}
		return s.host().Apply(ctx, run, host.Apply{})
	})
}

// undo puts the tree back.
func (s *session) undo(ctx context.Context, t *telling, _ string) (sdk.StopReason, error) {
	return s.move(ctx, t, func(id plan.RunID) (host.ApplyResult, error) {
		run, err := s.agent.host.Load(ctx, id)
		if err != nil {
			return host.ApplyResult{}, err
		}
		return s.host().Restore(ctx, run, host.Restore{To: "start"})
	})
}

// move moves a tree, and says which files.
func (s *session) move(
	_ context.Context,
	t *telling,
	how func(plan.RunID) (host.ApplyResult, error),
) (sdk.StopReason, error) {
	id, err := s.newest()
	if err != nil {
		return "", err
	}
	applied, err := how(id)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s: %d files\n", applied.Result, len(applied.Files))
	for _, name := range applied.Files {
		text += "- " + name + "\n"
	}
	for _, name := range applied.Conflicts {
		text += "- conflict: " + name + "\n"
	}
	t.say(text)
	return sdk.StopReasonEndTurn, nil
}

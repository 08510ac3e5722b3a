package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// longestProgress is how much of a headline a client is shown, in characters.
const longestProgress = 200

// progressOf tells a client that asked for it how a run goes.
func progressOf(ctx context.Context, c *sdk.CallToolRequest) func(plan.Event) {
	if c == nil || c.Session == nil || c.Params == nil || c.Params.GetProgressToken() == nil {
		return func(plan.Event) {}
	}
	token := c.Params.GetProgressToken()
	return func(ev plan.Event) {
		text := progressText(ev)
		if text == "" {
			return
		}
		_ = c.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // advice, which may get lost
			ProgressToken: token,
			Progress:      float64(ev.Seq),
			Message:       clean(text),
		})
	}
}

// progressText is what a client is told of an event; "" for nothing.
func progressText(ev plan.Event) string {
	switch b := ev.Body.(type) {
	case plan.StateChange:
		return string(b.To)
	case plan.ToolStart:
		return fmt.Sprintf("%s: %s", ev.Phase, b.Name)
	case plan.CheckStart:
		return "check: " + b.Command
	case plan.VerdictGiven:
		return "verdict: " + string(b.Verdict)
	}
	h := ev.Headline()
	if h.Level == plan.LevelDetail {
		return ""
	}
	return oneline.Cut(oneline.Of(h.String()), longestProgress)
}

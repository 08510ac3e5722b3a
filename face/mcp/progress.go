package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
)

// progressOf tells a client that asked for it how a run goes.
func progressOf(ctx context.Context, c *sdk.CallToolRequest) func(plan.Event) {
	if c == nil || c.Session == nil || c.Params == nil || c.Params.GetProgressToken() == nil {
		return func(plan.Event) {}
	}
	token := c.Params.GetProgressToken()
	return func(ev plan.Event) {
		text := ""
		switch b := ev.Body.(type) {
		case plan.StateChange:
			text = string(b.To)
		case plan.ToolStart:
			text = fmt.Sprintf("%s: %s", ev.Phase, b.Name)
		case plan.CheckStart:
			text = "check: " + b.Command
		case plan.VerdictGiven:
			text = "verdict: " + string(b.Verdict)
		default:
			return
		}
		_ = c.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // advice, which may get lost
			ProgressToken: token,
			Progress:      float64(ev.Seq),
			Message:       clean(text),
		})
	}
}

package phases

import (
	"context"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// DraftConfig is what a drafted skill is written with.
type DraftConfig struct {
	Model    loop.Model
	Name     string // of the model
	Settings loop.Settings
	Retry    loop.Retry
	Run      plan.RunID // for which the gateway counts the call
}

// WriteDraft has a model write the body of a drafted skill from what the runs
// had in common. The conversation has no tools and belongs to no run.
func WriteDraft(ctx context.Context, cfg DraftConfig, draft string) (body string, used plan.Usage, err error) {
	system, err := promptFile("system")
	if err != nil {
		return "", used, err
	}
	prompt, err := promptFile("draft")
	if err != nil {
		return "", used, err
	}
	l, err := loop.New(loop.Config{
		Model:    cfg.Model,
		Name:     cfg.Name,
		System:   system,
		Settings: cfg.Settings,
		Retry:    cfg.Retry,
		Conv:     "draft",
		Headers:  map[string]string{"X-Plan-Run": string(cfg.Run), "X-Plan-Phase": "draft", "X-Plan-Attempt": "1"},
		Limits:   plan.Limits{Turns: 1},
		Emit: func(_ context.Context, events ...plan.Event) error {
			for _, ev := range events {
				if u, ok := ev.Body.(plan.UsageReport); ok {
					used = used.Add(u.Usage)
				}
			}
			return nil
		},
	}, nil)
	if err != nil {
		return "", used, err
	}
	end, err := l.Run(ctx, plan.UserText(compose(prompt, map[string]string{"DRAFT": fence("draft", "", draft)})))
	if err != nil {
		return "", used, err
	}
	if end.Reason == loop.Refused {
		return "", used, fmt.Errorf("the draft stays as it is: %s", refusedDetail("draft", end))
	}
	if body = strings.TrimSpace(end.Text); body == "" || end.Cut {
		return "", used, fmt.Errorf("the model handed over no whole text; the draft stays as it is")
	}
	return body, used, nil
}

package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/phases"
)

// stored is the settings as a run keeps them.
type stored struct {
	config.Config
	PlanOnly     bool `json:"plan_only,omitempty"`
	ChecksByFlag bool `json:"checks_by_flag,omitempty"`
}

// startConfig is what a run keeps of its settings, without keys.
func startConfig(cfg config.Config, r Request) json.RawMessage {
	cfg.Publish = "" // none of a run's business
	cfg.PublishInterval = config.Of(0)
	cfg.Terminal = config.TerminalConfig{}
	cfg.Serve = config.ServeConfig{}
	data, err := plan.MarshalCompact(stored{
		Config:       cfg.Public(),
		PlanOnly:     r.PlanOnly,
		ChecksByFlag: len(r.Settings.Checks.Required) > 0,
	})
	if err != nil {
		return json.RawMessage("{}") // the settings are plain data; this cannot happen
	}
	return data
}

// kitOf are the prompts and tools of a run that goes on: those that it was started
// with, and for one that was begun elsewhere those of this version.
func (s *session) kitOf(ctx context.Context, start *plan.RunStart, from story) (phases.Kit, error) {
	if from.isForeign() {
		return s.newKit(ctx, start.Request)
	}
	return s.loadKit(ctx, start)
}

// loadKit reads the prompts and tools that a run was started with.
func (s *session) loadKit(ctx context.Context, start *plan.RunStart) (phases.Kit, error) {
	data, err := s.db.Blob(ctx, start.Kit)
	if err != nil {
		return phases.Kit{}, wrap("read the prompts the run was started with", err)
	}
	return phases.DecodeKit(data)
}

// loadContext reads the frozen conversation that a run was started with.
func (s *session) loadContext(ctx context.Context, start *plan.RunStart) ([]plan.Message, error) {
	if start.Context == "" {
		return nil, nil
	}
	const action = "read the conversation the run was started from"
	data, err := s.db.Blob(ctx, start.Context)
	if err != nil {
		return nil, wrap(action, err)
	}
	var out []plan.Message
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", action, err)
	}
	return out, nil
}

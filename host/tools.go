package host

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/toolbox"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/loop"
)

// ListTools says which tools come from outside for the repository at dir. Sources that are not
// known are asked, behind the walls of Explore; with refresh all are.
func (h *Host) ListTools(ctx context.Context, dir string, refresh bool) (sources []toolbox.Source, err error) {
	err = h.withTools(ctx, dir, func(box *toolbox.Toolbox) (err error) {
		sources, err = box.List(ctx, plan.Explore, refresh)
		return err
	})
	return sources, err
}

// TryTool calls a tool from outside once: behind the walls of Explore if it only reads, and
// those of Implement otherwise.
func (h *Host) TryTool(ctx context.Context, dir, name, args string) (res loop.Result, err error) {
	err = h.withTools(ctx, dir, func(box *toolbox.Toolbox) (err error) {
		p := plan.Implement
		if box.Reads(name) {
			p = plan.Explore
		}
		res, err = box.Try(ctx, p, name, args)
		return err
	})
	return res, err
}

// ToolStats says what became of tools from outside, in the repository at dir or in all.
func (h *Host) ToolStats(ctx context.Context, dir string, all bool) ([]toolbox.Stats, error) {
	root := ""
	if !all {
		repo, err := h.OpenRepo(ctx, dir)
		if err != nil {
			return nil, err
		}
		root = repo.Root()
	}
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := db.ToolStats(ctx, root)
	return toolbox.StatsOf(stored), err
}

// WithServers adds servers of tools to the options of runs in dir that a program names
// beside the settings, such as an editor. A name that is taken gets a prefix. They are used
// as those of the user's own settings are; the process that goes on with a run names them again.
func (h *Host) WithServers(
	ctx context.Context,
	dir string,
	o Options,
	prefix string,
	servers []config.NamedServer,
) (Options, error) {
	settings, _, err := h.SettingsAt(ctx, dir)
	if err != nil {
		return o, err
	}
	if o.Settings.MCP, err = settings.ServersBeside(prefix, servers); err != nil {
		return o, hint.Usage("%v", err)
	}
	return o, nil
}

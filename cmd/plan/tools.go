package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/command"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host/toolbox"
)

func (a *app) toolsCommand() *cobra.Command {
	return command.Tools{List: a.listTools, Try: a.tryTool, Stats: a.toolStats}.Command()
}

func (a *app) listTools(ctx context.Context, refresh bool) error {
	sources, err := a.host.ListTools(ctx, a.dir, refresh)
	if err != nil {
		return err
	}
	return a.view(sources, func(w io.Writer) error { return render.Tools(w, sources) })
}

func (a *app) tryTool(ctx context.Context, name, args string) error {
	res, err := a.host.TryTool(ctx, a.dir, name, args)
	if err != nil {
		return err
	}
	tried := toolbox.Tried{Output: res.Output, Error: res.Error}
	return a.view(tried, func(w io.Writer) error { return render.TriedTool(w, tried) })
}

func (a *app) toolStats(ctx context.Context, all bool) error {
	stats, err := a.host.ToolStats(ctx, a.dir, all)
	if err != nil {
		return err
	}
	return a.view(stats, func(w io.Writer) error { return render.ToolStats(w, stats) })
}

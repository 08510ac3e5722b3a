package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/lines"
	"github.com/plan-engine/plan/cmd/plan/machines"
	"github.com/plan-engine/plan/face/tui"
)

// session opens the terminal session where there is a terminal to live in, one of lines
// where that is to be plain text, and help where there is no person.
func (a *app) session(cmd *cobra.Command, cfg tui.Config) error {
	switch {
	case a.live():
	case a.interactive() && a.getenv("CI") == "" && !cfg.Watch:
		return failed(a.inLines(cmd.Context()))
	default:
		return failed(cmd.Help())
	}
	ctx, release := a.interruptible(cmd.Context())
	defer release()
	a.tell = func(string) {} // the session shows the notes of its runs
	defer func() { a.tell = nil }()
	return failed(tui.Session(ctx, a.onTerminalOf(cfg)))
}

// inLines opens the session of lines.
func (a *app) inLines(ctx context.Context) error {
	return (&lines.Session{
		Terminal: a.terminal(),
		Host:     a.host,
		Dir:      a.dir,
		Options:  a.viewing(),
		Complain: func(err error) { a.ended(failed(err), "plan") },
		Drive:    a.drive,
		Diff:     func(ctx context.Context, id plan.RunID) error { return a.diff(ctx, id, false, false) },
	}).Run(ctx)
}

// live reports whether there is a person at a terminal that can be drawn on, and who
// has not asked for plain text.
func (a *app) live() bool {
	return a.interactive() && !a.plain && a.getenv("NO_COLOR") == "" && a.getenv("CI") == "" && !a.viewing().ASCII
}

// onTerminalOf fills in what the session and the live view know of the world.
func (a *app) onTerminalOf(cfg tui.Config) tui.Config {
	cfg.In, _ = a.in.(*os.File)
	cfg.Out, _ = a.out.(*os.File)
	a.restore = tui.OpenTerminal(cfg.In, cfg.Out).Restore
	cfg.Host, cfg.Dir, cfg.Environ, cfg.Now, cfg.Kill = a.host, a.dir, a.environ, a.now, a.kill
	return cfg
}

func (a *app) watchCommand() *cobra.Command {
	var queue string
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "See all that goes on and waits, and answer it",
		Long: `Watch shows the runs and batches of all repositories that go on, wait for you or
are parked. Enter opens a run, where what waits is decided; leaving it changes
nothing about it. With --queue the batches there are shown, too. Where there is no
terminal, "plan list" and "plan batch list" tell the same.`,
		Example: `  plan watch
  plan watch --queue nats://127.0.0.1:4222`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, end, err := a.machines().Open(cmd.Context(), queue)
			if err != nil {
				return err
			}
			defer end()
			return a.session(cmd, tui.Config{Watch: true, Queue: q})
		},
	}
	machines.AddFlag(cmd, &queue)
	return cmd
}

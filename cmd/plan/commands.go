package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/command"
	"github.com/plan-engine/plan/cmd/plan/manual"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/oneline"
)

// commands are those that plan has.
func (a *app) commands() []command.Row {
	return append([]command.Row{
		{Name: "run", Make: a.runCommand, Group: command.Start},
		{Name: "ask", Make: a.askCommand, Group: command.Start},
		{Name: "review", Make: a.reviewCommand, Group: command.Start},
		{Name: "resume", Make: a.resumeCommand, Group: command.Start},
		{Name: "batch", Make: a.batchCommand, Group: command.Start},
		{Name: "queue", Make: a.machines().Queue, Group: command.Start},
		{Name: "worker", Make: a.machines().Worker, Group: command.Start},
		{Name: "acp", Make: a.acpCommand, Group: command.Start},
		{Name: "mcp", Make: a.mcpCommand, Group: command.Start},
		{Name: "fork", Make: a.forkCommand, Group: command.Start},
		{Name: "demo", Make: a.demoCommand, Group: command.Start},
		{Name: "cancel", Make: a.cancelCommand, Group: command.Decide},
		{Name: "trust", Make: a.trustCommand, Group: command.Decide},
		{Name: "watch", Make: a.watchCommand, Group: command.Look},
		{Name: "serve", Make: a.serveCommand, Group: command.Look},
		{Name: "list", Make: a.listCommand, Group: command.Look},
		{Name: "show", Make: a.showCommand, Group: command.Look},
		{Name: "diff", Make: a.diffCommand, Group: command.Look},
		{Name: "doctor", Make: a.doctorCommand, Group: command.Look},
		{Name: "models", Make: a.modelsCommand, Group: command.Look},
		{Name: "config", Make: a.configCommand, Group: command.Look},
		{Name: "version", Make: a.versionCommand, Group: command.Look},
		{Name: "apply", Make: a.applyCommand, Group: command.Keep},
		{Name: "restore", Make: a.restoreCommand, Group: command.Keep},
		{Name: "pr", Make: a.prCommand, Group: command.Keep},
		{Name: "worktree", Make: a.worktreeCommand, Group: command.Keep},
		{Name: "memory", Make: a.memoryCommand, Group: command.Keep},
		{Name: "skills", Make: a.skillsCommand, Group: command.Keep},
		{Name: "tools", Make: a.toolsCommand, Group: command.Keep},
		{Name: "journal", Make: a.journalCommand, Group: command.Keep},
		{Name: "__serve", Make: a.demoServer().ScriptCommand},
		{Name: "__man", Make: func() *cobra.Command { return manual.Command(a.fullRoot, a.now) }},
		{Name: "events", Make: a.eventsCommand, Now: "show --events"},
		{Name: "graph", Make: a.graphCommand, Now: "show --graph"},
		{Name: "backup", Make: a.backupCommand, Now: "journal backup"},
		{Name: "export", Make: a.exportCommand, Now: "journal export"},
		{Name: "import", Make: a.importCommand, Now: "journal import"},
		{Name: "gc", Make: a.gcCommand, Now: "journal gc"},
	}, a.mailCommands()...)
}

// addCommands adds the commands that args may call to the root.
func (a *app) addCommands(root *cobra.Command, args []string) {
	command.Set{
		Rows:     a.commands(),
		AllFlags: a.helpAll,
		Note:     a.note,
		Runs:     a.knownRuns,
		Failed:   failed,
	}.AddTo(root, args)
}

// fullRoot is the root with all commands and all of their flags.
func (a *app) fullRoot() *cobra.Command {
	a.helpAll = true
	root := a.root()
	a.addCommands(root, nil)
	return root
}

// journalCommand has what is done with whole journals.
func (a *app) journalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Back up, export, import and clear out the journals of runs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.backupCommand(), a.exportCommand(), a.importCommand(), a.gcCommand())
	return cmd
}

// knownRuns are the newest runs, as a shell completes them: by either end of an id.
func (a *app) knownRuns(cmd *cobra.Command) []string {
	runs, err := a.host.Runs(cmd.Context(), host.Filter{Limit: 50})
	if err != nil {
		return nil
	}
	out := []string{"latest\tthe newest of this repository"}
	for _, r := range runs {
		entry := fmt.Sprintf("\t%s: %s", r.State, render.SafeLine(oneline.Cut(host.TitleOf(r), 50)))
		out = append(out, string(r.ID)+entry, r.ID.Short()+entry)
	}
	return out
}

// runOf is the run that the first argument names; without one, the newest of the
// repository.
func (a *app) runOf(ctx context.Context, args []string) (plan.RunID, error) {
	if len(args) == 0 {
		return a.host.Latest(ctx, a.dir)
	}
	return a.host.ResolveAt(ctx, args[0], a.dir)
}

// oneArg says in plain words what is missing.
func oneArg(noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage("%s needs %s", cmd.CommandPath(), noun)
		case len(args) > 1:
			return usage("%s takes one argument, got %d; quote it if it is one", cmd.CommandPath(), len(args))
		}
		return nil
	}
}

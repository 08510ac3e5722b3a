package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// command is a command that is made when it is needed.
type command struct {
	name string
	make func() *cobra.Command
}

// commands are those that plan has.
func (a *app) commands() []command {
	return append([]command{
		{"run", a.runCommand},
		{"ask", a.askCommand},
		{"review", a.reviewCommand},
		{"resume", a.resumeCommand},
		{"watch", a.watchCommand},
		{"list", a.listCommand},
		{"show", a.showCommand},
		{"diff", a.diffCommand},
		{"events", a.eventsCommand},
		{"apply", a.applyCommand},
		{"restore", a.restoreCommand},
		{"fork", a.forkCommand},
		{"worktree", a.worktreeCommand},
		{"cancel", a.cancelCommand},
		{"graph", a.graphCommand},
		{"acp", a.acpCommand},
		{"mcp", a.mcpCommand},
		{"demo", a.demoCommand},
		{"doctor", a.doctorCommand},
		{"models", a.modelsCommand},
		{"config", a.configCommand},
		{"version", a.versionCommand},
		{"__serve", a.serveCommand},
		{"memory", a.memoryCommand},
		{"skills", a.skillsCommand},
		{"trust", a.trustCommand},
		{"batch", a.batchCommand},
		{"backup", a.backupCommand},
		{"export", a.exportCommand},
		{"import", a.importCommand},
		{"gc", a.gcCommand},
	}, a.mailCommands()...)
}

// addCommands adds the command that args call. All the others, with their flags,
// are only made where it is none of these that is meant: for help, completion,
// and advice about a name that does not exist.
func (a *app) addCommands(root *cobra.Command, args []string) {
	all := a.commands()
	named := func(c command) bool { return slices.Contains(args, c.name) }
	add := func(c command) {
		cmd := c.make()
		mapErrors(cmd)
		root.AddCommand(cmd)
	}
	for _, c := range all {
		if named(c) {
			add(c)
		}
	}
	if found, _, err := root.Find(args); err == nil && found != root {
		return
	}
	for _, c := range all {
		if !named(c) {
			add(c)
		}
	}
}

// mapErrors gives the errors of a command, and of those below it, the exit codes
// that they stand for. What cobra itself finds wrong is a usage error.
func mapErrors(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return failed(run(cmd, args)) }
	}
	for _, below := range cmd.Commands() {
		mapErrors(below)
	}
}

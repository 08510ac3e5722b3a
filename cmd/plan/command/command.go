// Package command is how the commands of plan are found: in groups by what one wants,
// by the names that they had before, with advice about a word that is none of them, and
// by what a shell completes.
package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/spell"
)

// Row is a command that is made when it is needed.
type Row struct {
	Name  string
	Make  func() *cobra.Command
	Group string
	// Now is what a command is called today that is kept under an earlier name, "" for
	// others. It works as before, is in no help, and says so.
	Now string
}

// The groups of the help.
const (
	Start  = "start"
	Decide = "decide"
	Look   = "look"
	Keep   = "keep"
)

// Set is all commands of a root, and how they are shown.
type Set struct {
	Rows     []Row
	AllFlags bool              // show also what is rarely needed
	Note     func(text string) // tells people of a name that is old
	Runs     func(cmd *cobra.Command) []string
	Failed   func(error) error // what an error of a command stands for
}

// AddTo adds the command that args call. All the others, with their flags, are only
// made where it is none of these that is meant: for help, completion, and advice about a
// name that does not exist.
func (s Set) AddTo(root *cobra.Command, args []string) {
	root.AddGroup(
		&cobra.Group{ID: Start, Title: "Start and go on:"},
		&cobra.Group{ID: Decide, Title: "Say and decide:"},
		&cobra.Group{ID: Look, Title: "Look:"},
		&cobra.Group{ID: Keep, Title: "Take over and keep:"},
	)
	root.SetHelpCommandGroupID(Keep)
	root.SetCompletionCommandGroupID(Keep)
	root.SetFlagErrorFunc(unknownFlag)
	root.Args = unknownCommand
	named := func(r Row) bool { return slices.Contains(args, r.Name) }
	for _, r := range s.Rows {
		if named(r) {
			s.add(root, r)
		}
	}
	if named, _, err := root.Find(args); err == nil && named != root {
		return
	}
	for _, r := range s.Rows {
		if !named(r) {
			s.add(root, r)
		}
	}
}

func (s Set) add(root *cobra.Command, r Row) {
	cmd := r.Make()
	cmd.GroupID = r.Group
	if r.Now != "" {
		Old(cmd, r.Now, s.Note)
	}
	s.prepare(cmd)
	root.AddCommand(cmd)
}

// prepare gives a command and those below it what all have: the exit codes that errors
// stand for, short help, completion of ids, and advice about wrong names.
func (s Set) prepare(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.Failed(run(cmd, args)) }
	}
	if cmd.HasSubCommands() {
		cmd.Args = unknownCommand
	}
	if !s.AllFlags {
		hideRare(cmd)
	}
	if words := strings.Fields(cmd.Use); s.Runs != nil && len(words) > 1 && strings.Trim(words[1], "[]") == "RUN" {
		cmd.ValidArgsFunction = func(
			cmd *cobra.Command, args []string, typed string,
		) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return beginning(s.Runs(cmd), typed), cobra.ShellCompDirectiveNoFileComp
		}
	}
	completeWords(cmd)
	for _, below := range cmd.Commands() {
		s.prepare(below)
	}
}

// beginning are the words that begin with what was typed, in upper or lower case: a shell
// that completes a word replaces it.
func beginning(names []string, typed string) []string {
	typed = strings.ToUpper(typed)
	return slices.DeleteFunc(names, func(word string) bool {
		return !strings.HasPrefix(strings.ToUpper(word), typed)
	})
}

// Old makes a command one that is kept under an earlier name.
func Old(cmd *cobra.Command, now string, note func(string)) {
	cmd.Hidden = true
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		note(fmt.Sprintf("`%s` is now `plan %s`", cmd.CommandPath(), now))
		return run(cmd, args)
	}
}

// mostFlags is how many flags of its own a command shows at once.
const mostFlags = 18

// rare are flags that few need: `--help-all` shows them.
const rare = " auto base-url compaction estimate fresh-baseline max-tokens phase-limit phase-model plan-size record " +
	"replan-on-drift replay resume resume-latest sandbox title wait "

// hideRare leaves what is rarely needed out of the help of a command with many flags.
func hideRare(cmd *cobra.Command) {
	shown := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown++
		}
	})
	if shown < mostFlags {
		return
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Hidden || strings.Contains(rare, " "+f.Name+" ")
	})
	cmd.Long += fmt.Sprintf("\n\nMore flags are in `plan %s --help-all`.", cmd.CommandPath())
}

// choices are what flags take that take one of a few.
func choices(flag string) []string {
	switch flag {
	case "way":
		return []string{"auto", "full", "short", "direct"}
	case "compaction":
		return []string{"off", "safe", "full"}
	case "plan-size":
		return []string{"short", "full"}
	case "sandbox":
		return []string{"auto", "required", "off", "namespaces", "bubblewrap", "landlock", "sandbox-exec"}
	case "state":
		return []string{
			"exploring",
			"planning",
			"implementing",
			"reviewing",
			"approved",
			"planned",
			"answered",
			"exhausted",
			"blocked",
			"failed",
			"cancelled",
			"parked",
		}
	case "phase", "phase-model":
		return []string{"explore", "plan", "critique", "implement", "review"}
	}
	return nil
}

func completeWords(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if list := choices(f.Name); list != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// unknownCommand refuses a word that is no command, and names the one that is near it.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, below := range cmd.Commands() {
		names = append(names, below.Name())
	}
	advice := meant(args[0], names, cmd.CommandPath()+" ")
	return hint.Usage("unknown command %q for %q%s", args[0], cmd.CommandPath(), advice)
}

// unknownFlag does the same for a flag.
func unknownFlag(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return hint.Usage("%s%s", err, meant(missing.GetSpecifiedName(), names, "--"))
}

// meant says which of the names is near a wrong one, "" for none.
func meant(wrong string, names []string, before string) string {
	const longest = 40
	best, least := "", min(1+max(2, len(wrong)/3), len(wrong))
	for _, name := range names {
		if d := spell.Distance(wrong[:min(len(wrong), longest)], name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", before, best)
}

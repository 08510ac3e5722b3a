package main

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "See and change what is remembered across runs",
		Long: `Facts are sentences that help later runs: conventions, commands, traps. People
add them, Implement adds them with its remember tool, and gaps that reviews
found and a run then closed become facts too. Explore is told a repository's own
while they are few, and else those that have to do with the request, as data. A
fact that you forget is not learned again.`,
		Example: `  plan memory add "Migrations are numbered and live in db/migrations"
  plan memory search flaky test
  plan memory forget 12
  plan memory style`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.memoryAdd(), a.memorySearch(), a.memoryList(), a.memoryShow(), a.memoryForget(),
		a.memoryExport(), a.memoryImport(), a.memoryStyle())
	return cmd
}

// withFacts does something with what is remembered.
func (a *app) withFacts(cmd *cobra.Command, do func(ctx context.Context, facts learning.Facts) error) error {
	return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
		return do(ctx, learning.Facts{DB: db, Now: a.now})
	})
}

// factScope is the repository that -C names, or what stands for others if it is
// not to be that one.
func (a *app) factScope(ctx context.Context, others bool, scope string) (string, error) {
	if others {
		return scope, nil
	}
	repo, err := worktree.Open(ctx, a.dir, a.host.Avoid(ctx))
	if err != nil {
		return "", err
	}
	return repo.Root(), nil
}

func (a *app) memoryAdd() *cobra.Command {
	var global bool
	var keep time.Duration
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Remember a fact for this repository",
		Example: `  plan memory add "The linter is run by make lint"
  plan memory add --global "Commit messages are imperative"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := a.factScope(cmd.Context(), global, learning.Everywhere)
			if err != nil {
				return err
			}
			return a.withFacts(cmd, func(ctx context.Context, facts learning.Facts) error {
				facts.Redact = a.host.UserRedactor()
				fact, merged, err := facts.Add(ctx, repo, strings.Join(args, " "), keep)
				if err != nil {
					return err
				}
				return a.answer(fact, func(w io.Writer) error { return render.FactAdded(w, fact, merged) })
			})
		},
	}
	cmd.Flags().BoolVar(&global, "global", false, "for every repository")
	cmd.Flags().DurationVar(&keep, "keep", 0, "forget it after this `TIME` (0: never)")
	return cmd
}

func (a *app) memorySearch() *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use:     "search WORDS",
		Short:   "Find facts by their words, the best first",
		Example: `  plan memory search migration`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			repo, err := a.factScope(cmd.Context(), all, learning.AllFacts)
			if err != nil {
				return err
			}
			return a.withFacts(cmd, func(ctx context.Context, facts learning.Facts) error {
				hits, err := facts.Search(ctx, repo, strings.Join(args, " "), limit)
				if err != nil {
					return err
				}
				return a.answer(hits, func(w io.Writer) error { return render.FoundFacts(w, hits, a.now()) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "in all repositories")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N` facts")
	return cmd
}

func (a *app) memoryList() *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the facts that hold here, newest first",
		Example: `  plan memory list --all`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			repo, err := a.factScope(cmd.Context(), all, learning.AllFacts)
			if err != nil {
				return err
			}
			return a.withFacts(cmd, func(ctx context.Context, facts learning.Facts) error {
				list, err := facts.List(ctx, repo, limit)
				if err != nil {
					return err
				}
				return a.answer(list, func(w io.Writer) error { return render.Facts(w, list, a.now()) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "of all repositories")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most `N` facts (0: all)")
	return cmd
}

// onFact is a command on the fact that its argument names: what is done with it, and how
// what comes of that is shown.
func (a *app) onFact(
	do func(db *memory.DB, ctx context.Context, id int64) (plan.Fact, error),
	show func(io.Writer, plan.Fact) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return usage("%q is no fact; facts are numbers, as `plan memory list` shows them", args[0])
		}
		return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
			f, err := do(db, ctx, id)
			if err != nil {
				return err
			}
			return a.answer(f, func(w io.Writer) error { return show(w, f) })
		})
	}
}

func (a *app) memoryShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show FACT",
		Short:   "Show a fact and where it comes from",
		Example: `  plan memory show 12`,
		Args:    cobra.ExactArgs(1),
		RunE:    a.onFact((*memory.DB).Fact, render.Fact),
	}
}

func (a *app) memoryForget() *cobra.Command {
	return &cobra.Command{
		Use:     "forget FACT",
		Short:   "Forget a fact for good: no run learns it again",
		Example: `  plan memory forget 12`,
		Args:    cobra.ExactArgs(1),
		RunE:    a.onFact((*memory.DB).ForgetFact, render.FactForgotten),
	}
}

func (a *app) memoryExport() *cobra.Command {
	return &cobra.Command{
		Use:     "export",
		Short:   "Write all facts to standard output, one JSON object a line",
		Example: `  plan memory export > facts.jsonl`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withFacts(cmd, func(ctx context.Context, facts learning.Facts) error {
				return facts.Export(ctx, a.out)
			})
		},
	}
}

func (a *app) memoryImport() *cobra.Command {
	return &cobra.Command{
		Use:     "import FILE|-",
		Short:   "Add the facts that export wrote",
		Example: `  plan memory import facts.jsonl`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in := a.in
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err //nolint:wrapcheck // it names the file
				}
				defer f.Close() //nolint:errcheck // it was only read
				in = f
			}
			list, err := learning.ReadFacts(in, args[0])
			if err != nil {
				return err
			}
			return a.withFacts(cmd, func(ctx context.Context, facts learning.Facts) error {
				count, err := facts.Import(ctx, list)
				if err != nil {
					return err
				}
				return a.answer(count, func(w io.Writer) error { return render.FactsImported(w, count) })
			})
		},
	}
}

func (a *app) memoryStyle() *cobra.Command {
	var reset bool
	var state string
	cmd := &cobra.Command{
		Use:   "style",
		Short: "Show what is known of how you write, set it, or reset it",
		Example: `  plan memory style
  plan memory style --set "short sentences, no emoji"
  plan memory style --reset`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withFacts(cmd, func(ctx context.Context, facts learning.Facts) error {
				s, err := facts.SetStyle(ctx, reset, state)
				if err != nil {
					return err
				}
				return a.answer(s, func(w io.Writer) error { return render.Style(w, s) })
			})
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "forget all of it")
	cmd.Flags().StringVar(&state, "set", "", "state how you want to be written to, in your own `WORDS`")
	return cmd
}

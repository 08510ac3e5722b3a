package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
)

func (a *app) memoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "See and change what is remembered across runs",
		Long: `Facts are sentences that help later runs: conventions, commands, traps. People
add them, Implement adds them with its remember tool, and gaps that reviews
found and a run then closed become facts too. Explore is told those that have
to do with the request, as data. A fact that you forget is not learned again.`,
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

// factScope is the repository that -C names, or "" for all with --global.
func (a *app) factScope(ctx context.Context, global bool) (string, error) {
	if global {
		return "", nil
	}
	repo, err := openRepo(ctx, a.dir)
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
			repo, err := a.factScope(cmd.Context(), global)
			if err != nil {
				return err
			}
			f := plan.Fact{
				Text:   config.Redactor(a.ownSettings().Secrets(a.environ))(strings.Join(args, " ")),
				Repo:   repo,
				Source: plan.FactFromPerson,
			}
			if keep > 0 {
				f.Expires = a.now().Add(keep)
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				kept, how, err := db.AddFact(ctx, f)
				if err != nil {
					return failed(err)
				}
				if a.json {
					return a.document(kept)
				}
				word := "Remembered"
				if how == memory.FactMerged {
					word = "Remembered already"
				}
				_, err = fmt.Fprintf(a.out, "%s as fact %d.\n", word, kept.ID)
				return failed(err)
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
			repo := "*"
			if !all {
				var err error
				if repo, err = a.factScope(cmd.Context(), false); err != nil {
					return err
				}
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				hits, err := db.SearchFacts(ctx, memory.FactQuery{
					Words: skills.Words(strings.Join(args, " ")),
					Repo:  repo,
					Limit: limit,
					Now:   a.now(),
				})
				if err != nil {
					return failed(err)
				}
				if a.json {
					type found struct {
						plan.Fact
						Score float64 `json:"score"`
					}
					out := make([]found, 0, len(hits))
					for _, h := range hits {
						out = append(out, found{h.Fact, h.Score})
					}
					return a.document(out)
				}
				facts := make([]plan.Fact, 0, len(hits))
				for _, h := range hits {
					facts = append(facts, h.Fact)
				}
				return a.showFacts(facts, "No fact holds these words.")
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
			repo := "*"
			if !all {
				var err error
				if repo, err = a.factScope(cmd.Context(), false); err != nil {
					return err
				}
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				facts, err := db.Facts(ctx, repo, limit)
				if err != nil {
					return failed(err)
				}
				if a.json {
					return a.document(append([]plan.Fact{}, facts...))
				}
				return a.showFacts(facts, `Nothing is remembered yet. Add a fact with: plan memory add "…"`)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "of all repositories")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most `N` facts (0: all)")
	return cmd
}

func (a *app) showFacts(facts []plan.Fact, none string) error {
	if len(facts) == 0 {
		_, err := fmt.Fprintln(a.out, none)
		return failed(err)
	}
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "FACT\tFROM\tAGE\tUSED\tTEXT")
	for _, f := range facts {
		fmt.Fprintf(
			tw,
			"%d\t%s\t%s\t%d\t%s\n",
			f.ID,
			f.Source,
			render.Duration(a.now().Sub(f.Created)),
			f.Used,
			render.SafeLine(f.Text),
		)
	}
	return failed(tw.Flush())
}

// withFact does something with the fact that the argument names.
func (a *app) withFact(
	cmd *cobra.Command,
	arg string,
	do func(ctx context.Context, db *memory.DB, id int64) error,
) error {
	id, err := strconv.ParseInt(arg, 10, 64)
	if err != nil {
		return usage("%q is no fact; facts are numbers, as `plan memory list` shows them", arg)
	}
	return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error { return failed(do(ctx, db, id)) })
}

func (a *app) memoryShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show FACT",
		Short:   "Show a fact and where it comes from",
		Example: `  plan memory show 12`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFact(cmd, args[0], func(ctx context.Context, db *memory.DB, id int64) error {
				f, err := db.Fact(ctx, id)
				if err != nil {
					return err
				}
				if a.json {
					return a.document(f)
				}
				fmt.Fprintf(a.out, "%s\n\nfrom     %s\n", render.SafeLine(f.Text), f.Source)
				if f.Run != "" {
					fmt.Fprintf(a.out, "run      %s\n", f.Run)
				}
				scope := f.Repo
				if scope == "" {
					scope = "every repository"
				}
				fmt.Fprintf(
					a.out,
					"holds    %s\ncreated  %s\nused     %d times\n",
					render.SafeLine(scope),
					f.Created.Format(time.RFC3339),
					f.Used,
				)
				if !f.Expires.IsZero() {
					fmt.Fprintf(a.out, "expires  %s\n", f.Expires.Format(time.RFC3339))
				}
				return nil
			})
		},
	}
}

func (a *app) memoryForget() *cobra.Command {
	return &cobra.Command{
		Use:     "forget FACT",
		Short:   "Forget a fact for good: no run learns it again",
		Example: `  plan memory forget 12`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withFact(cmd, args[0], func(ctx context.Context, db *memory.DB, id int64) error {
				f, err := db.ForgetFact(ctx, id)
				if err != nil {
					return err
				}
				if a.json {
					return a.document(f)
				}
				_, err = fmt.Fprintf(a.out, "Forgotten: %s\n", render.SafeLine(f.Text))
				return err //nolint:wrapcheck // the caller says what was done
			})
		},
	}
}

func (a *app) memoryExport() *cobra.Command {
	return &cobra.Command{
		Use:     "export",
		Short:   "Write all facts to standard output, one JSON object a line",
		Example: `  plan memory export > facts.jsonl`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				facts, err := db.Facts(ctx, "*", 0)
				if err != nil {
					return failed(err)
				}
				out := bufio.NewWriter(a.out)
				for _, f := range facts {
					line, err := plan.MarshalCompact(f)
					if err != nil {
						return failed(err)
					}
					if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
						return failed(err)
					}
				}
				return failed(out.Flush())
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
					return failed(err)
				}
				defer f.Close() //nolint:errcheck // it was only read
				in = f
			}
			facts, err := readFacts(in, args[0])
			if err != nil {
				return failed(err)
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				count := map[memory.Added]int{}
				for _, f := range facts {
					_, how, err := db.AddFact(ctx, f)
					if err != nil {
						return failed(err)
					}
					count[how]++
				}
				if a.json {
					return a.document(count)
				}
				_, err := fmt.Fprintf(
					a.out,
					"%d new, %d known, %d forgotten before and left out.\n",
					count[memory.FactNew],
					count[memory.FactMerged],
					count[memory.FactForgotten],
				)
				return failed(err)
			})
		},
	}
}

// readFacts reads every line before anything is added, so that a bad file adds
// nothing.
func readFacts(in io.Reader, name string) ([]plan.Fact, error) {
	var out []plan.Fact
	dec := json.NewDecoder(in)
	for n := 1; ; n++ {
		var f plan.Fact
		err := dec.Decode(&f)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && strings.TrimSpace(f.Text) == "" {
			err = errors.New("it has no text")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: fact %d: %w; nothing was added", name, n, err)
		}
		if f.Source != plan.FactFromTool && f.Source != plan.FactFromLesson {
			f.Source = plan.FactFromPerson
		}
		out = append(out, f)
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
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				if reset {
					if err := db.ResetStyle(ctx); err != nil {
						return failed(err)
					}
				}
				if err := db.StateStyle(ctx, state); err != nil {
					return failed(err)
				}
				s, err := db.Style(ctx)
				if err != nil {
					return failed(err)
				}
				if a.json {
					return a.document(s)
				}
				return a.showStyle(s)
			})
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "forget all of it")
	cmd.Flags().StringVar(&state, "set", "", "state how you want to be written to, in your own `WORDS`")
	return cmd
}

func (a *app) showStyle(s memory.Style) error {
	fmt.Fprintf(
		a.out,
		"formality  %.2f\nenergy     %.2f\nterseness  %.2f\nemoji      %.2f\nseen       %d\n",
		s.Formality,
		s.Energy,
		s.Terseness,
		s.Emoji,
		s.Seen,
	)
	for _, w := range s.Stated {
		fmt.Fprintf(a.out, "stated     %s\n", render.SafeLine(w))
	}
	line := s.Line()
	if line == "" {
		line = "Nothing is said to a model about it: it is close to neutral, or too little is known."
	}
	_, err := fmt.Fprintf(a.out, "\n%s\n", render.SafeLine(line))
	return failed(err)
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

func (a *app) runCommand() *cobra.Command {
	var flags runflags.Flags
	var req host.Request
	var files runFiles
	var worktree, estimate bool
	var resumeID string
	var latest bool
	cmd := &cobra.Command{
		Use:   "run [REQUEST|-]",
		Short: "Explore, plan, implement and review a change",
		Long: `Run takes a request through Explore, Plan, Implement and Review in the
repository you stand in, or the one that -C names.

The request is the argument, or standard input with "-". On a terminal, one that
reads as a question is offered to "plan ask" first. Ctrl-C once parks the
run where it stands; twice kills it. Either way "plan resume" goes on.`,
		Example: `  plan run "Make the cache safe for concurrent use"
  plan run --check "go test ./..." --max-cost 2 "Fix issue 41"
  plan run --model openai/gpt-5 --phase-model review=anthropic/claude-sonnet-4-5 "Add pagination to /users"
  git diff main | plan run --plan-only -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if req.Options, err = flags.Options(cmd); err != nil {
				return err
			}
			if resumeID != "" || latest {
				if len(args) > 0 {
					return usage("--resume goes on with a run and takes no request")
				}
				return a.resume(cmd, resumeID, req.Options)
			}
			if cmd.Flags().Changed("worktree") {
				req.Settings.Worktree = &worktree
			}
			if req.Text, err = a.request(args, `plan run "Fix the flaky retry test"`); err != nil {
				return err
			}
			if req.Dir = a.dir; estimate {
				return a.estimate(cmd.Context(), req)
			}
			if err := files.read(cmd.Context(), a, &req); err != nil {
				return err
			}
			mayAsk := req.Plan == "" && !req.PlanOnly && a.interactive() && host.IsQuestion(req.Text)
			if mayAsk && a.terminal().WantsAnswer(cmd.Context()) {
				req.AsQuestion()
			}
			return a.drive(cmd.Context(), func(ctx context.Context, face host.Face) (host.End, error) {
				return a.host.Run(ctx, req, face)
			})
		},
	}
	flags.Register(cmd)
	cmd.Flags().StringVar(&req.Title, "title", "",
		"what to call the run in lists: `TEXT` (default: the request's first line)")
	cmd.Flags().BoolVar(&req.PlanOnly, "plan-only", false, "stop once there is a plan")
	cmd.Flags().BoolVar(&estimate, "estimate", false,
		"say what it is likely to use, from earlier runs of its kind, and start nothing")
	files.register(cmd)
	cmd.Flags().StringVar(&resumeID, "resume", "", "go on with run `ID` instead of starting one")
	cmd.Flags().BoolVar(&latest, "resume-latest", false, "go on with the newest run that is not final")
	cmd.Flags().BoolVar(&worktree, "worktree", false,
		"work in a tree of its own, made from this one as it is; plan apply brings the result over")
	cmd.Flags().BoolVar(
		&req.Auto,
		"auto",
		false,
		"as --way auto, and leave Explore and Plan out where the words of the request are certain: it is short, and "+
			"speaks of no broad work; says which way it takes, and why",
	)
	cmd.MarkFlagsMutuallyExclusive("from-plan", "auto", "way")
	cmd.MarkFlagsMutuallyExclusive("from-plan", "plan-only")
	cmd.MarkFlagsMutuallyExclusive("resume", "resume-latest")
	cmd.Flags().Lookup("resume").Hidden, cmd.Flags().Lookup("resume-latest").Hidden = true, true // plan resume
	return cmd
}

// estimate says what a run is likely to use.
func (a *app) estimate(ctx context.Context, req host.Request) error {
	e, err := a.host.Estimate(ctx, req)
	if err != nil {
		return err
	}
	return a.view(e, func(w io.Writer) error { return render.Estimate(w, e) })
}

// request reads the request from the arguments or from standard input. Example is a
// command line that has one.
func (a *app) request(args []string, example string) (string, error) {
	text := strings.Join(args, " ")
	if len(args) == 1 && args[0] == "-" {
		data, err := io.ReadAll(io.LimitReader(a.in, host.MaxRequest+1))
		if err != nil {
			return "", fmt.Errorf("read the request from standard input: %w", err)
		}
		text = string(data)
	}
	return host.ReadRequest(text, example)
}

// runFiles are files that a run is given along with its request.
type runFiles struct{ plan, context string }

func (f *runFiles) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.plan, "from-plan", "",
		"implement the plan in `FILE` (- for standard input), without Explore and Plan")
	cmd.Flags().StringVar(
		&f.context,
		"context",
		"",
		"start Explore from the conversation in `FILE`: messages as JSON, such as those of show --transcript, "+
			"or plain text; run:ID is what an earlier run said",
	)
}

// read reads them before anything is kept for the run: on standard input a person
// may take long over it, and may give up, which ends this process at once.
func (f runFiles) read(ctx context.Context, a *app, r *host.Request) (err error) {
	if f == (runFiles{}) {
		return nil
	}
	if _, err := a.host.DB(ctx); err != nil { // a home that cannot be used is said before a person writes a plan
		return err
	}
	if f.context != "" {
		if r.Context, err = a.host.Context(ctx, f.context); err != nil {
			return err
		}
	}
	if f.plan != "" {
		r.Plan, err = a.readPlan(f.plan)
	}
	return err
}

// readPlan reads a plan that must not be empty.
func (a *app) readPlan(file string) (string, error) {
	in := a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", host.UnreadPlan(err)
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	return host.ReadPlan(file, in)
}

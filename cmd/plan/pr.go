package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
)

func (a *app) prCommand() *cobra.Command {
	var how batches.Publish
	var anyway bool
	cmd := &cobra.Command{
		Use:   "pr RUN",
		Short: "Commit the change of a run on a branch, and hand it to others with a command of yours",
		Long: `Pr commits what a run changed, with the runs that it goes on from, on a branch of
their own, and runs your command for it: --publish, or publish in your own
config.toml, as "plan batch publish" does. The command finds PLAN_RUN, PLAN_REPO,
PLAN_BASE, PLAN_BRANCH, PLAN_COMMIT, PLAN_TITLE and PLAN_BODY_FILE in its
environment, and the files of the work tree as they were before the work; those of
the work are in PLAN_TREE. Nothing that a repository's settings say is run.

It is done once: what failed, or was cut off, is done again with --retry.`,
		Example: `  plan pr 01JX --dry-run
  plan pr 01JX --publish 'git push -q origin "$PLAN_BRANCH" &&
    gh pr create --head "$PLAN_BRANCH" --title "$PLAN_TITLE" --body-file "$PLAN_BODY_FILE"'`,
		Args: oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := a.namedRun(cmd, args)
			if err != nil {
				return err
			}
			ctx, release := a.interruptible(cmd.Context())
			defer release()
			if a.interactive() {
				how.Ask = func(hooks string) bool { return a.terminal().AskHooks(ctx, hooks) }
			}
			done, err := a.batches().PublishRun(ctx, run, how, anyway)
			if err != nil {
				return err
			}
			err = a.answer(done, func(w io.Writer) error { return render.JobPublished(w, done) })
			if done.Problem() != "" {
				err = errors.Join(err, hint.New("it could not be published", "--retry tries it again."))
			}
			return err
		},
	}
	publishFlags(cmd, &how)
	cmd.Flags().BoolVar(&anyway, "anyway", false, "also if the run, or one that it goes on from, was not approved")
	return cmd
}

// publishFlags are those of commands that publish.
func publishFlags(cmd *cobra.Command, how *batches.Publish) {
	fl := cmd.Flags()
	fl.StringVar(&how.Command, "publish", "", "`CMD` for the shell (default: publish in your config.toml)")
	fl.BoolVar(&how.DryRun, "dry-run", false, "only say what would be run")
	fl.BoolVar(&how.Retry, "retry", false, "also what failed to be published, or of which nobody knows")
	fl.BoolVar(&how.RunHooks, "run-hooks", false, "let git's hooks run that lie in the work tree, such as .husky")
}

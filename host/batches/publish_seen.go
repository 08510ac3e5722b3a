package batches

import (
	"context"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/host/sealed"
	"github.com/plan-engine/plan/sandbox"
)

// publishFrom makes the place that a publish command runs in, with the user's keys: what
// the work has changed does not run there. Left is the folder of git's hooks that do not
// run either. The caller closes the place.
func (b *Batches) publishFrom(
	ctx context.Context,
	at publishPlace,
	how Publish,
	shell sandbox.Config,
) (_ *sealed.Place, left string, err error) {
	repo, err := b.host.OpenRepo(ctx, at.dir)
	if err != nil {
		return nil, "", err
	}
	place, err := sealed.Open(ctx, sealed.Spec{
		Repo:  repo,
		Tree:  at.origin,
		Began: at.began,
		Shell: shell,
		Homes: b.host.OwnFolders(),
	})
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			_ = place.Close() // the error says why nothing is run
		}
	}()
	// Beside a copy, a path of the settings may lead to hooks that the work has changed.
	forGit, left, err := repo.UserEnv(ctx, place.Swapped && how.RunHooks)
	if err == nil && left != "" && place.Swapped && how.Ask != nil && how.Ask(left) {
		forGit, left, err = repo.UserEnv(ctx, true)
	}
	if err != nil {
		return nil, "", err
	}
	place.Shell = place.Shell.With(append(place.Shell.Env(), forGit...))
	root, path := repo.Root(), b.host.Getenv("PATH")
	names := slices.Concat(
		trust.Programs(root, how.Command, false),
		trust.Tasks(root, how.Command),
		trust.Found(root, how.Command, path),
	)
	slices.Sort(names)
	if err := place.Admit(ctx, how.Command, slices.Compact(names)); err != nil {
		return nil, "", err
	}
	return place, left, nil
}

// beganAt is when a run of this home began, by its id: before it had done anything.
func beganAt(id plan.RunID) time.Time {
	parsed, err := ulid.ParseStrict(string(id))
	if err != nil {
		return time.Time{}
	}
	return parsed.Timestamp()
}

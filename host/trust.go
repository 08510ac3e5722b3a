package host

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
)

// Trust is what a repository wants to do on the user's machine, or a run that was
// begun elsewhere, and what the user has said about it.
type Trust struct {
	root   string
	store  *trust.Store
	claims func() ([]trust.Item, error)
	run    plan.RunID // "" for the repository
}

// Trust opens what the user has trusted of the repository at root.
func (h *Host) Trust(root string) (Trust, error) {
	store, err := h.TrustStore()
	if err != nil {
		return Trust{}, err
	}
	return Trust{
		root:   root,
		store:  store,
		claims: func() ([]trust.Item, error) { return h.repositoryClaims(root) },
	}, nil
}

// TrustOf is [Host.Trust] for the repository at dir, or for the run that a prefix of
// an id names where it is not "".
func (h *Host) TrustOf(ctx context.Context, dir, prefix string) (Trust, error) {
	if prefix != "" {
		return h.trustRun(ctx, prefix)
	}
	repo, err := h.OpenRepo(ctx, dir)
	if err != nil {
		return Trust{}, err
	}
	return h.Trust(repo.Root())
}

func (h *Host) trustRun(ctx context.Context, prefix string) (Trust, error) {
	store, err := h.TrustStore()
	if err != nil {
		return Trust{}, err
	}
	id, err := h.Resolve(ctx, prefix)
	if err != nil {
		return Trust{}, err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return Trust{}, err
	}
	run, err := Fold(ctx, db, id, nil)
	if err != nil {
		return Trust{}, err
	}
	if run.Start == nil {
		return Trust{}, fmt.Errorf("run %s has no beginning in its journal", id)
	}
	return Trust{
		root:   run.Start.Repo,
		store:  store,
		claims: func() ([]trust.Item, error) { return h.runClaims(ctx, db, run) },
		run:    id,
	}, nil
}

// repositoryClaims lists all that a repository wants.
func (h *Host) repositoryClaims(root string) ([]trust.Item, error) {
	items, err := config.Claims(root)
	if err != nil {
		return nil, err
	}
	skills, err := trust.Skills(root)
	if err != nil {
		return nil, err
	}
	items = append(items, skills...)
	for _, f := range namedFolders(h.environ, root) {
		items = append(items, folderItem(f))
	}
	changed, err := h.toolClaims(root)
	return append(items, changed...), err
}

// Root is the repository.
func (t Trust) Root() string { return t.root }

// Items lists all that needs a yes, and whether it has one as it is now.
func (t Trust) Items() ([]trust.Item, error) {
	items, err := t.claims()
	if err != nil {
		return nil, err
	}
	for i, item := range items {
		if items[i].Trusted, err = t.store.Trusted(t.root, item.Kind, item.Path, item.Digest); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// Decide asks about each item that is not trusted as it is now, and trusts those
// that get a yes. What has no digest cannot be trusted, and is not asked about. It
// returns all items as they are then, and how many are left without a yes.
func (t Trust) Decide(ctx context.Context, ask func(trust.Item) bool) (items []trust.Item, left int, err error) {
	if items, err = t.Items(); err != nil {
		return nil, 0, err
	}
	for i, item := range items {
		if item.Trusted {
			continue
		}
		if item.Digest == "" || !ask(item) {
			left++
			continue
		}
		if err := t.store.Trust(ctx, t.root, item); err != nil {
			return nil, 0, err
		}
		items[i].Trusted = true
	}
	return items, left, nil
}

// Revoke forgets every yes for the repository, or the one for the run, and says how
// many there were.
func (t Trust) Revoke(ctx context.Context) (int, error) {
	if t.run != "" {
		return t.store.Revoke(ctx, t.root, trust.Item{Kind: kindRun, Path: string(t.run)})
	}
	return t.store.Revoke(ctx, t.root)
}

package host

import (
	"context"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
)

// Trust is what a repository wants to do on the user's machine, and what the user
// has said about it.
type Trust struct {
	root    string
	store   *trust.Store
	environ []string
}

// Trust opens what the user has trusted of the repository at root.
func (h *Host) Trust(root string) (Trust, error) {
	store, err := h.TrustStore()
	if err != nil {
		return Trust{}, err
	}
	return Trust{
		root:    root,
		store:   store,
		environ: h.environ,
	}, nil
}

// Items lists all that needs a yes, and whether it has one as it is now.
func (t Trust) Items() ([]trust.Item, error) {
	items, err := config.Claims(t.root)
	if err != nil {
		return nil, err
	}
	skills, err := trust.Skills(t.root)
	if err != nil {
		return nil, err
	}
	items = append(items, skills...)
	for _, f := range namedFolders(t.environ, t.root) {
		items = append(items, folderItem(f))
	}
	for i, it := range items {
		if items[i].Trusted, err = t.store.Trusted(t.root, it.Kind, it.Path, it.Digest); err != nil {
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
	for i, it := range items {
		if it.Trusted {
			continue
		}
		if it.Digest == "" || !ask(it) {
			left++
			continue
		}
		if err := t.store.Trust(ctx, t.root, it); err != nil {
			return nil, 0, err
		}
		items[i].Trusted = true
	}
	return items, left, nil
}

// Revoke forgets every yes for the repository, and says how many there were.
func (t Trust) Revoke(ctx context.Context) (int, error) { return t.store.Revoke(ctx, t.root) }

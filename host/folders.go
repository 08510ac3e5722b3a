package host

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/sandbox/places"
)

// folderItem is a folder outside of the repository that a manifest in it names, as
// something to be trusted: the folder, whatever is in it.
func folderItem(f places.Folder) trust.Item {
	return trust.Item{
		Kind:   "folder",
		Path:   f.Manifest + "#" + f.Name,
		Digest: trust.Text(f.Path),
		Detail: "commands may read " + f.Path,
	}
}

// namedFolders lists the folders that manifests below root name.
func namedFolders(environ []string, root string) []places.Folder {
	return places.Of(environ, root).Named()
}

// kindRefused is the kind of what is kept of a folder that a person said no to, so that
// no run asks again. `plan trust` does.
const kindRefused = "folder refused"

// shownFolders are those of them that the user has agreed to, of a tree of the
// repository at root. A person is asked once about each of the others, and otherwise
// told what shows it.
func (s *session) shownFolders(ctx context.Context, paths config.Paths, root string) ([]string, error) {
	if s.cfg.Sandbox == "off" {
		return nil, nil
	}
	trusted := s.host.trustedItems(paths, root)
	var out []string
	for _, f := range namedFolders(s.host.environ, s.repo.Root()) {
		item := folderItem(f)
		isShown := trusted(item)
		if !isShown {
			var err error
			if isShown, err = s.askAboutFolder(ctx, paths, root, item, trusted); err != nil {
				return nil, err
			}
		}
		if isShown {
			out = append(out, f.Path)
			continue
		}
		s.host.note(fmt.Sprintf("%s names %s, which lies outside of the repository: commands cannot read it; "+
			"`plan trust` asks whether they may, and show = [%q] in [walls] of your config.toml lets them",
			f.Manifest, f.Name, f.Path))
	}
	return out, nil
}

// askAboutFolder asks a person about a folder who has not been asked before, and keeps
// the answer. It reports false where there is none.
func (s *session) askAboutFolder(
	ctx context.Context,
	paths config.Paths,
	root string,
	item trust.Item,
	known func(trust.Item) bool,
) (bool, error) {
	refused := item
	refused.Kind = kindRefused
	person, ok := s.face.Person.(Truster)
	if !ok || s.autoApprove || known(refused) {
		return false, nil
	}
	yes := person.Trust(ctx, item)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if !yes {
		item = refused
	}
	return yes, s.host.trustStore(paths).Trust(ctx, root, item)
}

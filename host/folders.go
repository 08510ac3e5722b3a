package host

import (
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

// shownFolders are those of them that the user has agreed to, of a tree of the
// repository at root. The others are named to the user.
func (s *session) shownFolders(paths config.Paths, root string) []string {
	if s.cfg.Sandbox == "off" {
		return nil
	}
	trusted := s.host.trustedItems(paths, root)
	var out []string
	for _, f := range namedFolders(s.host.environ, s.repo.Root()) {
		if trusted(folderItem(f)) {
			out = append(out, f.Path)
			continue
		}
		s.host.note(fmt.Sprintf("%s names %s, which lies outside of the repository: commands cannot read it; "+
			"`plan trust` asks whether they may", f.Manifest, f.Name))
	}
	return out
}

package worktree

import (
	"crypto/sha256"
	"path/filepath"
	"sync"

	"github.com/plan-engine/plan/internal/plainfile"
)

// knownTree is the tree that a work tree was found to be the last time. A run looks
// again and again at what has not changed meanwhile, and git then has to be asked
// for the list alone: neither for what is ignored, nor to write the tree once more.
type knownTree struct {
	mu   sync.Mutex
	mark [sha256.Size]byte
	tree string
}

// markOf tells apart what a list of all entries does not show of how a tree comes
// about: the user's index and the rules of what is ignored. Rules in files of the tree
// are among the entries.
func (r *Repo) markOf(list string) [sha256.Size]byte {
	index, _ := indexMark(filepath.Join(r.gitDir, "index"))                // "" does as well
	rules, _ := plainfile.Read(filepath.Join(r.common, "info", "exclude")) // most have none
	return sha256.Sum256([]byte(index + "\x00" + string(rules) + "\x00" + list))
}

// of is the tree that an up-to-date list leads to, "" if it is not the last one.
func (k *knownTree) of(l listing) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !l.upToDate || l.mark != k.mark {
		return ""
	}
	return k.tree
}

// note keeps what an up-to-date list led to.
func (k *knownTree) note(l listing, tree string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.upToDate {
		k.mark, k.tree = l.mark, tree
	}
}

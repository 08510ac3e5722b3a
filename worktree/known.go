package worktree

import (
	"crypto/sha256"
	"path/filepath"
	"slices"
	"sync"

	"github.com/plan-engine/plan/internal/plainfile"
)

// knownTree is the tree that a work tree was found to be the last time. A run looks
// again and again at what has not changed meanwhile, and git then has to be asked
// for the list alone: neither for what is ignored, nor to write the tree once more.
type knownTree struct {
	mu   sync.Mutex
	mark [sha256.Size]byte
	// kept tells the private index that the tree was written from, if that is kept: a list
	// from it that is up to date leads to the tree again, though it is another than the one
	// before the index was brought up to date. The user's index then has no file that is
	// ignored and that this one lacks: it would count again, and be in no list.
	kept [sha256.Size]byte
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

// keptMark is markOf for a private index in the place of the list. It is zero for one that
// cannot be told from others.
func (r *Repo) keptMark(index string) (mark [sha256.Size]byte) {
	text, err := indexMark(index)
	if err != nil || text == "" {
		return mark
	}
	return r.markOf("index " + text)
}

// of is the tree that an up-to-date list leads to, "" if it is not the last one. Kept is the
// mark of the index that was listed.
func (k *knownTree) of(l listing, kept [sha256.Size]byte) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !l.upToDate || l.mark != k.mark && (kept != k.kept || kept == [sha256.Size]byte{}) {
		return ""
	}
	return k.tree
}

// allThere reports whether what is tracked is there, as it was or changed.
func (l listing) allThere() bool {
	return !slices.ContainsFunc(l.entries, func(e entry) bool { return e.tag != 'H' && e.tag != '?' })
}

// note keeps what an up-to-date list led to, and what the index did that is kept now, the
// mark of which is zero for none.
func (k *knownTree) note(l listing, kept [sha256.Size]byte, tree string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !l.upToDate && kept == [sha256.Size]byte{} {
		return
	}
	k.mark, k.kept, k.tree = [sha256.Size]byte{}, kept, tree
	if l.upToDate {
		k.mark = l.mark
	}
}

package worktree_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
)

// Snapshots reach a clone of the same repository by bundles that have what it lacks, and
// of a later one what is new in it alone.
func TestSnapshotsReachAClone(t *testing.T) {
	t.Parallel()
	repo, dir := start(t, map[string]string{"a": "one\n", "large": strings.Repeat("line\n", 1000)})
	other := tempDir(t) + "/clone"
	git(t, dir, "clone", "-q", dir, other)
	clone := open(t, other)
	base := git(t, dir, "rev-parse", "HEAD")
	known := map[string]string{}
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 10_000) // does not shrink
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	var sizes []int
	for i, files := range []map[string]string{{"new": string(noise)}, {"a": "two\n"}} {
		put(t, dir, files)
		label := []string{"turn-1", "turn-2"}[i]
		snap, err := repo.Snapshot(t.Context(), "R", label)
		if err != nil {
			t.Fatal(err)
		}
		b, err := repo.Bundle(t.Context(), "R", base, known)
		if err != nil || len(b.Refs) != 1 {
			t.Fatalf("%+v, %v", b.Refs, err)
		}
		sizes = append(sizes, len(b.Data))
		if err := clone.Unbundle(t.Context(), "R", b); err != nil {
			t.Fatal(err)
		}
		for ref, commit := range b.Refs {
			known[ref] = commit
		}
		if kept, err := clone.Kept(t.Context(), "R"); err != nil || kept[label] != snap.Tree {
			t.Errorf("the clone has %v, %v", kept, err)
		}
		git(t, other, "fsck", "--strict", "--connectivity-only")
	}
	if sizes[1] > 1000 {
		t.Errorf("the second one has %d bytes, the first %d", sizes[1], sizes[0])
	}
	if b, err := repo.Bundle(t.Context(), "R", base, known); err != nil || len(b.Data) > 0 {
		t.Errorf("with nothing new it has %d bytes, %v", len(b.Data), err)
	}
	for _, ref := range []string{"refs/heads/main", "refs/plan/R/../../heads/x", "refs/plan/OTHER/start"} {
		b := worktree.Bundle{Refs: map[string]string{ref: base}, Data: []byte("x")}
		if err := clone.Unbundle(t.Context(), "R", b); err == nil {
			t.Errorf("%s was taken in", ref)
		}
	}
}

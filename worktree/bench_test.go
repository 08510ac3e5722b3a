package worktree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
)

// BenchmarkSnapshot takes snapshots of a tree of 50,000 files in which one file
// has changed since the one before: with all files committed, and with none,
// where the user's own index helps nothing.
func BenchmarkSnapshot(b *testing.B) {
	for _, c := range []struct {
		name      string
		committed bool
	}{{"committed", true}, {"untracked", false}} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			for i := range 50_000 {
				sub := filepath.Join(dir, fmt.Sprintf("d%03d", i%500))
				if i < 500 {
					if err := os.Mkdir(sub, 0o755); err != nil {
						b.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(sub, fmt.Sprint("f", i)), []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20)), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			gitIn(b, dir, "init", "-q", "-b", "main")
			if c.committed {
				gitIn(b, dir, "add", "-A")
			}
			gitIn(b, dir, "commit", "-q", "--allow-empty", "-m", "commit")
			r, err := worktree.Open(b.Context(), dir)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.Snapshot(b.Context(), "R", "first"); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				n++
				if err := os.WriteFile(filepath.Join(dir, "d000/f0"), []byte(fmt.Sprint(n)), 0o644); err != nil {
					b.Fatal(err)
				}
				if _, err := r.Snapshot(b.Context(), "R", "next"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

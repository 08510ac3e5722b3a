package tools

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCallsAtTheSameTimeShareALook: of calls that wait for one that looks at the tree, one
// more looks, and the others have its answer.
func TestCallsAtTheSameTimeShareALook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package p\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const calls = 8
	tree := &indexedTree{root: dir}
	var looks atomic.Int32
	first := sync.OnceFunc(func() {
		for tree.asked.Load() < calls { // the first look goes on until all others wait
			runtime.Gosched()
		}
	})
	index := NewIndex("")
	set, err := New(Config{
		Root:  dir,
		Index: index,
		Now: func() time.Time {
			looks.Add(1)
			first()
			return time.Now()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = set.Close()
		_ = index.Close()
	})
	var asking sync.WaitGroup
	for range calls {
		asking.Go(func() {
			if all, err := tree.refresh(t.Context(), set); err != nil || len(all) != 1 {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
	asking.Wait()
	if n := looks.Load(); n != 4 { // two looks, each with a list of the files
		t.Errorf("the clock was asked %d times", n)
	}
	if all, err := tree.refresh(t.Context(), set); err != nil || len(all) != 1 || looks.Load() != 6 {
		t.Errorf("a later call does not look: %v, %v, %d", all, err, looks.Load())
	}
}

package caches_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/sandbox"
)

// run is one run's layers, used as walls would: what a wall writes is a file by its name.
type run struct {
	t       *testing.T
	dir     string
	mounted bool
	*caches.Layers
}

func newRun(t *testing.T, dir, repository string, mounted bool) run {
	t.Helper()
	r := run{t: t, dir: dir, mounted: mounted, Layers: caches.New(caches.Config{
		Dir:        dir,
		Repository: repository,
		Mounted:    func() bool { return mounted },
		Now:        func() time.Time { return time.Unix(1_000_000, 0) },
	})}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// wall uses a lease: it lists what it sees, writes a file and gives the lease back.
func (r run) wall(lease *caches.Lease, err error) func(writes string) string {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	var seen []string
	cache := lease.Over([]sandbox.Cache{{Name: "tool"}})[0]
	for _, dir := range append(cache.Layers, cache.Upper) {
		if dir == "" {
			continue
		}
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, f := range found {
			seen = append(seen, filepath.Base(f))
		}
	}
	return func(writes string) string {
		if cache.Upper != "" {
			err := errors.Join(
				os.MkdirAll(cache.Upper, 0o700),
				os.WriteFile(filepath.Join(cache.Upper, writes), []byte("x"), 0o600),
			)
			if err != nil {
				r.t.Fatal(err)
			}
		}
		lease.Close()
		return strings.Join(seen, " ")
	}
}

func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	for name, mounted := range map[string]bool{"mounted": true, "told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, repository := t.TempDir(), t.TempDir()
			first := newRun(t, dir, repository, mounted)
			expect := func(what, got, want string) {
				t.Helper()
				if diff := cmp.Diff(strings.Fields(want), strings.Fields(got)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", what, diff)
				}
			}
			expect("explore", first.wall(first.Look("", ""))("explored"), "")
			expect("setup", first.wall(first.Start(true))("setup"), "")
			expect("the baseline", first.wall(first.Start(true))("baseline"), "setup")
			expect("plan", first.wall(first.Look("", ""))("planned"), "")

			second := newRun(t, dir, repository, mounted) // while the first has the layer
			expect("another run", second.wall(second.Start(true))("second"), "")

			expect("implement", first.wall(first.Work())("evil"), "baseline setup")
			expect("implement again", first.wall(first.Work())("evil2"), "baseline setup evil")
			expect("a check", first.wall(first.Reviewed("w1", "w1"))("check"), "baseline setup")
			open := first.wall(first.Reviewed("w1", "w1"))
			expect("the next check", first.wall(first.Reviewed("w1", "w1"))("check2"), "baseline setup check")
			expect("one beside it", open("check3"), "baseline setup check")
			expect("another tree", first.wall(first.Reviewed("w1", "counter"))("counted"), "baseline setup")
			expect("the reviewer", first.wall(first.Look("w1", "w1"))("reviewed"), map[bool]string{
				true:  "baseline setup check check2 check3",
				false: "baseline setup",
			}[mounted])
			expect("another change", first.wall(first.Reviewed("w2", "w2"))("check4"), "baseline setup")
			expect("one judged again", first.wall(first.Reviewed("w1", "w3"))("check5"), "baseline setup")
			expect("setup after work", first.wall(first.Start(true))("late"), "baseline setup")

			expect("the other run's check", second.wall(second.Reviewed("w1", "w1"))("x"), "baseline setup second")
			if err := errors.Join(first.Close(), second.Close()); err != nil {
				t.Fatal(err)
			}
			third := newRun(t, dir, repository, mounted)
			expect("a later run", third.wall(third.Look("", ""))("x"), "baseline setup")
			expect("its baseline", third.wall(third.Start(true))("third"), "baseline setup")
			if err := third.Close(); err != nil {
				t.Fatal(err)
			}
			unkept := newRun(t, dir, repository, mounted)
			expect("a tree of no commit", unkept.wall(unkept.Start(false))("unkept"), "baseline setup third")
			expect("its next check", unkept.wall(unkept.Start(true))("unkept2"), "baseline setup third unkept")
			expect("its work", unkept.wall(unkept.Work())("x"), "baseline setup third unkept unkept2")
			if err := unkept.Close(); err != nil {
				t.Fatal(err)
			}
			last := newRun(t, dir, repository, mounted)
			expect("the run after it", last.wall(last.Look("", ""))("x"), "baseline setup third")
			other := newRun(t, dir, t.TempDir(), mounted)
			expect("another repository", other.wall(other.Start(true))("x"), "")
		})
	}
}

// A layer that a wall reads is not written to: the kernel says what would come of it
// is undefined.
func TestWhatIsReadIsNotWritten(t *testing.T) {
	t.Parallel()
	dir, repository := t.TempDir(), t.TempDir()
	first := newRun(t, dir, repository, true)
	first.wall(first.Start(true))("kept")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, reader := range []run{newRun(t, dir, repository, true), newRun(t, dir, repository, true)} {
		lease, err := reader.Look("", "")
		if err != nil || len(lease.Below) != 1 {
			t.Fatalf("%+v, %v", lease, err)
		}
		for _, writer := range []run{reader, newRun(t, dir, repository, true)} {
			start, err := writer.Start(true)
			if err != nil || strings.HasPrefix(start.Upper, filepath.Dir(lease.Below[0])) {
				t.Errorf("it is written to: %+v, %v", start, err)
			}
			start.Close()
		}
		lease.Close()
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Unix(1_000_000, 0)
	var repositories []string
	for range 3 {
		repositories = append(repositories, t.TempDir())
		r := newRun(t, dir, repositories[len(repositories)-1], true)
		r.wall(r.Start(true))("kept")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	reader := newRun(t, dir, repositories[0], true)
	if _, err := reader.Look("", ""); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(repositories[1]); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*", "repository"))
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what      string
		olderThan time.Duration
		after     time.Duration
		dry       bool
		removed   int
	}{
		{"only said", 0, time.Hour, true, 1},
		{"of a repository that is gone", 0, time.Hour, false, 1},
		{"young ones", 0, 29 * 24 * time.Hour, false, 0},
		{"older than asked for, but for the one in use", 24 * time.Hour, 25 * time.Hour, false, 1},
		{"old, but in use", 0, 31 * 24 * time.Hour, false, 0},
	} {
		got, err := caches.Collect(dir, c.olderThan, at.Add(c.after), c.dry)
		if err != nil || got.Removed != c.removed || (got.Freed > 0) != (c.removed > 0) {
			t.Errorf("%s: %+v, %v", c.what, got, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "layer", "tool", "kept"))
	if err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
}

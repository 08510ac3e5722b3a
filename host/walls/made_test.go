package walls_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

// TestAReviewersFilesArePutBack: what commands of a review make is found, and stands in
// another room as it did once it is put there.
func TestAReviewersFilesArePutBack(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		c := wallstest.NewChange(t, wallstest.Committed(t), level)
		first, run := openReview(t, c)
		run(`mkdir -p probe && echo one >probe/a_test && echo two >b_test && chmod 755 b_test
			echo three >ignored.log; echo four >>calc; mkdir -p "${TMPDIR:-.}/d" && echo five >"${TMPDIR:-.}/d/five"`)
		made := filesIn(t, first)
		want := []string{"b_test -rwxr-xr-x two\n", "d/five -rw-r--r-- five\n", "probe/a_test -rw-r--r-- one\n"}
		if level != sandbox.LevelNone {
			want = slices.Delete(want, 1, 2)
			want = slices.Concat([]string{"/tmp/d/five -rw-r--r-- five\n"}, want)
		}
		if diff := gocmp.Diff(want, told(made)); diff != "" {
			t.Fatalf("found (-want +got):\n%s", diff)
		}

		room, err := c.Walls.PhaseRoom(t.Context(), plan.Review, c.Trees)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := room.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := room.PutBack(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, told(filesIn(t, room))); diff != "" {
			t.Errorf("put back, before any command (-want +got):\n%s", diff)
		}
		line := "cat probe/a_test b_test; rm b_test; echo more >>probe/a_test; test ! -e ignored.log; git status --porcelain"
		if level != sandbox.LevelNone {
			line += `; cat "${TMPDIR:-/tmp}"/d/five; rm -f "${TMPDIR:-/tmp}"/d/five`
		}
		res, err := room.Shell.Run(t.Context(), sandbox.Command{Line: line, Dir: room.Dir})
		if err != nil {
			t.Fatal(err)
		}
		wantOut := "one\ntwo\n?? d/\n?? probe/\n"
		if level != sandbox.LevelNone {
			wantOut = "one\ntwo\n?? probe/\nfive\n"
		}
		if diff := gocmp.Diff(wantOut, string(res.Output)); diff != "" {
			t.Errorf("a command sees (-want +got):\n%s", diff)
		}
		left := []string{"probe/a_test -rw-r--r-- one\nmore\n"}
		if level == sandbox.LevelNone {
			left = slices.Insert(left, 0, want[1])
		}
		if diff := gocmp.Diff(left, told(filesIn(t, room))); diff != "" {
			t.Errorf("after that (-want +got):\n%s", diff)
		}
		if changes, err := room.Changes(t.Context()); err != nil || len(changes.Altered)+len(changes.Wrote) != 0 {
			t.Errorf("what was put back counts as a change of the work: %+v %v", changes, err)
		}
	})
}

// filesIn are the files that were made in a room.
func filesIn(t testing.TB, room phases.Room) []plan.NewFile {
	t.Helper()
	added, err := room.Added(t.Context(), func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var out []plan.NewFile
	for _, f := range added {
		data, _, err := room.Read(f.Path)
		if err != nil {
			t.Error(err)
		}
		out = append(out, plan.NewFile{AddedFile: f, Data: data})
	}
	slices.SortFunc(out, func(a, b plan.NewFile) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func told(files []plan.NewFile) []string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s %s %s", f.Path, fs.FileMode(f.Mode), f.Data))
	}
	return out
}

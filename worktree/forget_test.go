package worktree_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestForgetLetsGoOfOneRun(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	for _, label := range []string{"start", "implement-1"} {
		if _, err := r.Snapshot(t.Context(), "01RUN", label); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Snapshot(t.Context(), "01RUN2", "start"); err != nil {
		t.Fatal(err)
	}
	kept, err := r.Kept(t.Context(), "01RUN")
	labels := slices.Sorted(maps.Keys(kept))
	if diff := cmp.Diff([]string{"implement-1", "start"}, labels); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	for range 2 { // the second time there is nothing to do
		if err := r.Forget(t.Context(), "01RUN", labels...); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Forget(t.Context(), "01RUN"); err != nil {
		t.Error(err)
	}
	if got := git(t, dir, "for-each-ref", "--format=%(refname)", "refs/plan"); got != "refs/plan/01RUN2/start" {
		t.Errorf("left: %q", got)
	}
}

func TestForgetAllOfManyRuns(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	for _, at := range [][2]string{{"01RUN", "start"}, {"01RUN", "undo-1/before"}, {"01RUN2", "start"}, {"01RUN3", "start"}} {
		if _, err := r.Snapshot(t.Context(), plan.RunID(at[0]), at[1]); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := r.AllKept(t.Context())
	want := map[plan.RunID][]string{"01RUN": {"start", "undo-1/before"}, "01RUN2": {"start"}, "01RUN3": {"start"}}
	if diff := cmp.Diff(want, kept); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	delete(kept, "01RUN2")
	if err := r.ForgetAll(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "for-each-ref", "--format=%(refname)", "refs/plan"); got != "refs/plan/01RUN2/start" {
		t.Errorf("left: %q", got)
	}
}

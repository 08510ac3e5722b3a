package memory_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func TestWhatBecameOfTools(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := open(t, t.TempDir())
	appendAll(t, own(t, db, "R1"), runStart("R1"))
	use := func(tool, repo, use string, took time.Duration) memory.ToolUse {
		return memory.ToolUse{
			Tool:  tool,
			Repo:  repo,
			Run:   "R1",
			Phase: plan.Implement,
			Use:   use,
			Took:  took,
		}
	}
	err := db.RecordToolUses(ctx,
		use("a", "r", memory.ToolOffered, 0),
		use("a", "r", memory.ToolCalled, 10*time.Millisecond),
		use("a", "r", memory.ToolFailed, 30*time.Millisecond),
		use("b", "r", memory.ToolOffered, 0),
		use("c", "other", memory.ToolCalled, time.Second),
	)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := db.ToolStats(ctx, "r")
	if err != nil || len(stats) != 2 || stats[0].Last.IsZero() || !stats[1].Last.IsZero() {
		t.Fatalf("%+v, %v", stats, err)
	}
	stats[0].Last = time.Time{}
	want := memory.ToolStats{
		Tool:    "a",
		Offered: 1,
		Called:  2,
		Failed:  1,
		Took:    20 * time.Millisecond,
	}
	if diff := cmp.Diff(want, stats[0]); diff != "" {
		t.Error(diff)
	}
	if all, err := db.ToolStats(ctx, ""); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	needs, err := db.ToolNeeds(ctx, "r", 10)
	if err != nil || len(needs) != 1 || needs[0].Tool != "a" || needs[0].Request == "" {
		t.Errorf("%+v, %v", needs, err)
	}
}

func TestTextIndex(t *testing.T) {
	t.Parallel()
	index, err := memory.NewTextIndex(t.Context(),
		[]string{"tracker create issue", "tracker issues list", "mail send"},
		[]string{"Make a new one.", "All of them.", "Sends a mail about issues."})
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	for query, want := range map[string][]int{
		"creating issues":        {0, 1, 2},
		"send":                   {2},
		"zebra crossing":         nil,
		`"quoted OR (broken* -x`: nil,
		"":                       nil,
	} {
		got, err := index.Search(t.Context(), query, 5)
		if err != nil {
			t.Errorf("%q: %v", query, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
	}
}

package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestBlobRefs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	first := event("A", plan.RunStart{Repo: "/src", Config: []byte("{}")})
	first.Blobs = []plan.Blob{plan.NewBlob([]byte("b")), plan.NewBlob([]byte("a"))}
	other := event("B", plan.RunStart{Repo: "/src", Config: []byte("{}")})
	other.Blobs = []plan.Blob{plan.NewBlob([]byte("other"))}
	appendAll(t, own(t, db, "A"), first)
	appendAll(t, own(t, db, "B"), other)
	got, err := db.BlobRefs(ctx, "A")
	want := []string{plan.NewBlob([]byte("b")).Hash, plan.NewBlob([]byte("a")).Hash}
	if want[0] > want[1] {
		want[0], want[1] = want[1], want[0]
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := db.BlobRefs(ctx, "none"); err != nil || got != nil {
		t.Errorf("of no run: %v, %v", got, err)
	}
}

// A fork is as old as the fork, however old the events are that it begins with,
// and what it inherited is not its own.
func TestAForkIsANewRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	at := start.Add(time.Hour)
	appendAll(t, own(t, db, "SOURCE"), event("SOURCE", plan.RunStart{Repo: "/src", Config: []byte("{}")}))
	appendAll(
		t, own(t, db, "FORK"),
		event("FORK", plan.RunStart{Repo: "/src", Config: []byte("{}"), ForkedFrom: &plan.Fork{Run: "SOURCE", Seq: 2, Time: at}}),
		event("FORK", plan.UsageReport{Usage: plan.Usage{Requests: 3}, CostUSD: 1, Inherited: true}),
		event("FORK", plan.UsageReport{Usage: plan.Usage{Requests: 1}, CostUSD: 2, Priced: true}),
	)
	got, err := db.Run(ctx, "FORK")
	if err != nil || !got.Created.Equal(at) || got.Usage.Requests != 1 || got.CostUSD != 2 || !got.Priced {
		t.Errorf("%+v, %v", got, err)
	}
	if id, err := db.Latest(ctx); err != nil || id != "FORK" {
		t.Errorf("the newest is %s, %v", id, err)
	}
}

package host_test

import (
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/memory"
)

// TestOnlyADecisionAboutThePlanAsShownCounts: a letter about another text, or about
// none, as earlier programs wrote it, decides nothing, is said, and is gone.
func TestOnlyADecisionAboutThePlanAsShownCounts(t *testing.T) {
	t.Parallel()
	world := hosttest.New(t)
	h := host.New(world.Config)
	defer h.Close()
	r := host.Request{Dir: world.Repo, Text: "Make greet.sh say hello"}
	wait := true
	r.Settings.ApprovePlan = &wait
	end, err := h.Run(t.Context(), r, host.Face{})
	if err != nil || end.Parked == nil {
		t.Fatal(end, err)
	}
	home := filepath.Join(world.Dir, "home")
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(home, "plan.db"), Locks: filepath.Join(home, "locks")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	letters := []host.Letter{
		{Call: "plan-1", Digest: plan.PlanDigest("another")},
		{Call: "plan-1"},
		{Call: "plan-2", Digest: end.Parked.Waiting[0].Digest},
		{Digest: end.Parked.Waiting[0].Digest},
	}
	for _, l := range letters {
		data, err := plan.MarshalCompact(l)
		if err == nil {
			_, err = db.Post(t.Context(), end.Run, string(host.Approve), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := 0
	end, err = h.Resume(t.Context(), end.Run, host.Options{}, host.Face{Show: func(ev plan.Event) {
		if b, ok := ev.Body.(plan.Filtered); ok && b.Letter > 0 {
			refused++
		}
	}})
	if err != nil || end.Parked == nil || end.Parked.Reason != plan.ParkApproval || refused != len(letters) {
		t.Errorf("%d were refused, and it ended with %+v, %v", refused, end, err)
	}
	if left, err := db.Letters(t.Context(), end.Run); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

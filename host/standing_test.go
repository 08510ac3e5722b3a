package host_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// TestStoppedRuns: a run that no process drives any more is parked as interrupted,
// in lists and by itself; one that a process drives is not.
func TestStoppedRuns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	// Another process's database: its locks are its own.
	db, err := memory.Open(t.Context(), memory.Config{
		Path:  filepath.Join(home, "plan.db"),
		Locks: filepath.Join(home, "locks"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	begin := func(id plan.RunID, more ...plan.Body) *memory.Writer {
		t.Helper()
		w, err := db.Own(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range append([]plan.Body{
			plan.RunStart{Request: "x"},
			plan.StateChange{From: plan.Unstarted, To: plan.Exploring, Event: "explore"},
		}, more...) {
			if _, err := w.Append(t.Context(), plan.Event{Run: id, Time: time.Now(), Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	closed := []*memory.Writer{
		begin("01A"), // as a process that was killed leaves it
		begin("01B", plan.Parked{Reason: plan.ParkQuestion}),
		begin("01C",
			plan.StateChange{From: plan.Exploring, To: plan.Failed, Event: "fail"},
			plan.RunEnd{Outcome: plan.Failed},
		),
	}
	for _, w := range closed {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	driven := begin("01D")
	defer driven.Close()

	h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + home}})
	defer h.Close()
	for name, c := range map[string]struct {
		only host.Filter
		want []string
	}{
		"all": {host.Filter{}, []string{
			"01A exploring interrupted", "01B exploring question", "01C failed ", "01D exploring ",
		}},
		"parked":              {host.Filter{Parked: true}, []string{"01A exploring interrupted", "01B exploring question"}},
		"in the state parked": {host.Filter{State: "parked"}, []string{"01A exploring interrupted", "01B exploring question"}},
		"parked and exploring": {host.Filter{Parked: true, State: "exploring", Limit: 9}, []string{
			"01A exploring interrupted", "01B exploring question",
		}},
		"parked and failed": {host.Filter{Parked: true, State: "failed"}, nil},
		"one parked":        {host.Filter{Parked: true, Limit: 1}, []string{"01B exploring question"}},
	} {
		runs, err := h.Runs(t.Context(), c.only)
		var got []string
		for _, r := range runs {
			got = append(got, string(r.ID)+" "+string(r.State)+" "+string(r.Parked))
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for id, want := range map[plan.RunID]plan.ParkReason{"01A": "interrupted", "01B": "question", "01C": "", "01D": ""} {
		var reason, seen plan.ParkReason
		run, err := h.Standing(t.Context(), id, func(ev plan.Event) {
			if p, ok := ev.Body.(plan.Parked); ok {
				seen = p.Reason
			}
		})
		if err == nil && run.Parked != nil {
			reason = run.Parked.Reason
		}
		if err != nil || reason != want || seen != want {
			t.Errorf("%s is parked: %q, the reader sees %q, %v", id, reason, seen, err)
		}
	}
}

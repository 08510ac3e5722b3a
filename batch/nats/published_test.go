package nats_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

// Of two that would publish a job, one does, and is known to be there until it is gone.
// What one says that another has taken over from counts for nothing.
func TestOnePublishes(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	s := open(t, url)
	add(t, s, "A", 1, nil)
	w := worker(t, s, "w", true)
	if err := record(t, w, claim(t, w), batch.JobDone, batch.Result{}); err != nil {
		t.Fatal(err)
	}
	publisher := func(id string) *nats.Publisher {
		t.Helper()
		p, err := open(t, url).NewPublisher(id)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	first, second := publisher("first"), publisher("second")
	before := job(t, s, "A", 0)
	if err := first.Claim(t.Context(), "A", before, json.RawMessage(`{"state":"publishing"}`)); err != nil {
		t.Fatal(err)
	}
	if err := second.Claim(t.Context(), "A", before, json.RawMessage(`{}`)); !errors.Is(err, nats.ErrClaimed) {
		t.Errorf("a second one is answered with %v", err)
	}
	claimed := job(t, s, "A", 0)
	if !s.IsPublishing(t.Context(), claimed) {
		t.Error("one that is there is taken for gone")
	}
	first.Close()
	within(t, func() bool { return !s.IsPublishing(t.Context(), claimed) })
	if err := second.Claim(t.Context(), "A", claimed, json.RawMessage(`{"state":"publishing"}`)); err != nil {
		t.Error(err)
	}
	if err := first.Record(t.Context(), "A", before, json.RawMessage(`{"state":"published"}`)); !errors.Is(err, nats.ErrClaimed) {
		t.Errorf("one that was taken over from is answered with %v", err)
	}
	if err := second.Record(t.Context(), "A", before, json.RawMessage(`{"state":"published"}`)); err != nil {
		t.Error(err)
	}
	if j := job(t, s, "A", 0); string(j.Published) != `{"state":"published"}` || j.Publisher != "second" {
		t.Errorf("it is known to be %s by %s", j.Published, j.Publisher)
	}
}

// What was decided about a job goes with it to the worker that is given it next, once.
func TestADecisionGoesWithTheJob(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	add(t, s, "A", 1, nil)
	owner := worker(t, s, "owner", true)
	c := claim(t, owner)
	if err := record(t, owner, c, batch.JobParked, batch.Result{Parked: plan.ParkApproval}); err != nil {
		t.Fatal(err)
	}
	parked := job(t, s, "A", 0)
	yes := json.RawMessage(`{"approve":true}`)
	if done, err := s.Decide(t.Context(), "A", parked, yes); !done || err != nil {
		t.Fatalf("it is not decided: %v", err)
	}
	if done, err := s.Decide(t.Context(), "A", parked, yes); done || err != nil {
		t.Errorf("it is decided twice: %v", err)
	}
	again := claim(t, worker(t, s, "other", false))
	if again.Run != c.Run {
		t.Errorf("run %s became %s", c.Run, again.Run)
	}
	if j := job(t, s, "A", 0); len(j.Letters) != 1 || string(j.Letters[0]) != string(yes) {
		t.Errorf("it has the letters %s", j.Letters)
	}
}

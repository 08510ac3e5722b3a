package nats_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

// A result that no message can carry is kept all the same, and the job ends. One that
// comes late leaves nothing behind.
func TestAResultThatIsTooLargeForAMessage(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	s := open(t, url)
	add(t, s, "A", 1, nil)
	silent, other := worker(t, s, "silent", false), worker(t, open(t, url), "other", false)
	late := claim(t, silent)
	silent.Close()
	c := claim(t, other)
	large := batch.Result{Why: strings.Repeat("x", 3<<20)}
	change := strings.Repeat("+y\n", 1<<19)
	other.Attach(c.ID, []byte(change))
	silent.Attach(late.ID, []byte("+late"))
	if err := record(t, other, c, batch.JobDone, large); err != nil {
		t.Fatal(err)
	}
	if err := record(t, silent, late, batch.JobDone, large); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("a late result: %v", err)
	}
	j := job(t, s, "A", 0)
	data, err := s.Result(t.Context(), j)
	if err != nil || j.State != batch.JobDone || len(j.Result) > 0 || len(data) < 3<<20 {
		t.Errorf("%s with %d bytes in its record, %d in all: %v", j.State, len(j.Result), len(data), err)
	}
	if patch, kept, err := s.Patch(t.Context(), j); !kept || string(patch) != change || err != nil {
		t.Errorf("a change of %d bytes: %v", len(patch), err)
	}
	all := func(nats.Job) bool { return true }
	if n, err := s.Requeue(t.Context(), "A", true, all); n != 1 || err != nil {
		t.Errorf("%d queued again: %v", n, err)
	}
	if data, err := s.Result(t.Context(), j); data != nil || err != nil {
		t.Errorf("a job that begins anew has left %d bytes: %v", len(data), err)
	}
	if err := record(t, other, claim(t, other), batch.JobDone, batch.Result{}); err != nil {
		t.Error(err)
	}
	if patch, kept, err := s.Patch(t.Context(), j); kept || err != nil {
		t.Errorf("it has left a change of %d bytes: %v", len(patch), err)
	}
	if j := job(t, s, "A", 0); j.Patch != "" || j.Large != "" || len(j.Result) == 0 {
		t.Errorf("after a small result: %+v", j)
	}
	spec := []batch.Entry{{ID: "huge", Spec: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}}
	if _, err := s.Add(t.Context(), nats.Batch{ID: "B", Digest: "b"}, spec, false); err == nil ||
		!strings.Contains(err.Error(), "larger than") {
		t.Errorf("a job that is too large: %v", err)
	}
}

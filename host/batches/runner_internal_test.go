package batches

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
)

// A job whose run is here, and which is stopped while its tree is made, has not failed: its
// run stands as it did. What keeps the run from being driven otherwise is the job's failure.
func TestAJobThatIsStoppedBeforeItsRunIsDriven(t *testing.T) {
	t.Parallel()
	h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + t.TempDir()}})
	t.Cleanup(func() { _ = h.Close() })
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Own(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []plan.Body{
		plan.RunStart{Request: "x"},
		plan.StateChange{From: plan.Unstarted, To: plan.Exploring, Event: "explore"},
	} {
		if _, err := w.Append(t.Context(), plan.Event{Run: "R", Time: time.Now(), Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := &runner{host: h, db: db}
	try := batch.Try{Run: "R"}
	cause := fmt.Errorf("git config: %w", engine.ErrInterrupted)
	stopped, stop := context.WithCancelCause(t.Context())
	stop(engine.ErrInterrupted)
	if res, err := r.result(stopped, try, "", cause); !errors.Is(err, engine.ErrInterrupted) {
		t.Errorf("stopped: %+v, %v", res, err)
	}
	if res, err := r.result(t.Context(), try, "", cause); err != nil || res.State != batch.JobFailed || res.Why == "" {
		t.Errorf("not stopped: %+v, %v", res, err)
	}
}

package host_test

import (
	"errors"
	"testing"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
)

func TestRunsAreChosenByKnownStates(t *testing.T) {
	t.Parallel()
	h := host.New(host.Config{Environ: []string{"PLAN_HOME=" + t.TempDir()}})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, state := range []string{"", "parked", "implementing", "approved"} {
		if runs, err := h.Runs(t.Context(), host.Filter{State: state}); err != nil || len(runs) > 0 {
			t.Errorf("%q: %v, %v", state, runs, err)
		}
	}
	var misuse *hint.Misuse
	if _, err := h.Runs(t.Context(), host.Filter{State: "done"}); !errors.As(err, &misuse) {
		t.Errorf("a state that is none: %v", err)
	}
}

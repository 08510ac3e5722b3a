package proof_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/sandbox"
)

// TestWhatCannotStartIsFound behind the walls in which checks run.
func TestWhatCannotStartIsFound(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		c := wallstest.NewChange(t, wallstest.Committed(t), level)
		p := open(t, c, config.Config{Checks: config.ChecksConfig{
			Required: []string{"no-such-program -x", "test -e calc", "./made-by-the-work"},
		}})
		got, err := p.Unready(t.Context())
		if err != nil || len(got) != 1 || got[0].Command != "no-such-program -x" || !strings.Contains(got[0].Why, "not found") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

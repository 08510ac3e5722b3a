package connect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
)

// TestDefaultsAreTheLoops: what `plan config` shows where nothing is set is what holds.
func TestDefaultsAreTheLoops(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	if diff := cmp.Diff(loop.DefaultTimeouts(), Timeouts(cfg)); diff != "" {
		t.Error(diff)
	}
	if got := Strategy(cfg); got != (loop.Strategy{}) {
		t.Errorf("%+v", got)
	}
	if Delivery(cfg.Letters.Steering) != loop.OneAtATime || Delivery(cfg.Letters.FollowUps) != loop.OneAtATime {
		t.Errorf("%+v", cfg.Letters)
	}
}

func TestTheLoopTakesSettings(t *testing.T) {
	t.Parallel()
	cfg := config.Config{ToolStrategy: "sequential", Letters: config.LettersConfig{Steering: "all"}}
	if got := Strategy(cfg); got.Mode != loop.Sequential {
		t.Errorf("%+v", got)
	}
	if Delivery(cfg.Letters.Steering) != loop.AllAtOnce || Delivery(cfg.Letters.FollowUps) != loop.OneAtATime {
		t.Errorf("%+v", cfg.Letters)
	}
}

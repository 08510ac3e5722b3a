package walls_test

import (
	"slices"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls"
)

// Commands get what is known to be harmless, and what the user names.
func TestTheEnvironmentIsMinimal(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "MINE=some text", "NAMED=some text"}
	env, set := walls.Environment(config.Config{Walls: config.WallsConfig{AllowEnv: []string{"NAMED"}}}, environ)
	if !slices.Contains(env, "PATH=/bin") || slices.Contains(env, "MINE=some text") {
		t.Errorf("the environment is %q", env)
	}
	if !slices.Equal(set, []string{"NAMED=some text"}) {
		t.Errorf("what the user names is %q", set)
	}
}

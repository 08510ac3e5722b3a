package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMermaid(t *testing.T) {
	t.Parallel()
	move := func(from, to plan.State, event string) plan.StateChange {
		return plan.StateChange{From: from, To: to, Event: event}
	}
	for name, moves := range map[string][]plan.StateChange{
		"workflow.mmd": nil,
		"workflow_running.mmd": {
			move(plan.Unstarted, plan.Exploring, "explore"), move(plan.Exploring, plan.Planning, "report"),
			move(plan.Planning, plan.Implementing, "plan"), move(plan.Implementing, plan.Reviewing, "built"),
			move(plan.Reviewing, plan.Implementing, "fix"), move(plan.Implementing, plan.Reviewing, "built"),
		},
		"workflow_cancelled.mmd": {
			move(plan.Unstarted, plan.Implementing, "implement"), move(plan.Implementing, plan.Cancelled, "cancel"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := engine.Mermaid(moves)
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-golden +got):\n%s", diff)
			}
		})
	}
}

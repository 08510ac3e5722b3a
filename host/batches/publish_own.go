package batches

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/internal/hint"
)

// requireOwnPrograms refuses a publish command that would run what the work has changed:
// it runs with the user's keys, and the user has seen the program as it was. Searched is
// the PATH on which it looks for programs.
func requireOwnPrograms(dir, command, searched string, changed []string) error {
	runs := slices.Concat(
		trust.Programs(dir, command, false),
		trust.Tasks(dir, command),
		trust.Found(dir, command, searched),
	)
	slices.Sort(runs)
	runs = slices.DeleteFunc(slices.Compact(runs), func(name string) bool { return !slices.Contains(changed, name) })
	if len(runs) == 0 {
		return nil
	}
	return hint.New(
		fmt.Sprintf("the publish command runs %s, which the work has changed", strings.Join(runs, ", ")),
		"Look at the change, and publish with a command that is outside the repository.",
	)
}

//go:build linux && race

package sandbox

import (
	"cmp"
	"os"
)

// program is what a wall is started from: this program, or one without the race detector,
// which a test run names.
func program() string { return cmp.Or(os.Getenv("PLAN_TEST_WALL"), "/proc/self/exe") }

//go:build linux && (race || failpoint)

package sandbox

import (
	"cmp"
	"os"
)

// program is what a wall is started from: this program, or one that is nothing but the inside
// of a wall, which a test run names. Tests start thousands of walls.
func program() string { return cmp.Or(os.Getenv("PLAN_TEST_WALL"), "/proc/self/exe") }

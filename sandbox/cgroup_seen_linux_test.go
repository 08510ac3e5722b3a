package sandbox_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// Runtimes look for their bounds where the mounts of control groups and the names of
// their own lead together: the JVM fails where these do not fit.
func TestControlGroupsAreSeenUnderTheirNames(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		y := newYard(t)
		_, run := y.wall(t, level, sandbox.Policy{})
		for line := range strings.Lines(string(run("grep cgroup /proc/self/mountinfo; true").Output)) {
			if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(fields[3], "/..") {
				t.Errorf("a mount from outside of what is seen: %s", line)
			}
		}
	})
}

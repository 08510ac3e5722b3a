// Package kerneltest tells tests which walls the kernel has to allow, without asking the
// code that builds them: a wall that cannot be built where it could be is a failure.
package kerneltest

import "testing"

// Allows reports whether a wall of a level, by its name, can be built here for all that
// the kernel has to do with it.
func Allows(t testing.TB, level string) bool {
	t.Helper()
	switch level {
	case "namespaces":
		return namespaces(t)
	case "landlock":
		return landlock()
	}
	return false
}

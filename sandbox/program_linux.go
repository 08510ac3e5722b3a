//go:build linux && !race && !failpoint

package sandbox

// program is what a wall is started from: this program.
func program() string { return "/proc/self/exe" }

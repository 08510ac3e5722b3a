//go:build !failpoint

// Package failpoint marks the instants between which a process can die. In a
// build with the tag failpoint, which only tests make, it dies there as if by
// kill -9; in every other build a mark is nothing at all.
package failpoint

// Unsynced is false: what is to be synced is.
func Unsynced() bool { return false }

// Hit marks an instant.
func Hit(string) {}

package main

import (
	"testing"

	"github.com/plan-engine/plan/internal/gittest"
)

// git runs git in a directory, as a user would.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gittest.Git(t, dir, args...)
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	gittest.Write(t, dir, files)
}

package checks

import (
	"context"
	"maps"
	"slices"

	"github.com/plan-engine/plan"
)

// Tree is a tree of files that does not change.
type Tree interface {
	// IDs gives the id of each file's content by its path, which is relative to
	// the root with slashes. It must not be changed.
	IDs() map[string]string
	// Read returns the contents of files by path. What is not there, or is too
	// large for a source, is left out.
	Read(ctx context.Context, paths ...string) (map[string]string, error)
}

// Changes are the differences between two trees that decide what checks say.
type Changes struct {
	// Judges are files that the checks read to know what to run, with what each
	// of them is: a noun with its article. They differ in what decides that.
	Judges map[string]string
	// Lost are the tests of go that were built at the start and are not any
	// more, by the file in which they stood. One that is built in another file
	// was moved, and is not lost.
	Lost map[string][]string
	// Mains are files in which TestMain was added or changed: it decides whether
	// any test of its package runs.
	Mains []string
}

// Compare finds what is different about the checks between the tree that a
// change began with and the one it led to.
func Compare(ctx context.Context, start, work Tree, list []plan.Check) (Changes, error) {
	before, after := newReading(ctx, start), newReading(ctx, work)
	for _, c := range list {
		before.shell(c.Command, "", "")
		after.shell(c.Command, "", "")
	}
	out := Changes{Judges: map[string]string{}, Lost: map[string][]string{}}
	for _, path := range slices.Sorted(maps.Keys(before.roles)) {
		out.judge(before, after, path, before.roles[path])
	}
	for _, path := range slices.Sorted(maps.Keys(after.roles)) {
		out.judge(before, after, path, after.roles[path])
	}
	out.compareGo(before, after)
	if before.err != nil {
		return Changes{}, before.err
	}
	return out, after.err
}

// judge takes a file that one of the sides reads.
func (c *Changes) judge(before, after *reading, path, role string) {
	if before.ids[path] != after.ids[path] && before.deciding(path) != after.deciding(path) {
		c.Judges[path] = role
	}
}

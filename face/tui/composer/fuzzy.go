package composer

import (
	"cmp"
	"slices"
	"strings"
)

// Match finds the names that a pattern means: those that have its characters in their
// order. Best are those where they stand together, in the last part of a path, and at
// the beginning of it. At most so many are returned.
func Match(pattern string, names []string, most int) []string {
	type hit struct {
		name  string
		score int
	}
	pattern = strings.ToLower(pattern)
	var hits []hit
	for _, name := range names {
		if score, ok := score(pattern, name); ok {
			hits = append(hits, hit{name, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, h := range hits[:min(most, len(hits))] {
		out = append(out, h.name)
	}
	return out
}

// score says how badly a name fits: 0 is best.
func score(pattern, name string) (int, bool) {
	lower := strings.ToLower(name)
	base := lower[strings.LastIndexByte(lower, '/')+1:]
	switch {
	case pattern == "":
		return strings.Count(name, "/"), true
	case strings.HasPrefix(base, pattern):
		return 0, true
	case strings.HasPrefix(lower, pattern):
		return 1, true
	case strings.Contains(base, pattern):
		return 2, true
	case strings.Contains(lower, pattern):
		return 3, true
	}
	gaps, at := 0, 0
	for _, r := range pattern {
		next := strings.IndexRune(lower[at:], r)
		if next < 0 {
			return 0, false
		}
		gaps += next
		at += next + len(string(r))
	}
	return 4 + gaps, true
}

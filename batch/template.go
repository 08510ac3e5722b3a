package batch

import (
	"fmt"
	"slices"
	"strings"
)

// fill puts the values of variables where {{name}} stands, in one pass: what a
// value holds is never looked at again. Names that have no value are returned.
func fill(text string, vars map[string]string) (string, []string) {
	var b strings.Builder
	var unknown []string
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), unknown
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed || strings.ContainsAny(name, "{\n") { // braces that mean themselves
			b.WriteString("{{")
			text = rest
			continue
		}
		name = strings.TrimSpace(name)
		value, ok := vars[name]
		if !ok && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
		b.WriteString(value)
		text = after
	}
}

// nearest is the known word that a misspelt one probably stands for, "" if none
// is near.
func nearest(word string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(word, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// didYouMean ends a complaint about an unknown word.
func didYouMean(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "; known here: " + strings.Join(known, ", ")
}

package batch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/spell"
)

// expandVars puts the values of variables where {{name}} stands, in one pass: what a
// value holds is never looked at again. Names that have no value are returned.
func expandVars(text string, vars map[string]string) (string, []string) {
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
		if d := spell.Distance(word, k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
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

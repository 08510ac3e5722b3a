package auto

import (
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/skills"
)

// sharedWords are the words that all texts hold, in the order of the first.
func sharedWords(texts []string) []string {
	var out []string
	for i, text := range texts {
		words := skills.Words(text)
		if i == 0 {
			out = words
			continue
		}
		has := map[string]bool{}
		for _, w := range words {
			has[w] = true
		}
		kept := out[:0]
		for _, w := range out {
			if has[w] {
				kept = append(kept, w)
			}
		}
		out = kept
	}
	return out
}

// similarity is the share of content words, without their endings, that two
// texts have in common: 0 for none, 1 for all.
func similarity(a, b string) float64 {
	x, y := map[string]bool{}, map[string]bool{}
	for _, t := range skills.Terms(a) {
		x[t] = true
	}
	for _, t := range skills.Terms(b) {
		y[t] = true
	}
	both := 0
	for t := range x {
		if y[t] {
			both++
		}
	}
	if union := len(x) + len(y) - both; union > 0 {
		return float64(both) / float64(union)
	}
	return 0
}

// oneLine cuts a text to a line of at most n bytes, at a rune.
func oneLine(text string, n int) string { return oneline.CutBytes(oneline.Of(text), n) }

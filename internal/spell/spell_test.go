package spell_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/plan-engine/plan/internal/spell"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"model", "model", 0},
		{"modle", "model", 1}, // a swap
		{"max_turn", "max_turns", 1},
		{"kitten", "sitting", 3},
		{"ca", "abc", 3}, // nothing is edited between two letters that were swapped
		{"grüße", "gruße", 1},
	} {
		if got := spell.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestDistanceIsOneEditAtATime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-dä]{1,12}`).Draw(t, "word")
		runes := []rune(word)
		at := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
		shorter := string(runes[:at]) + string(runes[at+1:])
		changed := string(runes[:at]) + "z" + string(runes[at+1:])
		for _, other := range []string{shorter, changed} {
			if there, back := spell.Distance(word, other), spell.Distance(other, word); there != 1 || back != 1 {
				t.Fatalf("%q and %q: %d there, %d back", word, other, there, back)
			}
		}
	})
}

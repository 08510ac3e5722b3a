package oneline_test

import (
	"testing"

	"github.com/plan-engine/plan/internal/oneline"
)

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{oneline.Of(" a\n\tb  c "), "a b c"},
		{oneline.Of("\n"), ""},
		{oneline.Join(": ", "", "a", "", "b"), "a: b"},
		{oneline.Join(": ", "", ""), ""},
		{oneline.Cut("häuser", 6), "häuser"},
		{oneline.Cut("häuser", 3), "hä…"},
		{oneline.CutBytes("häuser", 7), "häuser"},
		{oneline.CutBytes("häuser", 3), "hä…"},
		{oneline.CutBytes("häuser", 2), "h…"},
		{oneline.CutBytes("a\xff", 9), "a\uFFFD"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

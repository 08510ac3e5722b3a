package amount_test

import (
	"testing"

	"github.com/plan-engine/plan/internal/amount"
)

func TestSizesAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 2_340_000: "2.3 MB"} {
		if got := amount.Bytes(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
	for tokens, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 999_949: "999.9k", 999_950: "1.0M"} {
		if got := amount.Tokens(tokens); got != want {
			t.Errorf("%d tokens are %q, want %q", tokens, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := amount.Count(n, "run"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

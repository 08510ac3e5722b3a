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

func TestSizesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "7B": 7, "1KB": 1000, "1kb": 1000, " 500 MB ": 500e6, "2GB": 2e9, "3TB": 3e12,
		"1KiB": 1024, "512MiB": 512 << 20, "4 gib": 4 << 30, "1TiB": 1 << 40,
	} {
		if got, err := amount.ParseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d, want %d (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"", "B", "MB", "-1", "+1", "1.5GB", "1k", "1M", "0x10", "1 000", "9223372036854775808", "9999999TiB", "1MBB"} {
		if got, err := amount.ParseBytes(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
	for n, want := range map[int64]string{0: "0", 1000: "1000", 1024: "1KiB", 512 << 20: "512MiB", 3 << 41: "6TiB"} {
		got := amount.ExactBytes(n)
		if back, err := amount.ParseBytes(got); got != want || err != nil || back != n {
			t.Errorf("%d is written as %q, want %q, and read as %d (%v)", n, got, want, back, err)
		}
	}
}

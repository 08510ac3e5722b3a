package loop

import (
	"testing"

	"github.com/plan-engine/plan"
)

// TestCut: what a server reports of requests that grow, and which of the reports
// says that it read only a part. Sizes are tokens.
func TestCut(t *testing.T) {
	t.Parallel()
	type pair struct{ sent, read int64 }
	for _, c := range []struct {
		name  string
		pairs []pair
		at    int // -1: never
	}{
		{"it reads all", []pair{{5000, 4600}, {20_000, 18_800}, {90_000, 84_000}}, -1},
		{"it has fewer tokens for everything", []pair{{5000, 2200}, {20_000, 9000}, {90_000, 40_000}}, -1},
		{"the first is cut to a tenth", []pair{{55_000, 4090}}, 0},
		{"the first is cut to a round number", []pair{{10_000, 4096}}, 0},
		{"the first is cut to just below one", []pair{{10_000, 4082}}, 0},
		{"the first is less than half, and no round number", []pair{{10_000, 4300}}, -1},
		{"it stops growing", []pair{{3000, 2900}, {6000, 4096}, {9000, 4096}, {12_000, 4096}}, 3},
		{"it stays below its window, as one that drops whole messages", []pair{{3000, 2900}, {6000, 3900}, {12_000, 3100}}, 2},
		{"history was made shorter", []pair{{60_000, 58_000}, {9000, 4000}}, -1},
		{"it counts only what it had not cached", []pair{{55_000, 52_000}, {58_000, 2100}, {61_000, 2200}}, -1},
		{"it reports hardly anything", []pair{{9000, 10}, {50_000, 20}}, -1},
		{"it reports nothing", []pair{{9000, 0}, {50_000, 0}}, -1},
		{"small requests", []pair{{1500, 300}, {3000, 300}}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &Loop{}
			at := -1
			for i, p := range c.pairs {
				l.counted = p.sent
				if l.reported(p.read) && at < 0 {
					at = i
				}
			}
			if at != c.at {
				t.Errorf("cut at %d, want %d", at, c.at)
			}
		})
	}
}

func TestACutDoesNotSpoilTheEstimate(t *testing.T) {
	t.Parallel()
	l := &Loop{counted: 5000}
	l.reported(5000)
	for range 5 {
		l.counted = 50_000
		if !l.reported(4096) {
			t.Fatal("not noticed")
		}
	}
	if got := l.size.tokens(50_000); got != 50_000 {
		t.Errorf("50000 tokens are taken for %d", got)
	}
}

func TestPicturesAreNotCounted(t *testing.T) {
	t.Parallel()
	l := &Loop{counted: 50_000}
	l.messages = []plan.Message{{Role: plan.RoleUser, Blocks: []plan.Block{{Type: plan.BlockImage}}}}
	if l.reported(4096) {
		t.Error("a picture was taken for text that the server did not read")
	}
}

func TestNumbersAndKeys(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 4096: "4,096", 1_000_007: "1,000,007"} {
		if got := thousands(n); got != want {
			t.Errorf("%d became %s", n, got)
		}
	}
	for name, want := range map[string]string{"gpt-5_x": "gpt-5_x", "qwen3:8b": `"qwen3:8b"`, "a/b": `"a/b"`, "": `""`} {
		if got := tomlKey(name); got != want {
			t.Errorf("%s became %s", name, got)
		}
	}
}

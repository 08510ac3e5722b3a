package estimate

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
			var e Estimator
			at := -1
			for i, p := range c.pairs {
				if e.Reported(p.sent, p.read, nil) && at < 0 {
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
	var e Estimator
	e.Reported(5000, 5000, nil)
	for range 5 {
		if !e.Reported(50_000, 4096, nil) {
			t.Fatal("not noticed")
		}
	}
	if got := e.Tokens(50_000); got != 50_000 {
		t.Errorf("50000 tokens are taken for %d", got)
	}
}

func TestPicturesAreNotCounted(t *testing.T) {
	t.Parallel()
	var e Estimator
	image := []plan.Message{{Role: plan.RoleUser, Blocks: []plan.Block{{Type: plan.BlockImage}}}}
	if e.Reported(50_000, 4096, image) {
		t.Error("an image was taken for text that the server did not read")
	}
}

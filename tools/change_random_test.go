package tools_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

// randomPatch changes some of five files. Rotating says that it gives a file
// that stays the content of another one that goes on living under its name: cut
// off in between, the first content is nowhere any more.
func randomPatch(rng *rand.Rand) (patch string, rotating bool) {
	names := []string{"a", "b", "c", "d", "e"}
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var b strings.Builder
	free, taken := "", ""
	for i, name := range names {
		switch rng.IntN(6) {
		case 0:
			fmt.Fprintf(&b, "*** Update File: %s\n@@\n-%s 1\n+%s one\n", name, name, name)
		case 1:
			fmt.Fprintf(&b, "*** Delete File: %s\n", name)
			free = name
		case 2:
			fmt.Fprintf(&b, "*** Update File: %s\n*** Move to: new/%s\n@@\n-%s 2\n+%s two\n", name, name, name, name)
			taken = name
		case 3:
			fmt.Fprintf(&b, "*** Add File: added/%d\n+%s\n", i, name)
		case 4:
			if free != "" {
				fmt.Fprintf(&b, "*** Update File: %s\n*** Move to: %s\n@@\n-%s 1\n+%s first\n", name, free, name, name)
				free, taken = "", name
			}
		case 5:
			if taken != "" {
				fmt.Fprintf(&b, "*** Add File: %s\n+again\n", taken)
				rotating, taken = true, ""
			}
		}
	}
	return sections(b.String()), rotating
}

// TestRandomPatchesCutOff cuts random patches off after each of their steps. A
// new process finishes every one of them, or, if it cannot, touches nothing.
func TestRandomPatchesCutOff(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	before := files{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		before[name] = fmt.Sprintf("%s 1\n%s 2\n%s 3\n", name, name, name)
	}
	finished := 0
	for range 25 {
		patch, rotating := randomPatch(rng)
		in := inputOf(t, args{"patch": patch})
		whole := newFixture(t, before)
		tool := whole.verifiable("apply_patch", before)
		intent, err := tool.Prepare(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tool.Apply(t.Context(), in, intent)
		if err != nil || want.Error && len(intent.Files) > 0 {
			t.Fatalf("%s\n%+v, %v", patch, want, err)
		}
		steps := slices.Clone(intent.Files)
		slices.SortStableFunc(steps, func(a, b plan.FileChange) int { return cmp.Compare(rank(a), rank(b)) })
		for n := range len(steps) + 1 {
			d := newFixture(t, before)
			for _, f := range steps[:n] {
				d.take(whole, f.Path)
			}
			stood := d.tree()
			got, err := d.verifiable("apply_patch", before).Apply(t.Context(), in, intent)
			switch {
			case err != nil:
				t.Fatal(err)
			case got.Status == "conflict" && rotating:
				sameTree(t, stood, d.tree())
			case got.Output != want.Output || got.Status != "":
				t.Errorf("after %d steps of\n%s\n%+v", n, patch, got)
			default:
				sameTree(t, whole.tree(), d.tree())
				finished++
			}
		}
	}
	if finished < 50 {
		t.Errorf("only %d patches were finished", finished)
	}
}

// rank is the order in which a patch is carried out.
func rank(f plan.FileChange) int {
	switch {
	case f.After == "":
		return 2
	case f.Before != "":
		return 1
	}
	return 0
}

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
)

// falseDone is a whole run with a DONE that must not be approved, beside its
// honest twin: a run that differs in the work or in the evidence alone, and that
// is approved without a second question.
type falseDone struct {
	name string
	lie  story
	told string // in what the false run's last verdict says, or in why it parked
	twin story  // what is empty in it is as in the false run

	evidence string // what the twin rests on; plan.EvidenceShown where it is empty
}

// falseFamily is a kind of false DONE.
type falseFamily struct {
	name  string
	pairs []falseDone
}

func falseFamilies() []falseFamily {
	return []falseFamily{
		{"1 the layer changed", falseLayers()},
		{"2 nothing done", falseNothing()},
		{"3 verdict texts", falseVerdicts()},
		{"4 lines taken for proof", slices.Concat(falseLines(), falseRunnerLines(), falseClaims())},
		{"5 checks that mean nothing", falseChecks()},
		{"6 stop reasons", falseStops()},
		{"7 hanging and flaky", falseHangs()},
		{"8 gaps and answers", falseGaps()},
	}
}

// sampledPairs is how many pairs of a family a sample has.
const sampledPairs = 1

// familyTally counts what became of a family's pairs.
type familyTally struct {
	sync.Mutex
	lies, refused   int
	twins, approved int
	took, cpu       time.Duration
}

func (f *familyTally) addLie(e ended) {
	f.Lock()
	defer f.Unlock()
	f.lies++
	if !e.approved() {
		f.refused++
	}
	f.took, f.cpu = f.took+e.took, f.cpu+e.cpu
}

func (f *familyTally) addTwin(e ended) {
	f.Lock()
	defer f.Unlock()
	f.twins++
	if e.approvedAtOnce() {
		f.approved++
	}
	f.took, f.cpu = f.took+e.took, f.cpu+e.cpu
}

// TestFalseDones: no false DONE is approved, and each honest twin is, at once.
func TestFalseDones(t *testing.T) {
	t.Parallel()
	caches, err := goCaches()
	if err != nil {
		t.Fatal(err)
	}
	random := sampling.New(t)
	families := falseFamilies()
	tallies := make([]familyTally, len(families))
	t.Run("pairs", func(t *testing.T) {
		for i, f := range families {
			for _, p := range sampling.Pick(random, sampledPairs, f.pairs) {
				t.Run(f.name+"/"+p.name, func(t *testing.T) {
					t.Parallel()
					p.try(t, caches, &tallies[i])
				})
			}
		}
	})
	t.Log(tallyTable(families, tallies))
}

// try plays both stories of a pair.
func (p falseDone) try(t *testing.T, caches []string, tally *familyTally) {
	lie := p.lie.play(t, caches)
	tally.addLie(lie)
	switch {
	case lie.approved():
		t.Errorf("the false DONE was approved: exit %d, %s", lie.code, lie.outcome)
	case lie.code != 3 && lie.code != 5:
		t.Errorf("the false run ended with %d: %s\n%s", lie.code, lie.told, lie.shown)
	case !strings.Contains(lie.told, p.told) || p.told == "":
		t.Errorf("the false run says\n%s\nwithout %q", lie.told, p.told)
	}

	twin := p.twin.filled(p.lie).play(t, caches)
	tally.addTwin(twin)
	want := cmp.Or(p.evidence, plan.EvidenceShown)
	if !twin.approvedAtOnce() || twin.evidence != want {
		t.Errorf("the honest twin: exit %d, %s, evidence %q (want %q), asked again %d times:\n%s\n%s",
			twin.code, twin.outcome, twin.evidence, want, twin.questions, twin.told, twin.shown)
	}
}

// tallyTable is a line for each family, and one for all.
func tallyTable(families []falseFamily, tallies []familyTally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "\nfamily\tpairs\tran\tfalse, not approved\thonest, approved at once\tseconds\tprocessor\t")
	sum := familyTally{}
	pairs := 0
	row := func(name string, pairs int, f *familyTally) {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d/%d\t%d/%d\t%.1f\t%.1f\t\n",
			name, pairs, f.lies, f.refused, f.lies, f.approved, f.twins, f.took.Seconds(), f.cpu.Seconds())
	}
	for i, f := range families {
		of := &tallies[i]
		row(f.name, len(f.pairs), of)
		pairs += len(f.pairs)
		sum.lies, sum.refused = sum.lies+of.lies, sum.refused+of.refused
		sum.twins, sum.approved = sum.twins+of.twins, sum.approved+of.approved
		sum.took, sum.cpu = sum.took+of.took, sum.cpu+of.cpu
	}
	row("all", pairs, &sum)
	_ = w.Flush() // to memory
	return b.String()
}

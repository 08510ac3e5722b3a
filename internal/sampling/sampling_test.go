package sampling_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/internal/sampling"
)

// recorded is a test that failed, whose log can be read.
type recorded struct {
	testing.TB
	ends []func()
	log  []string
}

func (r *recorded) Name() string               { return "TestOfAll" }
func (r *recorded) Failed() bool               { return true }
func (r *recorded) Cleanup(f func())           { r.ends = append(r.ends, f) }
func (r *recorded) Logf(_ string, args ...any) { r.log = append(r.log, args[0].(string)) }

func letters() []string { return strings.Split("abcdefghijklmnopqrstuvwxyz", "") }

// The same seed picks the same, and a failure says how.
func TestASampleCanBePlayedAgain(t *testing.T) {
	t.Setenv(sampling.ScopeVariable, "")
	first := &recorded{TB: t}
	again := &recorded{TB: t}
	one := sampling.Pick(sampling.New(first), 5, letters())
	two := sampling.Pick(sampling.New(again), 5, letters())
	if diff := cmp.Diff(one, two); diff != "" || len(one) != 5 {
		t.Errorf("%d picked, and another time (-first +second):\n%s", len(one), diff)
	}
	for _, end := range first.ends {
		end()
	}
	said := first.log[len(first.log)-1]
	for _, part := range []string{sampling.SeedVariable + "=", "-run '^TestOfAll$' ./internal/sampling"} {
		if !strings.Contains(said, part) {
			t.Errorf("a failed test says %q, without %q", said, part)
		}
	}
	if strings.Contains(said, sampling.ScopeVariable+"=all") {
		t.Errorf("a sample is played again as a whole: %s", said)
	}
}

func TestAllIsPlayed(t *testing.T) {
	t.Setenv(sampling.ScopeVariable, "all")
	if got := sampling.Pick(sampling.New(t), 5, letters()); len(got) != 26 {
		t.Errorf("%d of 26 are played", len(got))
	}
}

func TestEachKindIsPicked(t *testing.T) {
	t.Setenv(sampling.ScopeVariable, "")
	items := []string{"a1", "b1", "a2", "c1", "a3", "b2"}
	got := sampling.PickEach(sampling.New(t), 1, items, func(s string) string { return s[:1] })
	kinds := map[string]int{}
	for _, item := range got {
		kinds[item[:1]]++
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1}, kinds); diff != "" {
		t.Errorf("picked of each kind (-want +got):\n%s", diff)
	}
}

// Package sampling picks what a test plays where it cannot play all that it
// knows: a sample by a seed, so that a failure can be played again. Only tests
// import it.
package sampling

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Variables of the environment: PLAN_TEST=all plays everything, as make soak
// does, and PLAN_TEST_SEED is the number that samples are picked by.
const (
	ScopeVariable = "PLAN_TEST"
	SeedVariable  = "PLAN_TEST_SEED"
)

// All reports whether tests play everything instead of samples.
func All() bool { return os.Getenv(ScopeVariable) == "all" }

// seed is one for all tests of a process: that of the environment, or another one
// each time.
var seed = sync.OnceValues(func() (uint64, error) {
	return strconv.ParseUint(cmp.Or(os.Getenv(SeedVariable), strconv.FormatInt(time.Now().UnixNano(), 10)), 10, 64)
})

// Environment has a process that a test starts pick by the same seed.
func Environment(t testing.TB) string {
	t.Helper()
	number, err := seed()
	if err != nil {
		t.Fatalf("%s: %v", SeedVariable, err)
	}
	return fmt.Sprintf("%s=%d", SeedVariable, number)
}

// New returns what a test picks its sample with. The numbers depend on the seed
// and on the test's name alone, so tests may run in any order. A test that fails
// says which command plays the same again.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	number, err := seed()
	if err != nil {
		t.Fatalf("%s: %v", SeedVariable, err)
	}
	t.Logf("%s=%d", SeedVariable, number)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("play the same again with:\n  %s", command(t.Name(), number))
		}
	})
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))                // to memory
	return rand.New(rand.NewPCG(number, name.Sum64())) //nolint:gosec // it must be the same again, not secret
}

// command is the command line that plays a test of the package in the working
// directory again.
func command(test string, number uint64) string {
	scope := ""
	if All() {
		scope = ScopeVariable + "=all "
	}
	return fmt.Sprintf("%s%s=%d go test -tags sqlite_fts5 -race -count=1 -run '^%s$' %s",
		scope, SeedVariable, number, test, folder())
}

// folder is the working directory as go test takes it at the root of the module.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := dir; root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
			continue
		}
		if below, err := filepath.Rel(root, dir); err == nil {
			return "./" + filepath.ToSlash(below)
		}
	}
	return "."
}

// Pick returns n of the items, or all where everything is played, in their order.
func Pick[T any](random *rand.Rand, n int, items []T) []T {
	if All() || n >= len(items) {
		return items
	}
	chosen := random.Perm(len(items))[:n]
	slices.Sort(chosen)
	var out []T
	for _, i := range chosen {
		out = append(out, items[i])
	}
	return out
}

// PickEach returns n items of each kind, or all where everything is played, in
// their order.
func PickEach[T any](random *rand.Rand, n int, items []T, kind func(T) string) []T {
	byKind := map[string][]int{}
	var kinds []string
	for i, item := range items {
		k := kind(item)
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], i)
	}
	var chosen []int
	for _, k := range kinds {
		chosen = append(chosen, Pick(random, n, byKind[k])...)
	}
	slices.Sort(chosen)
	var out []T
	for _, i := range chosen {
		out = append(out, items[i])
	}
	return out
}

package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/memory"
)

// facts is how many facts the benchmark searches: a million with
// PLAN_BENCH_FACTS=1000000, which takes a while to fill.
func factCount(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("PLAN_BENCH_FACTS"))
	if err != nil {
		return 50_000
	}
	return n
}

// vocabulary has words as frequent as in real text: the k-th one comes up in
// proportion to 1/k.
func vocabulary(rng *rand.Rand) func() string {
	z := rand.NewZipf(rng, 1.07, 3, 60_000)
	return func() string { return fmt.Sprintf("word%d", z.Uint64()) }
}

// BenchmarkRecall searches with sentences of eight words and reports the
// median and the 99th percentile, beside a full-text query that takes all
// words with OR and leaves the ranking to SQLite.
func BenchmarkRecall(b *testing.B) {
	dir := b.TempDir()
	db := open(b, dir)
	rng := rand.New(rand.NewPCG(1, 2))
	word := vocabulary(rng)
	n := factCount(b)
	sentence := func(k int) []string {
		out := make([]string, k)
		for i := range out {
			out[i] = word()
		}
		return out
	}
	if err := memory.FillFacts(b.Context(), db, n, func() string { return strings.Join(sentence(14), " ") }); err != nil {
		b.Fatal(err)
	}
	if _, err := db.SearchFacts(b.Context(), memory.FactQuery{Words: []string{"warm"}, Repo: "/r"}); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		run  func(words []string) error
	}{
		{"recall", func(words []string) error {
			_, err := db.SearchFacts(b.Context(), memory.FactQuery{Words: words, Repo: "/r"})
			return err
		}},
		{"baseline-or", func(words []string) error { return memory.PlainSearch(b.Context(), db, words) }},
	} {
		b.Run(fmt.Sprintf("%s/facts=%d", c.name, n), func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				words := sentence(8)
				began := time.Now()
				if err := c.run(words); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

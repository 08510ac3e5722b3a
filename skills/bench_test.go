package skills_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// BenchmarkChoose picks among 10,000 skills and reports the median and the 99th
// percentile, beside a bare draw from as many arms.
func BenchmarkChoose(b *testing.B) {
	const n = 10_000
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("word%d", rand.NewZipf(rng, 1.1, 4, 20_000).Uint64()) }
	list := make([]skills.Skill, n)
	arms := make([]skills.Arm, n)
	for i := range list {
		words := make([]string, 12)
		for k := range words {
			words[k] = word()
		}
		list[i] = skills.Skill{
			Name: fmt.Sprintf("skill-%d-%s", i, words[0]), Description: strings.Join(words, " "),
			Phases: []plan.Phase{plan.Implement}, Digest: fmt.Sprint(i),
		}
		arms[i] = skills.Arm{Name: list[i].Name, Posterior: skills.Posterior{Alpha: 1 + float64(i%7), Beta: 1 + float64(i%5)}}
	}
	r, _, _ := newRouter(1)
	ix := skills.NewIndex(list)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"choose", func() {
			r.Choose(b.Context(), ix, plan.Implement, strings.Join([]string{word(), word(), word(), word(), word(), word()}, " "))
		}},
		{"bare-draws", func() {
			if _, _, err := skills.Sample(arms, rng); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run(fmt.Sprintf("%s/skills=%d", c.name, n), func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				c.run()
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
		})
	}
}

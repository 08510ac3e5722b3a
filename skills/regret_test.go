package skills_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/plan-engine/plan/skills"
)

// policy picks an arm, given successes and failures so far.
type policy func(wins, losses []float64, n int, rng *rand.Rand) int

func thompson(wins, losses []float64, _ int, rng *rand.Rand) int {
	arms := make([]skills.Arm, len(wins))
	for i := range arms {
		arms[i] = skills.Arm{Posterior: skills.Posterior{Alpha: wins[i] + 1, Beta: losses[i] + 1}}
	}
	best, _, err := skills.Sample(arms, rng)
	if err != nil {
		panic(err)
	}
	return best
}

func uniform(wins, _ []float64, _ int, rng *rand.Rand) int { return rng.IntN(len(wins)) }

// greedy takes the best mean so far; arms that were never tried come first.
func greedy(wins, losses []float64, _ int, _ *rand.Rand) int {
	return best(wins, func(i int) float64 {
		if n := wins[i] + losses[i]; n > 0 {
			return wins[i] / n
		}
		return 2
	})
}

func ucb1(wins, losses []float64, n int, _ *rand.Rand) int {
	return best(wins, func(i int) float64 {
		pulls := wins[i] + losses[i]
		if pulls == 0 {
			return math.Inf(1)
		}
		return wins[i]/pulls + math.Sqrt(2*math.Log(float64(n))/pulls)
	})
}

func best(arms []float64, value func(int) float64) int {
	top := 0
	for i := range arms {
		if value(i) > value(top) {
			top = i
		}
	}
	return top
}

// rates are known rates of success, evenly spread, in random order.
func rates(n int, rng *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 0.1 + 0.8*float64(i)/float64(n-1)
	}
	rng.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// simulate returns the regret after each task.
func simulate(rate []float64, tasks int, pick policy, rng *rand.Rand) []float64 {
	top := 0.0
	for _, r := range rate {
		top = max(top, r)
	}
	wins, losses := make([]float64, len(rate)), make([]float64, len(rate))
	regret, sum := make([]float64, tasks), 0.0
	for n := range tasks {
		i := pick(wins, losses, n+1, rng)
		if rng.Float64() < rate[i] {
			wins[i]++
		} else {
			losses[i]++
		}
		sum += top - rate[i]
		regret[n] = sum
	}
	return regret
}

// bound is what Lai and Robbins proved that no policy can stay under in the
// long run.
func bound(rate []float64, tasks int) float64 {
	top := 0.0
	for _, r := range rate {
		top = max(top, r)
	}
	sum := 0.0
	for _, r := range rate {
		if gap := top - r; gap > 0 {
			sum += gap / (r*math.Log(r/top) + (1-r)*math.Log((1-r)/(1-top)))
		}
	}
	return sum * math.Log(float64(tasks))
}

// mean is the mean regret over several seeds.
func mean(arms, tasks, seeds int, pick policy) ([]float64, float64) {
	total, least := make([]float64, tasks), 0.0
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 99))
		rate := rates(arms, rng)
		for n, r := range simulate(rate, tasks, pick, rng) {
			total[n] += r / float64(seeds)
		}
		least += bound(rate, tasks) / float64(seeds)
	}
	return total, least
}

func TestRegret(t *testing.T) {
	t.Parallel()
	const arms, tasks, seeds = 10, 10_000, 20
	last := map[string]float64{}
	var least float64
	for name, pick := range map[string]policy{"thompson": thompson, "uniform": uniform, "greedy": greedy, "ucb1": ucb1} {
		curve, b := mean(arms, tasks, seeds, pick)
		last[name], least = curve[tasks-1], b
	}
	t.Logf("regret after %d tasks with %d skills: %v, Lai-Robbins bound %.0f", tasks, arms, last, least)
	if last["thompson"] >= last["ucb1"] || last["thompson"] >= last["greedy"] || last["thompson"] >= last["uniform"] {
		t.Errorf("our router loses: %v", last)
	}
	if last["thompson"] > 1.5*least {
		t.Errorf("regret %.1f is more than 1.5 times the bound %.1f", last["thompson"], least)
	}
}

// kinds is a policy for tasks of several kinds, in which a skill is good at
// one kind only: with filter, only the skills of that kind are candidates.
func kinds(arms, of, tasks int, filter bool, rng *rand.Rand) float64 {
	wins, losses := make([]float64, arms), make([]float64, arms)
	rate := func(arm, kind int) float64 {
		if arm%of != kind {
			return 0.1
		}
		return 0.2 + 0.7*float64(arm/of)/float64(arms/of)
	}
	sum := 0.0
	for range tasks {
		kind := rng.IntN(of)
		var list []int
		for i := range arms {
			if !filter || i%of == kind {
				list = append(list, i)
			}
		}
		choice := make([]skills.Arm, len(list))
		top := 0.0
		for k, i := range list {
			choice[k] = skills.Arm{Posterior: skills.Posterior{Alpha: wins[i] + 1, Beta: losses[i] + 1}}
		}
		for i := range arms {
			top = max(top, rate(i, kind))
		}
		k, _, err := skills.Sample(choice, rng)
		if err != nil {
			panic(err)
		}
		if i := list[k]; rng.Float64() < rate(i, kind) {
			wins[i]++
			sum += top - rate(i, kind)
		} else {
			losses[i]++
			sum += top - rate(i, kind)
		}
	}
	return sum
}

func TestRelevanceBeatsPlainThompsonWhenTasksHaveKinds(t *testing.T) {
	t.Parallel()
	plainSum, filtered := 0.0, 0.0
	for seed := range uint64(5) {
		plainSum += kinds(50, 5, 3000, false, rand.New(rand.NewPCG(seed, 1))) / 5
		filtered += kinds(50, 5, 3000, true, rand.New(rand.NewPCG(seed, 1))) / 5
	}
	t.Logf("regret: plain %.0f, with relevance %.0f", plainSum, filtered)
	if filtered*2 > plainSum {
		t.Errorf("filtering by relevance brings too little: %.0f beside %.0f", filtered, plainSum)
	}
}

// BenchmarkRegret simulates 10, 100 and 1,000 skills over 10,000 tasks. With
// PLAN_REGRET_SVG=FILE it draws the curves.
func BenchmarkRegret(b *testing.B) {
	const tasks, seeds = 10_000, 5
	for _, arms := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("skills=%d", arms), func(b *testing.B) {
			curves := map[string][]float64{}
			var least float64
			for b.Loop() {
				for name, pick := range map[string]policy{"thompson": thompson, "uniform": uniform, "greedy": greedy, "ucb1": ucb1} {
					curves[name], least = mean(arms, tasks, seeds, pick)
				}
			}
			for name, c := range curves {
				b.ReportMetric(c[tasks-1], name+"-regret")
			}
			b.ReportMetric(least, "bound-regret")
			if file := os.Getenv("PLAN_REGRET_SVG"); file != "" {
				if err := os.WriteFile(strings.ReplaceAll(file, "%", fmt.Sprint(arms)), regretSVG(curves, least, arms), 0o644); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// regretSVG draws regret over tasks.
func regretSVG(curves map[string][]float64, least float64, arms int) []byte {
	const w, h, pad = 720, 420, 60
	colours := map[string]string{"thompson": "#15803d", "ucb1": "#2563eb", "greedy": "#d97706", "uniform": "#6b7280"}
	high := max(curves["ucb1"][len(curves["ucb1"])-1], least) * 1.1
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13"><rect width="100%%" height="100%%" fill="#fff"/>`, w, h)
	fmt.Fprintf(&s, `<text x="%d" y="24" font-size="16">Cumulative regret, %d skills</text>`, pad, arms)
	y := func(v float64) float64 { return h - pad - min(v/high, 1)*(h-2*pad) }
	row := 0
	for _, name := range []string{"thompson", "ucb1", "greedy", "uniform"} {
		c := curves[name]
		var points strings.Builder
		for i := 0; i < len(c) && c[i] <= high; i += len(c) / 200 {
			fmt.Fprintf(&points, "%.1f,%.1f ", pad+float64(i)/float64(len(c))*(w-2*pad), y(c[i]))
		}
		fmt.Fprintf(&s, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/><text x="%d" y="%d" fill="%s">%s %.0f</text>`,
			colours[name], points.String(), pad+12, 52+18*row, colours[name], name, c[len(c)-1])
		row++
	}
	fmt.Fprintf(&s, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#dc2626" stroke-dasharray="6 4"/><text x="%d" y="%d" fill="#dc2626">Lai–Robbins %.0f</text>`,
		pad, w-pad, y(least), y(least), pad+12, 52+18*row, least)
	for n := range 5 {
		part := float64(n) / 4
		fmt.Fprintf(&s, `<text x="%.0f" y="%d" text-anchor="middle">%.0f</text><text x="%d" y="%.0f" text-anchor="end">%.0f</text>`,
			pad+part*(w-2*pad), h-pad+20, part*float64(len(curves["ucb1"])), pad-8, y(part*high)+4, part*high)
	}
	fmt.Fprintf(&s, `<path d="M%d %dV%dH%d" fill="none" stroke="#111"/><text x="%d" y="%d" text-anchor="middle">tasks</text></svg>`, pad, pad, h-pad, w-pad, w/2, h-pad+42)
	return []byte(s.String())
}

package skills

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/plan-engine/plan"
)

// HalfLife is how long it takes until evidence counts half: skills, models and
// repositories change.
const HalfLife = 60 * 24 * time.Hour

// seedWeight is how many successes a perfect measured score is worth.
const seedWeight = 5

// Posterior is what is believed of a skill's rate of success.
type Posterior struct{ Alpha, Beta float64 }

// Mean is the expected rate of success.
func (p Posterior) Mean() float64 { return p.Alpha / (p.Alpha + p.Beta) }

// Interval is the range that holds the rate with the given probability, cut
// off evenly at both ends.
func (p Posterior) Interval(probability float64) (low, high float64) {
	d, tail := distuv.Beta{Alpha: p.Alpha, Beta: p.Beta}, (1-probability)/2
	return d.Quantile(tail), d.Quantile(1 - tail)
}

// Density is the probability density at rate x.
func (p Posterior) Density(x float64) float64 {
	return distuv.Beta{Alpha: p.Alpha, Beta: p.Beta}.Prob(x)
}

// Draw samples a rate. Parameters that make no distribution draw 0.5.
func (p Posterior) Draw(src rand.Source) float64 {
	if !(p.Alpha > 0 && p.Beta > 0) || math.IsInf(p.Alpha+p.Beta, 0) { // also for NaN
		return 0.5
	}
	return distuv.Beta{
		Alpha: p.Alpha,
		Beta:  p.Beta,
		Src:   src,
	}.Rand()
}

// SeedSuccesses is how many successes a measured score is worth before there
// is evidence. An unmeasured one is worth none.
func SeedSuccesses(score *float64) int {
	if score == nil || math.IsNaN(*score) {
		return 0
	}
	return int(math.Floor(min(max(*score, 0), 1)*seedWeight + 0.5))
}

// PosteriorOf is what a record comes to at a time: its evidence has decayed
// toward the prior, and evidence about another version of the skill is gone.
func PosteriorOf(rec plan.SkillRecord, s Skill, now time.Time) Posterior {
	rec = decayed(rec, s, now)
	return Posterior{Alpha: rec.Alpha, Beta: rec.Beta}
}

// decayed brings a record up to a time. The zero record becomes the prior.
func decayed(rec plan.SkillRecord, s Skill, now time.Time) plan.SkillRecord {
	prior := 1 + float64(SeedSuccesses(s.Score))
	if rec.Version != s.Digest || rec.Updated.IsZero() {
		return plan.SkillRecord{
			Skill:   s.Name,
			Phase:   rec.Phase,
			Version: s.Digest,
			Alpha:   prior,
			Beta:    1,
			Prior:   prior,
			Updated: now,
		}
	}
	keep := 1.0
	if age := now.Sub(rec.Updated); age > 0 {
		keep = math.Exp2(-float64(age) / float64(HalfLife))
	}
	rec.Alpha = prior + max(rec.Alpha-rec.Prior, 0)*keep
	rec.Beta = 1 + max(rec.Beta-1, 0)*keep
	rec.Prior, rec.Updated = prior, now
	return rec
}

// AddReward is a record with one more outcome, a reward in [0,1].
func AddReward(rec plan.SkillRecord, s Skill, reward float64, now time.Time) plan.SkillRecord {
	rec = decayed(rec, s, now)
	reward = min(max(reward, 0), 1)
	rec.Alpha += reward
	rec.Beta += 1 - reward
	rec.Pulls++
	return rec
}

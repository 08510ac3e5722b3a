package learning

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// Stat is how well a skill has done in a phase: the distribution that is
// believed of its rate of success, Beta(Alpha, Beta).
type Stat struct {
	Skill string     `json:"skill"` // "" is to do without a skill
	Phase plan.Phase `json:"phase"`
	Pulls int        `json:"pulls"` // runs that were credited
	Alpha float64    `json:"alpha"`
	Beta  float64    `json:"beta"`
	Mean  float64    `json:"mean"`
	Low   float64    `json:"low"` // of the 95 % interval
	High  float64    `json:"high"`
	Stale bool       `json:"stale,omitempty"` // the skill has changed since, or is gone
}

// Stats returns all records as they stand now; old ones count for less.
func (l *Learning) Stats(ctx context.Context) ([]Stat, error) {
	records, err := l.db.AllSkillRecords(ctx)
	if err != nil {
		return nil, err
	}
	c, err := l.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	out := []Stat{}
	for _, r := range records {
		s, ok := c.Get(r.Skill)
		stale := r.Skill != "" && (!ok || s.Digest != r.Version)
		s.Name = r.Skill
		s.Digest = r.Version
		p := skills.PosteriorOf(r, s, l.now())
		low, high := p.Interval(0.95)
		out = append(out, Stat{
			Skill: r.Skill,
			Phase: r.Phase,
			Pulls: r.Pulls,
			Alpha: p.Alpha,
			Beta:  p.Beta,
			Mean:  p.Mean(),
			Low:   low,
			High:  high,
			Stale: stale,
		})
	}
	return out, nil
}

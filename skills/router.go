package skills

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// maxCandidates is how many skills a pick is made from: the most relevant
// ones. Beyond that, more arms cost more exploring than they can bring.
const maxCandidates = 16

// ErrNoCandidates is returned by [Sample] when there is nothing to pick from.
var ErrNoCandidates = errors.New("there is no skill to pick from")

// Records remembers how skills did.
type Records interface {
	// SkillRecords returns the records of these skills in a phase, by name. A
	// skill without one is left out.
	SkillRecords(ctx context.Context, p plan.Phase, names []string) (map[string]plan.SkillRecord, error)
	// RecordSkill changes one record in a transaction of its own, once for
	// each run, skill and phase; the second time it reports false.
	RecordSkill(
		ctx context.Context,
		run plan.RunID,
		p plan.Phase,
		skill string,
		change func(plan.SkillRecord) plan.SkillRecord,
	) (bool, error)
}

// Router picks skills.
type Router struct {
	Records Records
	Rand    rand.Source
	Now     func() time.Time
}

// Arm is one thing that can be picked.
type Arm struct {
	Name string // "" is to do without a skill
	Posterior
}

// Sample draws from every arm and returns the index of the highest draw, the
// first of equal ones, with all draws.
func Sample(arms []Arm, src rand.Source) (int, []float64, error) {
	if len(arms) == 0 {
		return 0, nil, ErrNoCandidates
	}
	best, draws := 0, make([]float64, len(arms))
	for i, a := range arms {
		if draws[i] = a.Draw(src); draws[i] > draws[best] {
			best = i
		}
	}
	return best, draws, nil
}

// Choose picks a skill for a phase, or none. It is an adviser: when records
// cannot be read the pick is none and says why. So does one that could not be
// what the request names.
func (r *Router) Choose(ctx context.Context, ix *Index, p plan.Phase, request string) plan.SkillPick {
	name := Override(request)
	if s, ok := ix.named(name); ok {
		return plan.SkillPick{
			Skill:   s.Name,
			Why:     plan.PickOverride,
			Version: s.Digest,
		}
	}
	pick := r.choose(ctx, ix, p, request)
	if name != "" && pick.Error == "" {
		pick.Error = fmt.Sprintf(
			`the request names the skill %s, and none of that name may be used; "plan skills list" shows which there are`,
			name,
		)
	}
	return pick
}

func (r *Router) choose(ctx context.Context, ix *Index, p plan.Phase, request string) plan.SkillPick {
	matches := ix.Relevant(request, p, maxCandidates)
	if len(matches) == 0 {
		return plan.SkillPick{Why: plan.PickIrrelevant}
	}
	names := []string{""}
	for _, m := range matches {
		names = append(names, m.Skill.Name)
	}
	records, err := r.Records.SkillRecords(ctx, p, names)
	if err != nil {
		return plan.SkillPick{Why: plan.PickFailed, Error: err.Error()}
	}
	now := r.Now()
	arms := []Arm{{Posterior: PosteriorOf(records[""], Skill{}, now)}}
	for _, m := range matches {
		arms = append(arms, Arm{Name: m.Skill.Name, Posterior: PosteriorOf(records[m.Skill.Name], m.Skill, now)})
	}
	best, draws, err := Sample(arms, r.Rand)
	if err != nil {
		return plan.SkillPick{Why: plan.PickFailed, Error: err.Error()}
	}
	pick := plan.SkillPick{Skill: arms[best].Name, Why: plan.PickSampled}
	for i, a := range arms {
		c := plan.SkillCandidate{
			Skill: a.Name,
			Alpha: a.Alpha,
			Beta:  a.Beta,
			Draw:  draws[i],
		}
		if i > 0 {
			c.Relevance = matches[i-1].Score
		}
		pick.Candidates = append(pick.Candidates, c)
	}
	if best == 0 {
		pick.Why = plan.PickNone
		return pick
	}
	pick.Version = matches[best-1].Skill.Digest
	return pick
}

// overridePrefix names a skill in a request: @@skill=NAME.
const overridePrefix = "@@skill="

// Override returns the name after the first @@skill= of a text, "" if there is
// none. The prefix may be written in any case, the name may not.
func Override(text string) string {
	for i := 0; i+len(overridePrefix) <= len(text); i++ {
		if !strings.EqualFold(text[i:i+len(overridePrefix)], overridePrefix) {
			continue
		}
		rest := text[i+len(overridePrefix):]
		end := strings.IndexFunc(rest, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if end < 0 {
			end = len(rest)
		}
		return rest[:end]
	}
	return ""
}

// named is the skill of a name, false where there is none.
func (ix *Index) named(name string) (Skill, bool) {
	for _, s := range ix.skills {
		if name != "" && s.Name == name {
			return s, true
		}
	}
	return Skill{}, false
}

// Hint is the line that tells a phase about a pick, "" for none.
func Hint(pick plan.SkillPick, c *Catalog) string {
	s, ok := c.Get(pick.Skill)
	if !ok || s.Hidden && pick.Why != plan.PickOverride {
		return ""
	}
	return fmt.Sprintf(
		"The skill %q may help here: %s Load it with the skill tool if it fits; it does not change what is asked.",
		s.Name,
		sentence(s.Description),
	)
}

func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

package learning

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// What a skill in a [Listing] can be.
const (
	StatusUsable   = "usable"
	StatusShadowed = "shadowed" // another one of the same name counts
	StatusWithheld = "withheld" // it needs a person's yes first
	StatusBroken   = "broken"   // it cannot be read
)

// Listing is a skill as people see it listed.
type Listing struct {
	Name        string       `json:"name"` // "" for one that cannot be read
	Description string       `json:"description"`
	Source      string       `json:"source"` // the place it was found in
	Status      string       `json:"status"` // one of the above; of a draft, what was decided
	Why         string       `json:"why,omitempty"`
	Path        string       `json:"path,omitempty"`
	Phases      []plan.Phase `json:"phases,omitempty"`
	Hidden      bool         `json:"hidden,omitempty"`
	Digest      string       `json:"digest,omitempty"`
}

func listingOf(s skills.Skill, status, why string) Listing {
	return Listing{
		Name:        s.Name,
		Description: s.Description,
		Source:      s.Source,
		Status:      status,
		Why:         why,
		Path:        s.Dir,
		Phases:      s.Phases,
		Hidden:      s.Hidden,
		Digest:      s.Digest,
	}
}

// List returns all skills: those that count, those that do not, and why.
func (l *Learning) List(ctx context.Context) ([]Listing, error) {
	c, err := l.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	out := []Listing{}
	for _, s := range c.Skills {
		out = append(out, listingOf(s, StatusUsable, ""))
	}
	for _, s := range c.Shadowed {
		out = append(out, listingOf(s.Skill, StatusShadowed, "by the one in "+s.By))
	}
	for _, s := range c.Withheld {
		out = append(out, listingOf(s.Skill, StatusWithheld, s.Why))
	}
	for _, p := range c.Problems {
		out = append(out, Listing{
			Path:   p.Path,
			Status: StatusBroken,
			Why:    p.Err.Error(),
		})
	}
	return out, nil
}

// SkillText is a skill or a draft with the text that a model would read.
type SkillText struct {
	Listing
	Body string `json:"body"`
}

// Show returns the usable skill of that name, else the draft. A revision that is
// not 0 asks for that one of the draft.
func (l *Learning) Show(ctx context.Context, name string, revision int) (SkillText, error) {
	c, err := l.Catalog(ctx)
	if err != nil {
		return SkillText{}, err
	}
	if s, ok := c.Get(name); ok && revision == 0 {
		body, _, err := skills.Load(s)
		return SkillText{Listing: listingOf(s, StatusUsable, ""), Body: body}, err
	}
	d, err := l.library.Get(ctx, name, revision)
	if err != nil {
		return SkillText{}, err
	}
	return SkillText{Listing: listingOf(d.Skill, string(d.Status), d.Why), Body: d.Body}, nil
}

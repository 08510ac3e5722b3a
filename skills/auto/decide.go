package auto

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/skills"
)

// Approve lets models see exactly these bytes of a draft. Digest is what the
// person has looked at; a draft that has changed since is refused.
func (l *Library) Approve(ctx context.Context, d Draft, digest string) error {
	now, err := l.Get(ctx, d.Name, d.Revision)
	if err != nil {
		return err
	}
	if now.Skill.Digest != digest {
		return fmt.Errorf("the draft %s has changed since it was shown; look at it again", d.Name)
	}
	return l.decide(ctx, now, plan.GrantApproved, "")
}

// Reject keeps a draft out for good: nothing of its kind is drafted again
// until a person approves one.
func (l *Library) Reject(ctx context.Context, d Draft, why string) error {
	return l.decide(ctx, d, plan.GrantRejected, why)
}

// Rollback takes the approval of the active revision back, so that the one
// approved before it is used again, or none. It returns the one that is.
func (l *Library) Rollback(ctx context.Context, name, why string) (active *Draft, err error) {
	drafts, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(drafts, func(d Draft) bool { return d.Name == name && d.Active })
	if i < 0 {
		return nil, fmt.Errorf("no revision of %s is approved, so there is nothing to take back", name)
	}
	if err := l.decide(ctx, drafts[i], plan.GrantRevoked, why); err != nil {
		return nil, err
	}
	if drafts, err = l.List(ctx); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(drafts, func(d Draft) bool { return d.Name == name && d.Active }); i >= 0 {
		return &drafts[i], nil
	}
	return nil, nil
}

func (l *Library) decide(ctx context.Context, d Draft, decision, why string) error {
	err := l.Grants.GrantSkill(ctx, plan.SkillGrant{
		Name:      d.Name,
		Digest:    d.Skill.Digest,
		Signature: d.Meta.Signature,
		Decision:  decision,
		Why:       why,
		At:        l.Now(),
	})
	if err != nil {
		return fmt.Errorf("keep the decision about %s: %w", d.Name, err)
	}
	return nil
}

// Score notes a measured score in a draft's manifest. The bytes that were
// approved stay as they are.
func (l *Library) Score(d Draft, score float64) error {
	d.Meta.Score = &score
	text, err := json.MarshalIndent(d.Meta, "", "  ")
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	path := filepath.Join(d.Dir, skills.Manifest)
	return durable.Replace(path, append(text, '\n'), 0o600)
}

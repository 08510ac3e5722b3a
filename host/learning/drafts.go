package learning

import (
	"context"
	"errors"
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// minDigestPrefix is how many characters of a draft's digest name it.
const minDigestPrefix = 8

// Review is what a person needs to know to decide about a draft.
type Review struct {
	Name      string       `json:"name"`
	Revision  int          `json:"revision"`
	Status    string       `json:"status"`
	Signature string       `json:"signature"` // of the kind of request
	Digest    string       `json:"digest"`    // of the bytes that an approval is about
	Score     *float64     `json:"score"`     // 0 to 1; null until it was measured
	Runs      []plan.RunID `json:"runs"`      // that it was made from
	Change    string       `json:"change,omitempty"`
	Body      string       `json:"body"`
	Diff      string       `json:"diff,omitempty"` // unified, to what is used in its place now
	Router    string       `json:"router"`         // what the router would have done with it
}

// Review returns what a person needs to know to decide about a draft.
func (l *Learning) Review(ctx context.Context, d auto.Draft) (Review, error) {
	diff, err := l.DiffDraft(ctx, d)
	if err != nil {
		return Review{}, err
	}
	return Review{
		Name:      d.Name,
		Revision:  d.Revision,
		Status:    string(d.Status),
		Signature: d.Meta.Signature,
		Digest:    d.Skill.Digest,
		Score:     d.Meta.Score,
		Runs:      d.Meta.Runs,
		Change:    d.Meta.Change,
		Body:      d.Body,
		Diff:      diff,
		Router:    l.routerForecast(ctx, d),
	}, nil
}

// DiffDraft compares a draft with what is used in its place now: the active
// revision, or the skill that it would change, or nothing. The result is a
// unified diff, "" where both are the same.
func (l *Learning) DiffDraft(ctx context.Context, d auto.Draft) (string, error) {
	c, err := l.Catalog(ctx)
	if err != nil {
		return "", err
	}
	var old []byte
	label := "nothing"
	if s, ok := c.Get(d.Name); ok && s.Dir != d.Dir {
		if old, err = skills.Text(s); err != nil {
			return "", err
		}
		label = s.Name + " (" + s.Source + ")"
	}
	text, err := skills.Text(d.Skill)
	if err != nil {
		return "", err
	}
	return udiff.Unified(label, fmt.Sprintf("%s revision %d", d.Name, d.Revision), string(old), string(text)), nil
}

// routerForecast says for how many of the runs that a draft was made from the
// router would have found it the most relevant skill.
func (l *Learning) routerForecast(ctx context.Context, d auto.Draft) string {
	c, err := l.Catalog(ctx)
	if err != nil {
		return err.Error()
	}
	ix := skills.NewIndex(append([]skills.Skill{d.Skill}, c.Skills...))
	relevant := 0
	for _, run := range d.Meta.Runs {
		start, err := l.runStart(ctx, run)
		if err != nil {
			continue // it was removed since
		}
		for _, m := range ix.Relevant(start.Request, plan.Implement, 1) {
			if m.Skill.Digest == d.Skill.Digest {
				relevant++
			}
		}
	}
	return fmt.Sprintf(
		"the most relevant skill for %d of its %d runs in Implement; it would start at even odds there",
		relevant,
		len(d.Meta.Runs),
	)
}

// runStart reads what a run was started with.
func (l *Learning) runStart(ctx context.Context, run plan.RunID) (plan.RunStart, error) {
	for ev, err := range l.db.Events(ctx, run, memory.Query{Types: []plan.EventType{plan.TypeRunStart}}) {
		if err != nil {
			return plan.RunStart{}, err
		}
		if b, ok := ev.Body.(plan.RunStart); ok {
			return b, nil
		}
	}
	return plan.RunStart{}, errors.New("it has no beginning")
}

// ApproveDraft lets models see a draft. A digest that is not "" names the bytes
// that were looked at, whole or by their first eight characters or more: a
// draft that has others is refused.
func (l *Learning) ApproveDraft(ctx context.Context, d auto.Draft, digest string) error {
	switch {
	case digest == "":
		digest = d.Skill.Digest
	case len(digest) >= minDigestPrefix && strings.HasPrefix(d.Skill.Digest, digest):
		digest = d.Skill.Digest
	}
	return l.library.Approve(ctx, d, digest)
}

// WriteDraft has a model write a draft's text from its evidence, and keeps it as
// a new revision, which waits for a decision like any other. What cfg says of
// the run is filled in: the last of those that the draft was made from.
func (l *Learning) WriteDraft(
	ctx context.Context,
	d auto.Draft,
	cfg phases.DraftConfig,
) (*plan.SkillDraft, plan.Usage, error) {
	if n := len(d.Meta.Runs); n > 0 {
		cfg.Run = d.Meta.Runs[n-1]
	}
	body, used, err := phases.WriteDraft(ctx, cfg, l.redact(d.Body))
	if err != nil {
		return nil, used, err
	}
	rewritten, err := l.library.Rewrite(ctx, d, body)
	return rewritten, used, err
}

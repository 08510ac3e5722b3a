package service

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/internal/hint"
)

// Draft names a drafted skill that is decided about.
type Draft struct {
	Digest   string `json:"digest"` // of the bytes that were looked at
	Revision int    `json:"revision"`
	Why      string `json:"why"` // of a refusal
}

// learned is what the home has learned, without a repository.
func (w *Service) learned(ctx context.Context) (*learning.Learning, error) {
	cfg, err := w.Host.Settings("", config.Config{})
	if err != nil {
		return nil, err
	}
	return w.Host.Learning(ctx, cfg, "")
}

// Drafts are the drafted skills that wait for a person, with all that is needed to decide.
func (w *Service) Drafts(ctx context.Context) ([]learning.Review, error) {
	l, err := w.learned(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := l.Library().Waiting(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]learning.Review, len(waiting))
	for i, d := range waiting {
		if out[i], err = l.Review(ctx, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// DecideDraft lets models see a draft, or keeps it out, if its bytes are those that were
// looked at.
func (w *Service) DecideDraft(ctx context.Context, name string, approve bool, of Draft) error {
	if of.Digest == "" {
		return hint.Usage("a decision about a draft needs the digest of the bytes that were looked at")
	}
	l, err := w.learned(ctx)
	if err != nil {
		return err
	}
	d, err := l.Library().Get(ctx, name, of.Revision)
	if err != nil {
		return hint.Wrap(err, "Those that wait are listed by GET /api/v1/skills/drafts, and on the page of skills.")
	}
	switch {
	case approve:
		if err := l.ApproveDraft(ctx, d, of.Digest); err != nil {
			return hint.Wrap(err, "Look at it, and decide again.")
		}
		return nil
	case d.Skill.Digest != of.Digest:
		return hint.New("the draft "+name+" has the digest "+d.Skill.Digest+": it is not what you were shown",
			"Look at it, and decide again.")
	}
	return l.Library().Reject(ctx, d, of.Why)
}

// Skills are all skills of the home, and how well each has done.
func (w *Service) Skills(ctx context.Context) (list []learning.Listing, stats []learning.Stat, err error) {
	l, err := w.learned(ctx)
	if err != nil {
		return nil, nil, err
	}
	if list, err = l.List(ctx); err != nil {
		return nil, nil, err
	}
	stats, err = l.Stats(ctx)
	return list, stats, err
}

// Facts are those that are remembered, of all repositories, newest first; with words those
// that have them, the best first.
func (w *Service) Facts(ctx context.Context, words string) ([]plan.Fact, error) {
	db, err := w.Host.DB(ctx)
	if err != nil {
		return nil, err
	}
	facts := learning.Facts{DB: db, Now: w.Host.Now}
	if words == "" {
		return facts.List(ctx, learning.AllFacts, mostFacts)
	}
	hits, err := facts.Search(ctx, learning.AllFacts, words, mostFacts)
	out := make([]plan.Fact, 0, len(hits))
	for _, f := range hits {
		out = append(out, f.Fact)
	}
	return out, err
}

// mostFacts bounds a list of facts.
const mostFacts = 500

// ForgetFact forgets a fact for good.
func (w *Service) ForgetFact(ctx context.Context, id int64) (plan.Fact, error) {
	db, err := w.Host.DB(ctx)
	if err != nil {
		return plan.Fact{}, err
	}
	return db.ForgetFact(ctx, id)
}

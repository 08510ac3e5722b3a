package host

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
)

// PlanVersion is a version of a run's plan; 0 means the latest.
func PlanVersion(run *engine.Run, version int) (*plan.PlanDoc, error) {
	switch {
	case len(run.Plans) == 0:
		return nil, fmt.Errorf("run %s has no plan yet: it is %s", run.ID, run.State)
	case version == 0:
		return run.Plan(), nil
	case version < 0 || version > len(run.Plans):
		return nil, fmt.Errorf(
			"run %s has no version %d of its plan; it has 1 to %d",
			run.ID,
			version,
			len(run.Plans),
		)
	}
	return &run.Plans[version-1], nil
}

// PlanDiff is what a version of a run's plan changed of the one before it.
type PlanDiff struct {
	ID   plan.RunID `json:"id"`
	From int        `json:"from"` // versions
	To   int        `json:"to"`
	Diff string     `json:"diff"` // unified; "" where they say the same
}

// PlanChange compares a version of a run's plan, 0 for the latest, with the one
// before it.
func PlanChange(run *engine.Run, version int) (PlanDiff, error) {
	doc, err := PlanVersion(run, version)
	if err != nil {
		return PlanDiff{}, err
	}
	if doc.Version == 1 {
		return PlanDiff{}, hint.New(
			fmt.Sprintf(
				"version 1 of the plan of run %s is the first: there is none before it to compare with",
				run.ID,
			),
			fmt.Sprintf("`plan show %s --plan` shows it.", run.ID),
		)
	}
	before := run.Plans[doc.Version-2]
	name := func(v int) string { return fmt.Sprintf("plan version %d", v) }
	old, now := before.Text+"\n", doc.Text+"\n"
	text, err := udiff.ToUnified(
		name(before.Version),
		name(doc.Version),
		old,
		udiff.Lines(old, now),
		udiff.DefaultContextLines,
	)
	if err != nil {
		return PlanDiff{}, fmt.Errorf("compare the plans of run %s: %w", run.ID, err)
	}
	return PlanDiff{
		ID:   run.ID,
		From: before.Version,
		To:   doc.Version,
		Diff: text,
	}, nil
}

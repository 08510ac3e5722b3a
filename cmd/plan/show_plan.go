package main

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// showPlan shows a version of a run's plan, or what it changed.
func (a *app) showPlan(run *engine.Run, what shown) error {
	doc, err := versionOf(run, what.version)
	switch {
	case err != nil:
		return err
	case what.diff:
		return a.showPlanDiff(run, doc)
	case a.json:
		return a.document(doc)
	}
	return a.prose(doc.Text)
}

// showPlanDiff shows what a version changed of the one before it.
func (a *app) showPlanDiff(run *engine.Run, doc *plan.PlanDoc) error {
	if doc.Version == 1 {
		return failed(&advice{
			fmt.Sprintf(
				"version 1 of the plan of run %s is the first: there is none before it to compare with",
				run.ID,
			),
			fmt.Sprintf("`plan show %s --plan` shows it.", run.ID),
		})
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
		return failed(fmt.Errorf("compare the plans of run %s: %w", run.ID, err))
	}
	if a.json {
		return a.document(struct {
			ID   plan.RunID `json:"id"`
			From int        `json:"from"`
			To   int        `json:"to"`
			Diff string     `json:"diff"`
		}{run.ID, before.Version, doc.Version, text})
	}
	if text == "" {
		text = "The two versions say the same.\n"
	}
	return a.prose(text)
}

// versionOf is a version of a run's plan; 0 means the latest.
func versionOf(run *engine.Run, version int) (*plan.PlanDoc, error) {
	switch {
	case len(run.Plans) == 0:
		return nil, failed(fmt.Errorf("run %s has no plan yet: it is %s", run.ID, run.State))
	case version == 0:
		return run.Plan(), nil
	case version < 0 || version > len(run.Plans):
		return nil, failed(
			fmt.Errorf("run %s has no version %d of its plan; it has 1 to %d", run.ID, version, len(run.Plans)),
		)
	}
	return &run.Plans[version-1], nil
}

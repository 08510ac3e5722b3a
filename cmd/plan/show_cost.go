package main

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

// costDocument is what a run consumed in `plan show --cost --json`.
type costDocument struct {
	ID     plan.RunID `json:"id"`
	Rows   []costRow  `json:"rows"`   // by phase, attempt, purpose and model
	Models []costRow  `json:"models"` // the same by model
	Total  costRow    `json:"total"`
	// Inherited is what the run that this one was forked from paid. It is in no
	// sum.
	Inherited *costRow `json:"inherited,omitempty"`
}

// costRow is what one model consumed for one purpose.
type costRow struct {
	Phase   plan.Phase `json:"phase,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	// For is compact for summaries of conversations, task for sub-agents.
	For     string     `json:"for,omitempty"`
	Model   string     `json:"model,omitempty"`
	Usage   plan.Usage `json:"usage"`
	CostUSD float64    `json:"cost_usd"` // without the unpriced calls
	Priced  bool       `json:"priced"`   // all of them are
	// ReportedUSD is the part of CostUSD that the server itself said.
	ReportedUSD float64 `json:"reported_usd"`
	// Reported and Unpriced count calls.
	Reported int `json:"reported"`
	Unpriced int `json:"unpriced"`
}

func costRowOf(r render.CostRow) costRow {
	return costRow{
		Phase:       r.Phase,
		Attempt:     r.Attempt,
		For:         r.For,
		Model:       r.Model,
		Usage:       r.Usage,
		CostUSD:     r.USD,
		Priced:      r.Unpriced == 0,
		ReportedUSD: r.Reported,
		Reported:    r.Said,
		Unpriced:    r.Unpriced,
	}
}

func costRowsOf(rows []render.CostRow) []costRow {
	out := make([]costRow, 0, len(rows))
	for _, r := range rows {
		out = append(out, costRowOf(r))
	}
	return out
}

// showCost shows what a run, or a part of it, consumed.
func (a *app) showCost(ctx context.Context, db *memory.DB, id plan.RunID, what shown) error {
	costs := &render.Costs{}
	for ev, err := range what.part(db.Events(ctx, id, memory.Query{})) {
		if err != nil {
			return failed(err)
		}
		costs.Add(ev)
	}
	if !a.json {
		return failed(render.UnlessReaderLeft(render.WriteCosts(a.out, costs, a.viewing())))
	}
	doc := costDocument{
		ID:     id,
		Rows:   costRowsOf(costs.Rows),
		Models: costRowsOf(costs.Models()),
		Total:  costRowOf(costs.Total()),
	}
	if costs.Inherited.Usage != (plan.Usage{}) {
		inherited := costRowOf(costs.Inherited)
		doc.Inherited = &inherited
	}
	return a.document(doc)
}

package render

import "github.com/plan-engine/plan"

// CostDocument is what a run consumed in `plan show --cost --json`.
type CostDocument struct {
	ID     plan.RunID        `json:"id"`
	Rows   []CostRowDocument `json:"rows"`   // by phase, attempt, purpose and model
	Models []CostRowDocument `json:"models"` // the same by model
	Total  CostRowDocument   `json:"total"`
	// Inherited is what the run that this one was forked from paid. It is in no
	// sum.
	Inherited *CostRowDocument `json:"inherited,omitempty"`
}

// CostRowDocument is what one model consumed for one purpose.
type CostRowDocument struct {
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

// NewCostDocument makes the document of what a run consumed.
func NewCostDocument(id plan.RunID, c *Costs) CostDocument {
	doc := CostDocument{
		ID:     id,
		Rows:   costRowDocuments(c.Rows),
		Models: costRowDocuments(c.Models()),
		Total:  costRowDocument(c.Total()),
	}
	if c.Inherited.Usage != (plan.Usage{}) {
		inherited := costRowDocument(c.Inherited)
		doc.Inherited = &inherited
	}
	return doc
}

func costRowDocuments(rows []CostRow) []CostRowDocument {
	out := make([]CostRowDocument, 0, len(rows))
	for _, r := range rows {
		out = append(out, costRowDocument(r))
	}
	return out
}

func costRowDocument(r CostRow) CostRowDocument {
	return CostRowDocument{
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

package costs

import "github.com/plan-engine/plan"

// Document is what a run consumed in `plan show --cost --json`.
type Document struct {
	ID     plan.RunID    `json:"id"`
	Rows   []RowDocument `json:"rows"`   // by phase, attempt, purpose and model
	Models []RowDocument `json:"models"` // the same by model
	Total  RowDocument   `json:"total"`
	// Input is what was sent, by phase, attempt, purpose and kind; Kinds sums it.
	Input []InputRowDocument `json:"input"`
	Kinds []InputRowDocument `json:"input_kinds"`
	// Inherited is what the run that this one was forked from paid. It is in no
	// sum.
	Inherited *RowDocument `json:"inherited,omitempty"`
}

// RowDocument is what one model consumed for one purpose.
type RowDocument struct {
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

// InputRowDocument is what was sent to models for one purpose, in tokens.
type InputRowDocument struct {
	Phase   plan.Phase `json:"phase,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	For     string     `json:"for,omitempty"` // as in [RowDocument]
	// Kind is that of a part of a request, or re_read for bytes of results that stood
	// in the conversation already, retry for calls that failed and were made again,
	// compact for summaries, unknown for what an earlier version sent.
	Kind   string `json:"kind"`
	Tool   string `json:"tool,omitempty"` // of a result
	New    int64  `json:"new"`
	Cached int64  `json:"cached"`
	// Guessed is the part of New that no server reported.
	Guessed int64 `json:"guessed,omitempty"`
}

// NewDocument makes the document of what a run consumed.
func NewDocument(id plan.RunID, c *Costs) Document {
	doc := Document{
		ID:     id,
		Rows:   rowDocuments(c.Rows),
		Models: rowDocuments(c.Models()),
		Total:  rowDocument(c.Total()),
		Input:  inputRowDocuments(c.Input()),
		Kinds:  inputRowDocuments(c.InputKinds()),
	}
	if c.Inherited.Usage != (plan.Usage{}) {
		inherited := rowDocument(c.Inherited)
		doc.Inherited = &inherited
	}
	return doc
}

func rowDocuments(rows []Row) []RowDocument {
	out := make([]RowDocument, 0, len(rows))
	for _, r := range rows {
		out = append(out, rowDocument(r))
	}
	return out
}

func inputRowDocuments(rows []InputRow) []InputRowDocument {
	out := make([]InputRowDocument, 0, len(rows))
	for _, r := range rows {
		out = append(out, InputRowDocument{
			Phase:   r.Phase,
			Attempt: r.Attempt,
			For:     r.For,
			Kind:    r.Kind,
			Tool:    r.Tool,
			New:     Round(r.New),
			Cached:  Round(r.Cached),
			Guessed: Round(r.Guessed),
		})
	}
	return out
}

func rowDocument(r Row) RowDocument {
	return RowDocument{
		Phase:       r.Phase,
		Attempt:     r.Attempt,
		For:         r.For,
		Model:       r.Model,
		Usage:       r.Usage,
		CostUSD:     r.USD,
		Priced:      r.Unpriced == 0,
		ReportedUSD: r.Reported,
		Reported:    r.ServerPriced,
		Unpriced:    r.Unpriced,
	}
}

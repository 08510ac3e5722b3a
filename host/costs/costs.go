// Package costs adds up what runs consumed, by phase and model, and what their input was for:
// a fold over the events of a journal. It must not know how that is shown.
package costs

import (
	"cmp"
	"iter"
	"slices"

	"github.com/plan-engine/plan"
)

// What a row is for beside the own conversation of a phase.
const (
	ForSummary = "compact" // summaries of conversations
	ForTask    = "task"    // sub-agents
)

// Costs is what a run consumed, by phase and model: a fold over its events. The
// zero value is that of a run without any.
type Costs struct {
	// Rows are in the order in which phases began; a phase's own model comes
	// before the summaries of its conversation and its sub-agents.
	Rows []Row
	// Inherited is what the run that this one was forked from paid.
	Inherited Row

	shrinking map[string]bool // conversations that are being made shorter
	input     inputs
}

// Row is what one model consumed for one purpose.
type Row struct {
	Phase   plan.Phase // "" in sums
	Attempt int        // from 1; 0 in sums
	// For is "compact" for summaries, "task" for sub-agents, "" for the phase's
	// own conversation.
	For   string
	Model string // "" in sums over models
	Usage plan.Usage
	USD   float64 // of all calls with a price
	// Reported is the part of USD that the server itself said.
	Reported float64
	// Calls counts the calls, ServerPriced those with a cost that the server said, and
	// Unpriced those without any known price.
	Calls, ServerPriced, Unpriced int
}

// Of is what the events of a run, or of a part of it, consumed.
func Of(events iter.Seq2[plan.Event, error]) (*Costs, error) {
	c := &Costs{}
	for ev, err := range events {
		if err != nil {
			return nil, err
		}
		c.Add(ev)
	}
	return c, nil
}

// Add takes the next event of the run. Live events change nothing.
func (c *Costs) Add(e plan.Event) {
	switch b := e.Body.(type) {
	case plan.CompactionStart:
		if c.shrinking == nil {
			c.shrinking = map[string]bool{}
		}
		c.shrinking[e.Conv] = true
	case plan.CompactionEnd:
		delete(c.shrinking, e.Conv)
	case plan.Request:
		c.input.request(e, b)
	case plan.MessageEnd:
		if b.Role == plan.RoleAssistant {
			c.input.answered(e.Conv)
		}
	case plan.UsageReport:
		row := rowOfReport(b)
		if b.Inherited {
			c.Inherited = c.Inherited.Plus(row)
			return
		}
		row.Phase, row.Attempt, row.Model = e.Phase, e.Attempt, b.Model
		switch {
		case c.shrinking[e.Conv]:
			row.For = ForSummary
		case e.Parent != "":
			row.For = ForTask
		}
		c.put(row)
		c.input.usage(e, row)
	}
}

func rowOfReport(b plan.UsageReport) Row {
	row := Row{
		Usage: b.Usage,
		USD:   b.CostUSD,
		Calls: 1,
	}
	switch {
	case b.Reported:
		row.Reported, row.ServerPriced = b.CostUSD, 1
	case !b.Priced:
		row.Unpriced = 1
	}
	return row
}

// put adds a row to the one for the same, or where it belongs.
func (c *Costs) put(row Row) {
	last := len(c.Rows)
	for i, r := range c.Rows {
		if r.Phase != row.Phase || r.Attempt != row.Attempt {
			continue
		}
		if r.For == row.For && r.Model == row.Model {
			c.Rows[i] = r.Plus(row)
			return
		}
		if cmp.Compare(r.For, row.For) <= 0 { // "", compact, task
			last = i + 1
		}
	}
	c.Rows = slices.Insert(c.Rows, last, row)
}

// Plus is the sum of two rows, called as the first one is.
func (r Row) Plus(o Row) Row {
	r.Usage = r.Usage.Add(o.Usage)
	r.USD += o.USD
	r.Reported += o.Reported
	r.Calls += o.Calls
	r.ServerPriced += o.ServerPriced
	r.Unpriced += o.Unpriced
	return r
}

// Models are the sums of each model, in the order of their first use.
func (c *Costs) Models() []Row {
	var out []Row
	for _, row := range c.Rows {
		at := slices.IndexFunc(out, func(r Row) bool { return r.Model == row.Model })
		if at < 0 {
			at = len(out)
			out = append(out, Row{Model: row.Model})
		}
		out[at] = out[at].Plus(row)
	}
	return out
}

// Total is the sum of all rows.
func (c *Costs) Total() Row {
	var out Row
	for _, row := range c.Rows {
		out = out.Plus(row)
	}
	return out
}

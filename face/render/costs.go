package render

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// Costs is what a run consumed, by phase and model: a fold over its events. The
// zero value is that of a run without any.
type Costs struct {
	// Rows are in the order in which phases began; a phase's own model comes
	// before the summaries of its conversation and its sub-agents.
	Rows []CostRow
	// Inherited is what the run that this one was forked from paid.
	Inherited CostRow

	shrinking map[string]bool // conversations that are being made shorter
	input     inputs
}

// CostRow is what one model consumed for one purpose.
type CostRow struct {
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
	// Calls counts the calls, Said those with a cost that the server said, and
	// Unpriced those without any known price.
	Calls, Said, Unpriced int
}

// CostsOf is what the events of a run, or of a part of it, consumed.
func CostsOf(events iter.Seq2[plan.Event, error]) (*Costs, error) {
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
			c.Inherited = c.Inherited.plus(row)
			return
		}
		row.Phase, row.Attempt, row.Model = e.Phase, e.Attempt, b.Model
		switch {
		case c.shrinking[e.Conv]:
			row.For = routeSummary
		case e.Parent != "":
			row.For = routeTask
		}
		c.put(row)
		c.input.usage(e, row)
	}
}

func rowOfReport(b plan.UsageReport) CostRow {
	row := CostRow{
		Usage: b.Usage,
		USD:   b.CostUSD,
		Calls: 1,
	}
	switch {
	case b.Reported:
		row.Reported, row.Said = b.CostUSD, 1
	case !b.Priced:
		row.Unpriced = 1
	}
	return row
}

// put adds a row to the one for the same, or where it belongs.
func (c *Costs) put(row CostRow) {
	last := len(c.Rows)
	for i, r := range c.Rows {
		if r.Phase != row.Phase || r.Attempt != row.Attempt {
			continue
		}
		if r.For == row.For && r.Model == row.Model {
			c.Rows[i] = r.plus(row)
			return
		}
		if cmp.Compare(r.For, row.For) <= 0 { // "", compact, task
			last = i + 1
		}
	}
	c.Rows = slices.Insert(c.Rows, last, row)
}

// plus is the sum of two rows, called as the first one is.
func (r CostRow) plus(o CostRow) CostRow {
	r.Usage = r.Usage.Add(o.Usage)
	r.USD += o.USD
	r.Reported += o.Reported
	r.Calls += o.Calls
	r.Said += o.Said
	r.Unpriced += o.Unpriced
	return r
}

// Models are the sums of each model, in the order of their first use.
func (c *Costs) Models() []CostRow {
	var out []CostRow
	for _, row := range c.Rows {
		at := slices.IndexFunc(out, func(r CostRow) bool { return r.Model == row.Model })
		if at < 0 {
			at = len(out)
			out = append(out, CostRow{Model: row.Model})
		}
		out[at] = out[at].plus(row)
	}
	return out
}

// Total is the sum of all rows.
func (c *Costs) Total() CostRow {
	var out CostRow
	for _, row := range c.Rows {
		out = out.plus(row)
	}
	return out
}

// WriteCosts writes a table of what a run consumed, and what is not known of its
// cost.
func WriteCosts(w io.Writer, c *Costs, opts Options) error {
	if len(c.Rows) == 0 && c.Inherited.Usage == (plan.Usage{}) {
		return WriteLines(w, []string{"No model was called."})
	}
	t := costTable{Look: NewLook(opts), writes: c.Total().Usage.Written+c.Total().Usage.WrittenHour > 0}
	t.head()
	for i, row := range c.Rows {
		first := i == 0 || c.Rows[i-1].Phase != row.Phase || c.Rows[i-1].Attempt != row.Attempt
		t.row(phaseName(row, first), row)
	}
	models := c.Models()
	if len(models) > 1 {
		for _, row := range models {
			t.row("all phases", row)
		}
	}
	t.row("total", c.Total())
	if c.Inherited.Usage != (plan.Usage{}) {
		t.row("inherited", c.Inherited)
	}
	lines := t.Columns(t.rows, t.numbers()...)
	lines = append(lines, c.inputTable(t.Look)...)
	for _, note := range costNotes(c, models) {
		lines = append(lines, t.Safe(note))
	}
	return WriteLines(w, lines)
}

// phaseName is what stands at the left of a row.
func phaseName(row CostRow, first bool) string {
	name := cmp.Or(string(row.Phase), "no phase")
	if row.Attempt > 1 {
		name += fmt.Sprintf(" %d", row.Attempt)
	}
	what := ""
	switch row.For {
	case routeSummary:
		what = "summaries"
	case routeTask:
		what = "sub-agents"
	}
	switch {
	case what == "":
		return name
	case first:
		return name + ", " + what
	}
	return "  " + what
}

// costTable lays rows out.
type costTable struct {
	Look
	rows   [][]string
	writes bool // there are columns for cache writes
}

func (t *costTable) head() {
	row := []string{"PHASE", "MODEL", "REQUESTS", "INPUT", "CACHED"}
	if t.writes {
		row = append(row, "WRITTEN 5M", "WRITTEN 1H")
	}
	t.rows = append(t.rows, append(row, "OUTPUT", "COST", "PRICED BY"))
}

// numbers are the columns that are set to the right.
func (t *costTable) numbers() []int {
	out := make([]int, 0, len(t.rows[0]))
	for i, name := range t.rows[0] {
		if name != "PHASE" && name != "MODEL" && name != "PRICED BY" {
			out = append(out, i)
		}
	}
	return out
}

func (t *costTable) row(name string, r CostRow) {
	u := r.Usage
	cached := Tokens(u.Cached)
	if u.Input > 0 && u.Cached > 0 {
		cached += fmt.Sprintf(" (%d%%)", u.Cached*100/u.Input)
	}
	row := []string{name, r.Model, fmt.Sprint(u.Requests), Tokens(u.Input), cached}
	if t.writes {
		row = append(row, Tokens(u.Written), Tokens(u.WrittenHour))
	}
	cost := fmt.Sprintf("$%.4f", r.USD)
	if r.USD == 0 && r.Unpriced > 0 {
		cost = "unpriced"
	}
	t.rows = append(t.rows, append(row, Tokens(u.Output), cost, r.pricedBy()))
}

// pricedBy says who knew what the calls cost.
func (r CostRow) pricedBy() string {
	var who []string
	if r.Said > 0 {
		who = append(who, "server")
	}
	if r.Calls > r.Said+r.Unpriced {
		who = append(who, "list")
	}
	if r.Unpriced > 0 {
		who = append(who, fmt.Sprintf("%d unpriced", r.Unpriced))
	}
	return strings.Join(who, ", ")
}

// costNotes say what the table cannot: what is missing in it, and what the words
// of its last column mean.
func costNotes(c *Costs, models []CostRow) []string {
	var notes []string
	total := c.Total()
	if total.Said > 0 {
		note := fmt.Sprintf(
			"$%.4f of it, for %s, is what the servers themselves said",
			total.Reported,
			Count(total.Said, "call"),
		)
		if total.Calls > total.Said+total.Unpriced {
			note += "; the rest goes by the list of prices"
		}
		notes = append(notes, note+".")
	}
	for _, m := range models {
		if m.Unpriced > 0 {
			notes = append(notes, fmt.Sprintf(
				"Without a known price, and not in the sum: %s of %s. "+
					"Give it one in config.toml: [models.%q] with input and output, in USD per million tokens.",
				Count(m.Unpriced, "call"), m.Model, m.Model))
		}
	}
	if c.Inherited.Usage != (plan.Usage{}) {
		notes = append(
			notes,
			"What is inherited was paid by the run that this one was forked from, and is not in the sum.",
		)
	}
	if len(notes) > 0 {
		notes = append([]string{""}, notes...)
	}
	return notes
}

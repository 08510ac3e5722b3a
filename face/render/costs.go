package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/costs"
)

// WriteCosts writes a table of what a run consumed, and what is not known of its
// cost.
func WriteCosts(w io.Writer, c *costs.Costs, opts Options) error {
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
	lines = append(lines, inputTable(c, t.Look)...)
	for _, note := range costNotes(c, models) {
		lines = append(lines, t.Safe(note))
	}
	return WriteLines(w, lines)
}

// phaseName is what stands at the left of a row.
func phaseName(row costs.Row, first bool) string {
	name := cmp.Or(string(row.Phase), "no phase")
	if row.Attempt > 1 {
		name += fmt.Sprintf(" %d", row.Attempt)
	}
	label := ""
	switch row.For {
	case plan.RouteSummary:
		label = "summaries"
	case plan.RouteTask:
		label = "sub-agents"
	}
	switch {
	case label == "":
		return name
	case first:
		return name + ", " + label
	}
	return "  " + label
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

func (t *costTable) row(name string, r costs.Row) {
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
	t.rows = append(t.rows, append(row, Tokens(u.Output), cost, pricedBy(r)))
}

// pricedBy says who knew what the calls cost.
func pricedBy(r costs.Row) string {
	var names []string
	if r.ServerPriced > 0 {
		names = append(names, "server")
	}
	if r.Calls > r.ServerPriced+r.Unpriced {
		names = append(names, "list")
	}
	if r.Unpriced > 0 {
		names = append(names, fmt.Sprintf("%d unpriced", r.Unpriced))
	}
	return strings.Join(names, ", ")
}

// costNotes say what the table cannot: what is missing in it, and what the words
// of its last column mean.
func costNotes(c *costs.Costs, models []costs.Row) []string {
	var notes []string
	total := c.Total()
	if total.ServerPriced > 0 {
		note := fmt.Sprintf(
			"$%.4f of it, for %s, is what the servers themselves said",
			total.Reported,
			Count(total.ServerPriced, "call"),
		)
		if total.Calls > total.ServerPriced+total.Unpriced {
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

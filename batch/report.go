package batch

import (
	"bytes"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sanitize"
)

// Report is what came of a batch.
type Report struct {
	ID      string           `json:"id"`
	State   string           `json:"state"` // running, done or open
	Name    string           `json:"name"`  // where the jobs were read from
	Created time.Time        `json:"created"`
	Counts  map[JobState]int `json:"counts"`
	CostUSD float64          `json:"cost_usd"`
	Tokens  int64            `json:"tokens"`
	Jobs    []JobReport      `json:"jobs"`
}

// JobReport is what came of one job.
type JobReport struct {
	ID      string          `json:"id"`
	State   JobState        `json:"state"`
	Outcome plan.State      `json:"outcome,omitempty"`
	Parked  plan.ParkReason `json:"parked,omitempty"`
	// Why explains everything that is not approval.
	Why        string             `json:"why,omitempty"`
	Run        plan.RunID         `json:"run,omitempty"`
	Repo       string             `json:"repo"`
	Ref        string             `json:"ref,omitempty"`
	Branch     string             `json:"branch"`
	Request    string             `json:"request"`
	Stat       plan.DiffStat      `json:"stat"`
	Diff       string             `json:"diff,omitempty"`
	Checks     []plan.CheckResult `json:"checks"` // the latest of each command
	Verdict    string             `json:"verdict,omitempty"`
	VerdictWhy string             `json:"verdict_why,omitempty"`
	// Evidence is what an approval rests on; see [plan.Judgement].
	Evidence string     `json:"evidence,omitempty"`
	Notes    []string   `json:"notes,omitempty"`    // the reviewer's remarks that do not block
	Open     []string   `json:"open,omitempty"`     // what the implementer left open
	Accepted []string   `json:"accepted,omitempty"` // what the plan saw and does not handle
	Gaps     []plan.Gap `json:"gaps"`
	CostUSD  float64    `json:"cost_usd"`
	Priced   bool       `json:"priced"`
	Tokens   int64      `json:"tokens"`
	Seconds  float64    `json:"seconds"` // of work
	// Published is nil for a job that was never to be published.
	Published *Publication `json:"published,omitempty"`
}

// Cost is the batch's price in words. A price that is not known is not zero.
func (r Report) Cost() string {
	unpriced := slices.ContainsFunc(r.Jobs, func(l JobReport) bool { return !l.Priced && l.Tokens > 0 })
	switch {
	case !unpriced:
		return fmt.Sprintf("$%.4f", r.CostUSD)
	case r.CostUSD > 0:
		return fmt.Sprintf("$%.4f + unpriced calls", r.CostUSD)
	}
	return "unpriced"
}

// Approved says that nothing is left to do about the job.
func (l JobReport) Approved() bool { return l.State == JobDone }

// Status names where the job stands, as exactly as is known.
func (l JobReport) Status() string {
	switch {
	case l.State == JobParked && l.Parked != "":
		return "parked: " + string(l.Parked)
	case (l.State == JobDone || l.State == JobFailed) && l.Outcome != "":
		if l.Outcome == plan.Approved {
			return plan.ApprovedWith(l.failingChecks())
		}
		return string(l.Outcome)
	}
	return string(l.State)
}

// failingChecks counts the checks that fail.
func (l JobReport) failingChecks() int {
	n := 0
	for _, c := range l.Checks {
		if c.Fails() {
			n++
		}
	}
	return n
}

// Change sizes the job's change.
func (l JobReport) Change() string {
	if l.Stat.Files == 0 {
		return "-"
	}
	noun := "files"
	if l.Stat.Files == 1 {
		noun = "file"
	}
	return fmt.Sprintf("%d %s +%d -%d", l.Stat.Files, noun, l.Stat.Insertions, l.Stat.Deletions)
}

// Lines counts the lines of the change.
func (l JobReport) Lines() int { return l.Stat.Insertions + l.Stat.Deletions }

// Cost is the job's price in words.
func (l JobReport) Cost() string {
	if !l.Priced && l.CostUSD == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", l.CostUSD)
}

// Duration is the job's working time in words.
func (l JobReport) Duration() string {
	return (time.Duration(l.Seconds*float64(time.Second)) / 100 * 100).Round(100 * time.Millisecond).String()
}

// PassedChecks counts the checks that passed.
func (l JobReport) PassedChecks() string {
	if len(l.Checks) == 0 {
		return "-"
	}
	n := 0
	for _, c := range l.Checks {
		if c.Passed() {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(l.Checks))
}

// Summary is the whole batch in words.
func (r Report) Summary() string {
	var parts []string
	for _, s := range []JobState{JobDone, JobFailed, JobParked, JobCancelled, JobRunning, JobQueued} {
		if n := r.Counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// Formats are the names that Write knows.
func Formats() []string { return []string{"text", "markdown", "json", "junit", "html"} }

// Write writes a report in one of the [Formats].
func (r Report) Write(w io.Writer, format string) error {
	var err error
	switch format {
	case "text":
		err = safely(w, sanitize.Text, r.writeText)
	case "markdown":
		err = safely(w, sanitize.Text, r.writeMarkdown)
	case "json":
		err = r.writeJSON(w)
	case "junit":
		err = safely(w, sanitize.HTML, r.writeJUnit)
	case "html":
		err = safely(w, sanitize.HTML, r.writeHTML)
	default:
		return fmt.Errorf("there is no format %q; the formats are %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// safely writes what is written to it, made safe as a whole: no field can be forgotten.
func safely(w io.Writer, safe func(string) string, write func(io.Writer) error) error {
	var out strings.Builder
	if err := write(&out); err != nil {
		return err
	}
	_, err := io.WriteString(w, safe(out.String()))
	return err //nolint:wrapcheck // Write says what was done
}

func (r Report) writeJSON(w io.Writer) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err //nolint:wrapcheck // Write says what was done
	}
	_, err := w.Write(sanitize.JSON(out.Bytes()))
	return err //nolint:wrapcheck // Write says what was done
}

func (r Report) writeText(w io.Writer) error {
	fmt.Fprintf(w, "batch %s: %s; %s, %d tokens\n\n", r.ID, r.Summary(), r.Cost(), r.Tokens)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "JOB\tOUTCOME\tCHANGE\tCHECKS\tVERDICT\tCOST\tTIME\tRUN\tPUBLISHED")
	for _, l := range r.Jobs {
		fmt.Fprintf(
			tw,
			"%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			sanitize.Line(l.ID),
			l.Status(),
			l.Change(),
			l.PassedChecks(),
			orDash(l.Verdict),
			l.Cost(),
			l.Duration(),
			orDash(string(l.Run)),
			orDash(l.Published.Label()),
		)
	}
	if err := tw.Flush(); err != nil {
		return err //nolint:wrapcheck // Write says what was done
	}
	for _, l := range r.Jobs {
		if l.Approved() && l.Published.Problem() == "" || l.State == JobQueued {
			continue
		}
		fmt.Fprintf(w, "\n%s: %s\n", sanitize.Line(l.ID), l.Status())
		for _, why := range l.Reasons() {
			fmt.Fprintf(w, "  %s\n", sanitize.Line(why))
		}
	}
	return nil
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return sanitize.Line(text)
}

// Reasons are what there is to explain: why the job is not approved (what
// stopped it, checks that failed, gaps that are open), or what was noted about one
// that is, and why its change is not published.
func (l JobReport) Reasons() []string {
	var out []string
	if t := l.Published.Problem(); t != "" {
		out = append(out, t)
	}
	if l.Approved() {
		if l.Evidence != "" {
			out = append(out, "evidence: "+l.Evidence)
		}
		for _, note := range l.Notes {
			out = append(out, "note: "+note)
		}
		for _, accepted := range l.Accepted {
			out = append(out, "accepted: "+accepted)
		}
		for _, open := range l.Open {
			out = append(out, "left open: "+open)
		}
		return out
	}
	if l.Why != "" {
		out = append(out, l.Why)
	}
	if l.VerdictWhy != "" && l.VerdictWhy != l.Why {
		out = append(out, "verdict: "+l.VerdictWhy)
	}
	for _, c := range l.Checks {
		if !c.Passed() && !c.Cancelled {
			out = append(out, fmt.Sprintf("check failed with %d: %s", c.ExitCode, c.Command))
		}
	}
	for _, g := range l.Gaps {
		if g.Open() {
			out = append(out, "gap "+g.ID+": "+g.Gap)
		}
	}
	return out
}

// markdownCell makes a text harmless inside a Markdown table.
func markdownCell(text string) string {
	return strings.NewReplacer(
		"|",
		`\|`,
		"<",
		"&lt;",
		"`",
		"'",
		"[",
		`\[`,
		"*",
		`\*`,
		"_",
		`\_`,
	).Replace(
		sanitize.Line(text),
	)
}

func (r Report) writeMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "# Batch %s\n\n%s · %s · %d tokens\n\n", r.ID, r.Summary(), r.Cost(), r.Tokens)
	fmt.Fprintln(w, "| job | outcome | change | checks | verdict | cost | time | published | why |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, l := range r.Jobs {
		why := strings.Join(l.Reasons(), "; ")
		cells := []string{
			markdownCell(l.ID),
			markdownCell(l.Status()),
			l.Change(),
			l.PassedChecks(),
			markdownCell(orDash(l.Verdict)),
			l.Cost(),
			l.Duration(),
			sanitize.Line(orDash(l.Published.Label())),
			markdownCell(why),
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	return nil
}

//go:embed report.html
var reportPage string

func (r Report) writeHTML(w io.Writer) error {
	t, err := template.New("report").Parse(reportPage)
	if err != nil {
		return err //nolint:wrapcheck // Write says what was done
	}
	return t.Execute(w, r) //nolint:wrapcheck // Write says what was done
}

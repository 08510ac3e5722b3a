package batch

import (
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/sanitize"
)

// PublishState is how far the change of a job was handed to other people.
type PublishState string

// The states of a publication. Only Published ones are known to be there.
const (
	Publishing     PublishState = "publishing" // the command runs
	Published      PublishState = "published"
	PublishFailed  PublishState = "failed"
	PublishUnknown PublishState = "unknown" // the command was cut off: it may have done its work or not
)

// Publication is what came of publishing the change of a job.
type Publication struct {
	State    PublishState `json:"state"`
	Commit   string       `json:"commit,omitempty"`
	Began    time.Time    `json:"began"`
	Seconds  float64      `json:"seconds,omitempty"`
	ExitCode int          `json:"exit_code"`
	// Output is what the command printed, without secrets and cut to a few KiB.
	Output string `json:"output,omitempty"`
	// URL is the last address that the command printed, such as that of a pull
	// request; "" for none.
	URL string `json:"url,omitempty"`
	// HooksLeft is the folder whose hooks did not run, since they lie in the work
	// tree; "" for none.
	HooksLeft string `json:"hooks_left,omitempty"`
	// Why explains everything that is not published, in one line.
	Why string `json:"why,omitempty"`
}

// Label names the state, with the address where there is one.
func (p *Publication) Label() string {
	switch {
	case p == nil:
		return ""
	case p.URL != "":
		return p.URL
	}
	return string(p.State)
}

// Problem says what is wrong with a publication, "" for nothing.
func (p *Publication) Problem() string {
	if p == nil || p.Why == "" || p.State == Published || p.State == Publishing {
		return ""
	}
	word := map[PublishState]string{
		PublishFailed:  "failed",
		PublishUnknown: "is unknown",
	}[p.State]
	return fmt.Sprintf("publishing %s: %s", word, p.Why)
}

// Summary says in a line how far the publication got.
func (p *Publication) Summary() string {
	switch {
	case p == nil:
		return ""
	case p.Problem() != "":
		return p.Problem()
	case p.URL != "":
		return "published " + p.URL
	}
	return string(p.State)
}

// MarkInterrupted turns a publication that was under way when its process died
// into one of which nothing is known.
func (p *Publication) MarkInterrupted() {
	if p != nil && p.State == Publishing {
		p.State = PublishUnknown
		began := p.Began.UTC().Format(time.RFC3339)
		p.Why = "the process died while its command ran, begun at " + began +
			"; see whether it has done its work, then publish again with --retry"
	}
}

var webAddress = lazy.Regexp(`https?://[^\s<>"'` + "`" + `\\^{}|]+`)

// LastURL is the last web address in a command's output, "" for none.
func LastURL(output string) string {
	addresses := webAddress().FindAllString(output, -1)
	if len(addresses) == 0 {
		return ""
	}
	return strings.TrimRight(addresses[len(addresses)-1], ".,;:!?)]")
}

// PublishBody is a Markdown text for the people who get the change: what was
// asked for and how it was proved.
func PublishBody(request string, checks []plan.CheckResult, verdict string, run plan.RunID) string {
	var b strings.Builder
	fence := "```"
	for strings.Contains(request, fence) {
		fence += "`"
	}
	fmt.Fprintf(&b, "%stext\n%s\n%s\n", fence, strings.TrimSpace(request), fence)
	if len(checks) > 0 {
		b.WriteString("\n| check | result |\n|---|---|\n")
	}
	for _, c := range checks {
		word := "passed"
		if !c.Passed() {
			word = fmt.Sprintf("failed with %d", c.ExitCode)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", markdownCell(c.Command), word)
	}
	if verdict != "" {
		fmt.Fprintf(&b, "\nReview: %s\n", markdownCell(verdict))
	}
	fmt.Fprintf(&b, "\nPlan-Run: %s\n", run)
	return sanitize.Text(b.String())
}

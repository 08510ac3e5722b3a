package batch

import (
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
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
	// Why explains everything that is not published, in one line.
	Why string `json:"why,omitempty"`
}

// Word names the state, with the address where there is one.
func (p *Publication) Word() string {
	switch {
	case p == nil:
		return ""
	case p.URL != "":
		return p.URL
	}
	return string(p.State)
}

// Trouble says what is wrong with a publication, "" for nothing.
func (p *Publication) Trouble() string {
	if p == nil || p.Why == "" || p.State == Published || p.State == Publishing {
		return ""
	}
	return fmt.Sprintf("publishing %s: %s", map[PublishState]string{
		PublishFailed:  "failed",
		PublishUnknown: "is unknown",
	}[p.State], p.Why)
}

// Tell says in a line how far it got.
func (p *Publication) Tell() string {
	switch {
	case p == nil:
		return ""
	case p.Trouble() != "":
		return p.Trouble()
	case p.URL != "":
		return "published " + p.URL
	}
	return string(p.State)
}

// Cut turns a publication whose command nobody waits for any more into one of
// which nothing is known.
func (p *Publication) Cut() {
	if p != nil && p.State == Publishing {
		p.State = PublishUnknown
		p.Why = "the process died while its command ran, begun at " + p.Began.UTC().Format(
			time.RFC3339,
		) + "; see whether it has done its work, then publish again with --retry"
	}
}

var address = lazy.Regexp(`https?://[^\s<>"'` + "`" + `\\^{}|]+`)

// AddressIn is the last web address in a command's output, "" for none.
func AddressIn(output string) string {
	all := address().FindAllString(output, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.TrimRight(all[len(all)-1], ".,;:!?)]")
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
		fmt.Fprintf(&b, "| %s | %s |\n", cell(c.Command), word)
	}
	if verdict != "" {
		fmt.Fprintf(&b, "\nReview: %s\n", cell(verdict))
	}
	fmt.Fprintf(&b, "\nPlan-Run: %s\n", run)
	return b.String()
}

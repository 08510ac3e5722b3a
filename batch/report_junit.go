package batch

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sanitize"
)

// The parts of JUnit's format that every reader of it knows.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Stamp    string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit tells a job that was judged and not approved as a failure, one that came
// to no judgement as an error, and one that has not ended as skipped.
func (r Report) writeJUnit(w io.Writer) error {
	s := junitSuite{
		Name:  "plan batch " + r.ID,
		Tests: len(r.Jobs),
		Stamp: r.Created.UTC().Format("2006-01-02T15:04:05"),
	}
	total := 0.0
	for _, l := range r.Jobs {
		total += l.Seconds
		c := junitCase{
			Name:  sanitize.Line(l.ID),
			Class: sanitize.Line(l.Repo),
			Time:  fmt.Sprintf("%.3f", l.Seconds),
			Out:   sanitize.Line(l.Published.Summary()),
		}
		text := &junitMessage{Message: sanitize.Line(l.Status()), Text: sanitize.Line(strings.Join(l.Reasons(), "; "))}
		switch {
		case l.Approved():
		case l.State == JobFailed && slices.Contains([]plan.State{plan.Exhausted, plan.Blocked}, l.Outcome):
			c.Failure = text
			s.Failures++
		case l.State == JobFailed:
			c.Error = text
			s.Errors++
		default:
			c.Skipped = text
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = fmt.Sprintf("%.3f", total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err //nolint:wrapcheck // Write says what was done
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(s); err != nil {
		return err //nolint:wrapcheck // Write says what was done
	}
	_, err := io.WriteString(w, "\n")
	return err //nolint:wrapcheck // Write says what was done
}

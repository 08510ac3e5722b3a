package render

import (
	"io"
	"strings"

	"github.com/plan-engine/plan"
)

// WriteCall says what a call that waits for a person would do, and why it is
// asked about.
func WriteCall(to io.Writer, c plan.WaitingCall) {
	question := "May it call " + c.Name + "?"
	if c.IsPlan() {
		question = "May this plan be carried out?"
	}
	tellf(to, "%s\n", SafeLine(question))
	for line := range strings.Lines(SafeText(c.Shown())) {
		tellf(to, "  %s\n", strings.TrimRight(line, "\n"))
	}
	if c.Why != "" {
		tellf(to, "because: %s\n", SafeLine(c.Why))
	}
}

// WaitingCalls writes what a run waits for a yes to.
func WaitingCalls(w io.Writer, run plan.RunID, waiting []plan.WaitingCall) error {
	if len(waiting) == 0 {
		return writef(w, "run %s waits with no call\n", run)
	}
	for _, c := range waiting {
		if err := writef(w, "call %s, digest %s\n", SafeLine(c.Call), c.Digest); err != nil {
			return err
		}
		WriteCall(w, c)
	}
	return nil
}

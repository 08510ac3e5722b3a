package render

import (
	"io"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/batches"
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

// WaitingJobs writes what jobs of a batch wait for a yes to.
func WaitingJobs(w io.Writer, jobs []batches.WaitingJob) error {
	if len(jobs) == 0 {
		return writef(w, "no job waits for a decision\n")
	}
	for _, j := range jobs {
		if err := writef(w, "job %s, ", SafeLine(j.Job)); err != nil {
			return err
		}
		if err := WaitingCalls(w, j.Run, j.Calls); err != nil {
			return err
		}
	}
	return nil
}

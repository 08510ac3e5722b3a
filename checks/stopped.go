package checks

import (
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/sandbox"
)

// How long a check may take, and how long it may do nothing, where the settings
// do not say. Before the change nothing is known of it; afterwards it is measured
// by how long it took then.
const (
	firstLimit = 60 * time.Minute
	laterLimit = 15 * time.Minute
	limitTimes = 3
	firstQuiet = 15 * time.Minute
	laterQuiet = 5 * time.Minute
	quietTimes = 2
	// defaultGrace is how long a check that is stopped may say where it stands.
	defaultGrace = 5 * time.Second
)

const (
	// maxRunning is how much of a command line is shown that still ran, in bytes.
	maxRunning = 200
	// namedRunning is how many of them the output names.
	namedRunning = 3
)

// limit is how long a trial may take.
func (r *Runner) limit(t plan.Trial) time.Duration {
	switch {
	case t.TimeoutMS > 0:
		return time.Duration(t.TimeoutMS) * time.Millisecond
	case r.cfg.Timeout > 0:
		return r.cfg.Timeout
	case t.Baseline:
		return firstLimit
	}
	return max(laterLimit, limitTimes*t.Took)
}

// quiet is how long a trial may do nothing; 0, for as long as it may take. A watch
// that could end it only when its time is up as well would on a busy machine be
// the first of the two, and call a check hung that only took too long.
func (r *Runner) quiet(t plan.Trial) time.Duration {
	quiet := max(laterQuiet, quietTimes*t.Took)
	if t.Baseline {
		quiet = firstQuiet
	}
	if r.cfg.Quiet > 0 {
		quiet = r.cfg.Quiet
	}
	if quiet >= r.limit(t) {
		return 0
	}
	return quiet
}

// stillRunning is what ran when a check was stopped, fit to be shown. What is to
// be hidden is taken out before anything is cut.
func (r *Runner) stillRunning(lines []string) []string {
	var out []string
	for _, line := range lines {
		text := strings.ToValidUTF8(r.cfg.Redact(line), "\uFFFD")
		if len(text) > maxRunning {
			text = strings.ToValidUTF8(text[:maxRunning-len("…")], "") + "…"
		}
		out = append(out, text)
	}
	return out
}

// stopNote says of a check why it was stopped, in a line; "" if it was not.
func stopNote(t plan.Trial, res plan.CheckResult, command sandbox.Command) string {
	if !res.TimedOut {
		return ""
	}
	note := fmt.Sprintf("[This check was stopped after %s", rounded(command.Timeout))
	before := "; before"
	if res.Hung {
		note = fmt.Sprintf("[This check hung: no output and no processor time for %s", rounded(command.Quiet))
		before = ". Before"
	}
	if t.Took > 0 && !t.Baseline {
		note += fmt.Sprintf("%s the change it took %s", before, rounded(t.Took))
	}
	if len(res.Running) > 0 {
		named := res.Running[:min(len(res.Running), namedRunning)]
		note += ". Still running: " + strings.Join(named, "; ")
		if more := len(res.Running) - len(named); more > 0 {
			note += fmt.Sprintf("; and %d more", more)
		}
	}
	return note + ".]\n"
}

// withLine is text with a line behind it, if there is one.
func withLine(text, line string) string {
	if line != "" && text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + line
}

// rounded is a duration as people say it.
func rounded(d time.Duration) string {
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

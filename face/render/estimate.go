package render

import (
	"fmt"
	"io"
	"time"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/sanitize"
)

// Estimate writes what a run is likely to use.
func Estimate(w io.Writer, e host.Estimate) error {
	kind := "of this kind"
	if e.Way != "" {
		kind += " that went the " + sanitize.Line(e.Way) + " way"
	}
	if e.From == "" {
		_, err := fmt.Fprintf(w, "no estimate: %d finished runs %s here, and too few elsewhere\n", e.Here, kind)
		return err
	}
	text := fmt.Sprintf("from %d finished runs %s in this repository\n", e.Runs, kind)
	if e.From == host.FromHome {
		text = fmt.Sprintf("only %d finished runs %s here; from %d in all repositories\n", e.Here, kind, e.Runs)
	}
	line := func(label string, s *host.Spread, say func(float64) string) {
		if s == nil {
			text += fmt.Sprintf("%-7s not known\n", label)
			return
		}
		text += fmt.Sprintf("%-7s %s, between %s and %s\n", label, say(s.Median), say(s.Low), say(s.High))
	}
	line("tokens", e.Tokens, func(v float64) string { return Tokens(int64(v)) })
	line("cost", e.CostUSD, func(v float64) string { return Cost(v, true) })
	line("time", e.Seconds, func(v float64) string { return Duration(time.Duration(v) * time.Second) })
	_, err := fmt.Fprint(w, text)
	return err
}

package render

import (
	"io"

	"github.com/plan-engine/plan/host/doctor"
)

// Findings writes what a doctor found, one line each, and what to do about what is
// not well.
func Findings(w io.Writer, findings []doctor.Finding) error {
	for _, f := range findings {
		word := "ok     "
		switch {
		case !f.OK && f.Needed:
			word = "MISSING"
		case !f.OK:
			word = "note   "
		}
		err := writef(w, "%s  %-10s %s\n", word, f.Name, SafeLine(f.Detail))
		if f.Do != "" && !f.OK {
			err = writef(w, "%20s %s\n", "→", SafeLine(f.Do))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

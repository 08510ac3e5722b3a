package render

import (
	"io"

	"github.com/plan-engine/plan/host"
)

// WritePlanDiff writes what a version of a plan changed of the one before it.
func WritePlanDiff(w io.Writer, d host.PlanDiff, opts Options) error {
	text := d.Diff
	if text == "" {
		text = "The two versions say the same.\n"
	}
	return WriteProse(w, text, opts)
}

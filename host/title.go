package host

import (
	"context"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

// MaxTitle bounds a title that was made of a request, in characters.
const MaxTitle = 72

// TitleOf is what a run is called: what a person called it, or the beginning of
// the request.
func TitleOf(r memory.RunInfo) string {
	if r.Title != "" {
		return r.Title
	}
	return oneline.Cut(FirstLine(r.Request), MaxTitle)
}

// FirstLine is the first line of a text that says something, with single spaces.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			return strings.Join(words, " ")
		}
	}
	return ""
}

// Info is what is known of a run without its journal.
func (h *Host) Info(ctx context.Context, id plan.RunID) (memory.RunInfo, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return memory.RunInfo{}, err
	}
	return db.Run(ctx, id)
}

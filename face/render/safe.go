package render

import (
	"strings"
	"unicode"

	"github.com/plan-engine/plan/internal/sanitize"
)

// What models, tools, repositories and requests say is data. Before it reaches
// a terminal, whatever could move the cursor, change the title, reorder the
// text or hide a part of it is taken out or named.

// SafeText makes text of several lines safe to show; see [sanitize.Text].
func SafeText(s string) string { return sanitize.Text(s) }

// SafeLine is SafeText for a place that holds one line.
func SafeLine(s string) string { return sanitize.Line(s) }

// sanitizeASCII also replaces what is not ASCII: in a locale that is not
// UTF-8, the bytes of a harmless letter can be control characters.
func sanitizeASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

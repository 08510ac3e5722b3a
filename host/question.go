package host

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// asking are the words that questions begin with which want to know something. What
// begins otherwise, such as with "can you", may be a polite way to want a change.
var asking = []string{
	"why", "where", "what", "what's", "which", "who", "whose", "whom", "when", "how",
	"is", "are", "was", "were", "does", "do", "did", "has", "have",
}

// IsQuestion reports whether a request reads as a question and no more: one line that
// begins as those do which want to know something, and ends with a question mark. It is
// good enough to offer an answer, and not to decide.
func IsQuestion(request string) bool {
	request = strings.TrimSpace(request)
	words := strings.Fields(strings.ToLower(request))
	if len(words) < 2 || strings.Contains(request, "\n") || !strings.HasSuffix(request, "?") {
		return false
	}
	switch words[0] + " " + words[1] {
	case "how about", "what about", "why not", "why don't": // proposals
		return false
	}
	return slices.Contains(asking, words[0])
}

// AsQuestion makes a request one that is answered, with nothing changed.
func (r *Request) AsQuestion() {
	r.Aim = plan.AimAsk
	r.Auto = false
	r.Settings.Way = ""
	r.Settings.Checks.Required = nil
}

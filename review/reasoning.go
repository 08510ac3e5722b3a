package review

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// reasoningTag opens or closes what a model thought before it answered, where a
// server leaves that in the text.
var reasoningTag = lazy.Regexp(`(?i:[<◁]/?(?:\w+:)?` +
	`(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)(?:\s[^<>\n]*)?[>▷])|\[/?THINK\]`)

// withoutReasoning is a text without what stands between reasoning tags. A tag
// that is never closed opens reasoning up to the end. One that is closed and was
// never opened was opened in the prompt: all that stands before it is reasoning.
//
// A tag in a string of valid JSON, or alone in code quotes, is something that
// the text speaks of.
func withoutReasoning(text string) string {
	tags := reasoningTag().FindAllStringIndex(text, -1)
	if len(tags) == 0 {
		return text
	}
	values, _ := scan(text)
	values = slices.DeleteFunc(values, func(r region) bool {
		return !json.Valid([]byte(text[r.start:r.end]))
	})
	var answer strings.Builder
	from, depth := 0, 0
	for _, tag := range tags {
		for len(values) > 0 && values[0].end <= tag[0] {
			values = values[1:]
		}
		inString := len(values) > 0 && values[0].start < tag[0]
		if inString || inCode(text, tag[0], tag[1]) {
			continue
		}
		closes := strings.HasPrefix(strings.TrimLeft(text[tag[0]:tag[1]], "<◁["), "/")
		switch {
		case closes && depth == 0:
			answer.Reset()
		case closes:
			depth--
		default:
			if depth == 0 {
				answer.WriteString(text[from:tag[0]] + "\n")
			}
			depth++
		}
		from = tag[1]
	}
	if depth == 0 {
		answer.WriteString(text[from:])
	}
	return answer.String()
}

// inCode reports whether a stretch of a text stands alone in code quotes.
func inCode(text string, start, end int) bool {
	return start > 0 && end < len(text) && text[start-1] == '`' && text[end] == '`'
}

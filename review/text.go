package review

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
)

// bullet is the mark in front of a Markdown list item, with the text behind
// it: "-", "*", "+" and "•" need no space when nothing follows.
var bullet = lazy.Regexp(`^\s*(?:[-*+•–—]|[0-9]{1,3}[.)])(?:\s+|$)`)

// splitItems makes items of a text. Where there are bullets, each starts an
// item and the lines below it belong to it, up to an empty line; a heading
// above them that ends in a colon is dropped. Without bullets every line is an
// item. An item may be empty.
func splitItems(text string) []string {
	text = strings.NewReplacer("\ufeff", "", "\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	bulleted := slices.ContainsFunc(lines, bullet().MatchString)
	var items []string
	join := false // the next plain line goes on with the item before it
	for _, line := range lines {
		body := strings.TrimSpace(line)
		switch isBullet := bullet().MatchString(line); {
		case body == "":
			join = false
		case isBullet:
			items = append(items, stripBullet(line))
			join = true
		case join:
			last := &items[len(items)-1]
			*last = strings.TrimSpace(*last + "\n" + body)
		case bulleted && len(items) == 0 && strings.HasSuffix(body, ":"):
		default:
			items = append(items, body)
		}
	}
	return items
}

func stripBullet(text string) string {
	return strings.TrimSpace(text[len(bullet().FindString(text)):])
}

func cut(text string, n int) string { return oneline.CutBytes(text, n) }

// normalized is a text without what two tellings of the same gap may differ in.
func normalized(text string) string {
	return strings.TrimRight(strings.ToLower(oneline.Of(text)), " .!;,")
}

package tools

import (
	"errors"
	"regexp"
	"strings"

	"github.com/plan-engine/plan/internal/patch"
	"github.com/plan-engine/plan/internal/userinfo"
)

// addressMark is what a model reads where an address has credentials.
const addressMark = "://" + userinfo.Mark + "@"

// unmask makes an edit fit a file of which the model has read addresses without their
// credentials: the marks in old are taken for what stands there, and those in new for
// the same, in order.
func unmask(text, old, new string) (string, string, error) {
	if !strings.Contains(old, addressMark) || strings.Contains(text, old) {
		return old, new, nil
	}
	expression := maskedPattern(old)
	if expression == nil {
		return old, new, nil // it is not found
	}
	matches := expression.FindAllStringSubmatch(text, -1)
	if len(matches) == 0 {
		return old, new, nil
	}
	for _, other := range matches[1:] {
		if other[0] != matches[0][0] {
			return "", "", errors.New(
				"old_string fits several places whose addresses differ in what you are not shown; " +
					"nothing was changed. Add lines around it until it is unique",
			)
		}
	}
	hidden := matches[0][1:]
	return matches[0][0], fill(new, &hidden), nil
}

// maskedPattern finds texts as they are where a reader saw shown, with what is hidden as
// its groups. It is nil where that would be too large.
func maskedPattern(shown string) *regexp.Regexp {
	var pattern strings.Builder
	for i, part := range strings.Split(shown, addressMark) {
		if i > 0 {
			pattern.WriteString(`://([^\s/"'<>` + "`" + `]*)@`)
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	expression, err := regexp.Compile(pattern.String())
	if err != nil {
		return nil
	}
	return expression
}

// fill puts what is hidden in the places of marks, in order, and takes it away from it.
func fill(text string, hidden *[]string) string {
	var out strings.Builder
	for len(*hidden) > 0 {
		before, after, ok := strings.Cut(text, addressMark)
		if !ok {
			break
		}
		out.WriteString(before + "://" + (*hidden)[0] + "@")
		text, *hidden = after, (*hidden)[1:]
	}
	return out.String() + text
}

// maskedSame compares lines of a file with those that a reader of it wrote, nil where
// none of them has a mark.
func maskedSame(shown []string) func(line, shown string) bool {
	if !strings.Contains(strings.Join(shown, "\n"), addressMark) {
		return nil
	}
	patterns := map[string]*regexp.Regexp{}
	return func(line, shown string) bool {
		if line == shown || !strings.Contains(shown, addressMark) {
			return line == shown
		}
		if patterns[shown] == nil {
			if patterns[shown] = maskedPattern(shown); patterns[shown] == nil {
				return false
			}
		}
		match := patterns[shown].FindString(line)
		return match != "" && match == line
	}
}

// unmaskHunk makes a hunk one of the lines of a file as they are: the marks in lines that
// stay or go are taken for what stands there, and those in lines that are added for what
// goes, in order.
func unmaskHunk(h *patch.Hunk, lines []string) {
	if !strings.Contains(strings.Join(h.Side('-'), "\n"), addressMark) {
		return
	}
	var hidden []string
	at := 0
	for i := range h.Lines {
		l := &h.Lines[i]
		if l.Kind == '+' {
			continue
		}
		if expression := maskedPattern(l.Text); l.Kind == '-' && l.Text != lines[at] && expression != nil {
			if match := expression.FindStringSubmatch(lines[at]); match != nil {
				hidden = append(hidden, match[1:]...)
			}
		}
		l.Text = lines[at]
		at++
	}
	for i := range h.Lines {
		if l := &h.Lines[i]; l.Kind == '+' {
			l.Text = fill(l.Text, &hidden)
		}
	}
}

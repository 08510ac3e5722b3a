// Package oneline makes texts short: one line of them, or their beginning.
//
// It must not know who reads them: what must not reach a terminal is for package
// sanitize to say.
package oneline

import (
	"strings"
	"unicode/utf8"
)

// mark stands for what was cut off.
const mark = "…"

// Of makes one line of a text, with single blanks.
func Of(text string) string { return strings.Join(strings.Fields(text), " ") }

// Join joins the texts that are not empty.
func Join(by string, texts ...string) string {
	out := ""
	for _, text := range texts {
		if out != "" && text != "" {
			out += by
		}
		out += text
	}
	return out
}

// Cut shortens a text for a reader's eye, to at most n characters with the mark
// that stands for the rest.
func Cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + mark
}

// CutBytes shortens a text that is kept or sent, where bytes count, to at most n
// bytes at a rune; the mark comes on top.
func CutBytes(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + mark
}

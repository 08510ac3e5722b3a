package arguments

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Space is what JSON counts as white space. Nothing else is trimmed from
// text: its other bytes may be parts of longer characters.
const Space = " \t\r\n"

// closeJSON completes JSON that breaks off: an open string is closed, a comma
// at the end dropped, a key without a value gets null, and what is open is
// closed from the inside out. It reports false if that does not make it valid,
// so text that is broken in another way, or in the middle of a word, a number
// or an escape, is never guessed at.
func closeJSON(text string) (string, bool) {
	for range utf8.UTFMax - 1 { // a character that was cut in two
		if r, size := utf8.DecodeLastRuneInString(text); r == utf8.RuneError && size == 1 {
			text = text[:len(text)-1]
		}
	}
	if strings.Trim(text, Space) == "" {
		return "{}", true
	}
	open, inString := unclosed(text)
	if inString {
		text += `"`
	} else {
		text = strings.TrimRight(text, Space)
		text = strings.TrimRight(strings.TrimSuffix(text, ","), Space)
		if strings.HasSuffix(text, ":") {
			text += " null"
		}
	}
	slices.Reverse(open)
	text += string(open)
	return text, json.Valid([]byte(text))
}

// unclosed returns the brackets that would close what is open at the end of
// text, outermost first, and whether the end is inside a string. It looks at
// ASCII bytes only, and those are never part of a longer character.
func unclosed(text string) (open []byte, inString bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case len(open) > 0 && c == open[len(open)-1]:
			open = open[:len(open)-1]
		}
	}
	return open, inString
}

// unwrapLink takes a path out of the Markdown link that some models make of
// it: [a.go](http://a.go), [a.go](https://host/dir/a.go), dir/[a.go](http://a.go).
// It reports false for anything else; a link whose text is not the end of its
// address says something of its own.
func unwrapLink(s string) (string, bool) {
	before, rest, _ := strings.Cut(s, "[")
	text, target, ok := strings.Cut(rest, "](")
	if !ok || before != "" && (!strings.HasSuffix(before, "/") || strings.ContainsAny(before, " \t\n()")) {
		return "", false
	}
	target, ok = strings.CutSuffix(target, ")")
	if !ok || text == "" || strings.ContainsAny(text+target, "[]()\n") {
		return "", false
	}
	address, ok := strings.CutPrefix(target, "https://")
	if !ok {
		address, ok = strings.CutPrefix(target, "http://")
	}
	if !ok {
		return "", false
	}
	for _, a := range []string{address, unescaped(address)} {
		if a == text || strings.HasSuffix(a, "/"+text) {
			return before + text, true
		}
	}
	return "", false
}

func unescaped(address string) string {
	plain, err := url.PathUnescape(address)
	if err != nil {
		return address
	}
	return plain
}

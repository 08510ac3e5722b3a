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

// tidied takes JSON out of a Markdown code block and drops commas behind last
// elements. It reports false where the text is not valid JSON then.
func (m *mender) tidied(text string) (string, bool) {
	plain := strings.Trim(text, Space)
	if inner, ok := unfenced(plain); ok {
		plain = inner
		m.note(mendFence, "the arguments stood in a code block and were taken out of it")
	}
	if without := withoutCommas(plain); without != plain {
		plain = without
		m.note(mendComma, "a comma behind the last element was dropped")
	}
	if !json.Valid([]byte(plain)) {
		m.notes = nil
		return "", false
	}
	return plain, true
}

// unfenced is the text of a code block that is all there is.
func unfenced(text string) (string, bool) {
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return "", false
	}
	if inner, ok = strings.CutSuffix(inner, "```"); !ok {
		return "", false
	}
	language, rest, ok := strings.Cut(inner, "\n")
	if language = strings.Trim(language, Space); !ok || strings.ContainsAny(language, "{[\"`") {
		rest = strings.TrimPrefix(inner, "json")
	}
	return strings.Trim(rest, Space), true
}

// withoutCommas is JSON without the commas that nothing but a closing bracket
// follows.
func withoutCommas(text string) string {
	var out strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			out.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case c == ',' && !inString:
			rest := strings.TrimLeft(text[i+1:], Space)
			if strings.HasPrefix(rest, "}") || strings.HasPrefix(rest, "]") {
				continue
			}
		}
		out.WriteByte(c)
	}
	return out.String()
}

// repeated is a field that stands more than once in one object of valid JSON, ""
// if there is none.
func repeated(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	type level struct {
		keys  map[string]bool // nil for an array
		isKey bool            // the next token is a key
	}
	var open []level
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		var at *level
		if len(open) > 0 {
			at = &open[len(open)-1]
		}
		if name, ok := token.(string); ok && at != nil && at.keys != nil && at.isKey {
			if at.keys[name] {
				return name
			}
			at.keys[name], at.isKey = true, false
			continue
		}
		if at != nil {
			at.isKey = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}, isKey: true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
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

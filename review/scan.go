package review

import (
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// region is a balanced stretch of a text, from an opening bracket to behind
// its closing one, that no other balanced stretch encloses.
type region struct{ start, end int }

// opener is a bracket that was opened and that may enclose a verdict. JSON says
// that it looks like the start of a JSON value, so that quotes behind it
// delimit strings; elsewhere they do not.
type opener struct {
	pos  int
	kind byte // '{' or '['
	json bool
}

// scanner finds the balanced regions of a text in one pass. Fences are of no
// interest to it, which is why every kind of them is survived.
type scanner struct {
	text    string
	stack   []opener
	open    map[byte]int // openers of each kind on the stack
	regions []region
}

// scan returns the outermost balanced regions in order of appearance, and the
// position of the first opener that looks like JSON and is never closed, or -1.
func scan(text string) (regions []region, unclosed int) {
	s := scanner{text: text, open: make(map[byte]int)}
	for i := 0; i < len(text); {
		i = s.step(i)
	}
	for _, o := range s.stack {
		if o.json && o.kind == '{' {
			return s.regions, o.pos
		}
	}
	return s.regions, -1
}

// step looks at one byte and returns the position of the next one to look at.
func (s *scanner) step(i int) int {
	switch c := s.text[i]; c {
	case '"':
		if s.inJSON() {
			return endOfString(s.text, i)
		}
	case '{':
		if json := s.inJSON() || startsObject(s.text[i:]); json || almostObject(s.text[i:]) {
			s.push(opener{pos: i, kind: c, json: json})
		}
	case '[':
		if s.inJSON() || startsArray(s.text[i:]) {
			s.push(opener{pos: i, kind: c, json: true})
		}
	case '}':
		s.pop('{', i+1)
	case ']':
		s.pop('[', i+1)
	}
	return i + 1
}

func (s *scanner) inJSON() bool { return len(s.stack) > 0 && s.stack[len(s.stack)-1].json }

func (s *scanner) push(o opener) {
	s.stack = append(s.stack, o)
	s.open[o.kind]++
}

// pop closes the innermost opener of a kind and everything that was left open
// inside it. The new region takes the place of those that it encloses.
func (s *scanner) pop(kind byte, end int) {
	if s.open[kind] == 0 {
		return
	}
	for {
		o := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		s.open[o.kind]--
		if o.kind != kind {
			continue
		}
		for n := len(s.regions); n > 0 && s.regions[n-1].start > o.pos; n-- {
			s.regions = s.regions[:n-1]
		}
		s.regions = append(s.regions, region{o.pos, end})
		return
	}
}

// endOfString returns the position behind the string that starts at i. A JSON
// string cannot hold a line break, so one ends it: a stray quote in prose
// spoils its line and not the rest of the text.
func endOfString(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n', '\r':
			return i
		}
	}
	return len(text)
}

// startsObject reports whether a text that starts with a brace goes on like a
// JSON object: with a key and a colon, or with the closing brace.
func startsObject(text string) bool {
	rest := trimSpace(text[1:])
	if strings.HasPrefix(rest, "}") {
		return true
	}
	if !strings.HasPrefix(rest, `"`) {
		return false
	}
	return strings.HasPrefix(trimSpace(rest[endOfString(rest, 0):]), ":")
}

// almostObject reports whether a text that starts with a brace was meant as an
// object and is not JSON: its key has no double quotes, or a comment stands
// there. The other braces are those of prose and code, which open and close
// where they like and enclose nothing.
func almostObject(text string) bool {
	rest := trimSpace(text[1:])
	if rest == "" || strings.IndexByte("'/#", rest[0]) >= 0 {
		return rest != ""
	}
	i := 0
	for i < len(rest) && isWord(rest[i]) {
		i++
	}
	return i > 0 && strings.HasPrefix(trimSpace(rest[i:]), ":")
}

func isWord(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || c == '-' || c == '.' ||
		'0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// startsArray reports whether a text that starts with a bracket goes on like
// a JSON array. Prose in brackets that passes for one does no harm as long as
// it does not enclose the verdict.
func startsArray(text string) bool {
	rest := trimSpace(text[1:])
	return rest != "" && strings.IndexByte(`{["-0123456789tfn`, rest[0]) >= 0
}

func trimSpace(text string) string { return strings.TrimLeft(text, " \t\r\n") }

// verdictKey finds what is, or was meant as, the key of a verdict.
var verdictKey = lazy.Regexp(`(?i)["']?\bverdict\b["']?\s*:`)

// findVerdict returns the last outermost object that has a verdict key.
// An object that comes later and was meant as a verdict but cannot be read
// stands for a word that was not heard, so it is an error and not skipped.
func findVerdict(text string) (object, error) {
	regions, unclosed := scan(text)
	inside := false
	for i := len(regions) - 1; i >= 0; i-- {
		r := regions[i]
		chunk := text[r.start:r.end]
		if !verdictKey().MatchString(chunk) {
			continue
		}
		if chunk[0] == '{' {
			obj, err := decodeObject([]byte(chunk))
			if err != nil {
				return nil, refuse("the JSON object with the verdict is not valid: %v", err)
			}
			if _, ok := obj["verdict"]; ok {
				return obj, cutOff(text, r, unclosed)
			}
			if key := misspelled(obj); strings.EqualFold(key, "verdict") {
				return nil, refuse("the key %q must be written %q", key, "verdict")
			}
		}
		inside = true
	}
	switch {
	case unclosed >= 0 && verdictKey().MatchString(text[unclosed:]):
		return nil, refuse("the JSON object with the verdict is not valid: %v", syntaxError([]byte(text[unclosed:])))
	case inside:
		return nil, refuse(`the key "verdict" is not at the top level of the JSON object`)
	}
	return nil, refuse(`there is no JSON object with the key "verdict" in it`)
}

// cutOff refuses a verdict that another one, which was begun and never closed,
// encloses or follows.
func cutOff(text string, r region, unclosed int) error {
	if unclosed < 0 {
		return nil
	}
	before := text[min(unclosed, r.start):r.start]
	after := text[max(unclosed, r.end):]
	if verdictKey().MatchString(before) || verdictKey().MatchString(after) {
		return refuse("a JSON object with a verdict is not closed")
	}
	return nil
}

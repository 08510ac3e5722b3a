package review

import (
	"encoding/json"
	"strconv"
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
// position of the first brace that may begin an object and is never closed, or
// -1.
func scan(text string) (regions []region, unclosed int) {
	s := scanner{text: text, open: make(map[byte]int)}
	for i := 0; i < len(text); {
		i = s.step(i)
	}
	for _, o := range s.stack {
		if o.kind == '{' {
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
			s.push(opener{
				pos:  i,
				kind: c,
				json: json,
			})
		}
	case '[':
		if s.inJSON() || startsArray(s.text[i:]) {
			s.push(opener{
				pos:  i,
				kind: c,
				json: true,
			})
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

// verdictKey finds what was meant as the key of a verdict in a text that need
// not be JSON. In valid JSON, quotedKey finds it at any depth: a string that
// speaks of it has its quotes escaped.
var (
	verdictKey = lazy.Regexp("(?i)\\bverdict\\s*[\"'`”’]?\\s*:")
	quotedKey  = lazy.Regexp(`(?i)"\s*verdict\s*"\s*:`)
)

// escaped is a letter of a JSON string that is written by its number.
var escaped = lazy.Regexp(`\\u[0-9a-fA-F]{4}`)

// unescaped is a text with such letters as themselves.
func unescaped(text string) string {
	return escaped().ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.ParseUint(s[2:], 16, 16) // hexadecimal digits by the expression
		return string(rune(n))
	})
}

func meansVerdict(text string) bool { return verdictKey().MatchString(unescaped(text)) }

// locatedObject is a JSON object and where it stands in a text.
type locatedObject struct {
	region
	obj object
}

func (v locatedObject) text(text string) string { return text[v.start:v.end] }

// verdictObjects are the outermost JSON objects of a text, in order: those with the
// key of a verdict, of which there is at least one, and the others.
type verdictObjects struct{ verdicts, others []locatedObject }

// findVerdicts finds the objects that are verdicts. What was meant as a verdict
// and cannot be read stands for a word that was not heard, so it is an error and
// not skipped.
func findVerdicts(text string) (verdictObjects, error) {
	var objects verdictObjects
	regions, unclosed := scan(text)
	for _, r := range regions {
		chunk := text[r.start:r.end]
		if !json.Valid([]byte(chunk)) {
			if meansVerdict(chunk) {
				err := refuse("the JSON object with the verdict is not valid: %v", syntaxError([]byte(chunk)))
				return objects, err.at(chunk)
			}
			continue
		}
		obj, err := decodeObject([]byte(chunk))
		switch {
		case err == nil && obj["verdict"] != nil:
			objects.verdicts = append(objects.verdicts, locatedObject{r, obj})
		case err == nil && normalKey(misspelled(obj)) == "verdict":
			return objects, refuse("the key %q must be written %q", misspelled(obj), "verdict")
		case quotedKey().MatchString(unescaped(chunk)):
			return objects, refuse(`the key "verdict" is not at the top level of the JSON object`).at(chunk)
		case err == nil && len(obj) > 0:
			objects.others = append(objects.others, locatedObject{r, obj})
		}
	}
	if unclosed >= 0 {
		rest := textOutside(text, unclosed, objects.verdicts)
		switch {
		case !meansVerdict(rest):
		case len(objects.verdicts) > 0:
			return objects, refuse("a JSON object with a verdict is not closed").at(rest)
		default:
			err := refuse("the JSON object with the verdict is not valid: %v", syntaxError([]byte(text[unclosed:])))
			return objects, err.at(rest)
		}
	}
	if len(objects.verdicts) == 0 {
		return objects, refuse(`there is no JSON object with the key "verdict" in it`)
	}
	return objects, nil
}

// textOutside is a text from a position on without the given values in it.
func textOutside(text string, from int, values []locatedObject) string {
	var b strings.Builder
	for _, v := range values {
		if v.start >= from {
			b.WriteString(text[from:v.start] + "\n")
			from = v.end
		}
	}
	b.WriteString(text[from:])
	return b.String()
}

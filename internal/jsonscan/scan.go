// Package jsonscan reads JSON in the form in which encoding/json writes it, in
// one pass over its bytes, and leaves everything else to encoding/json. Journals
// are long: reading one this way takes half the time and half the memory.
//
// The package is to be deleted when encoding/json/v2 is part of the standard
// library without GOEXPERIMENT, and BenchmarkResume of package engine is no
// slower with it. Then the root package, the only one that imports this one,
// decodes its events with a plain Unmarshal.
//
// It must not know what an event is.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Scanner reads a text: no space between values, fields in the order of their
// struct, plain numbers. It looks at each byte once. At whatever could be read in
// more than one way it gives up.
type Scanner struct {
	rest string
	bad  bool // it gave up: what was read means nothing
}

// New returns a scanner at the beginning of a text.
func New(text string) *Scanner { return &Scanner{rest: text} }

// Done reports whether the whole text was read without giving up.
func (s *Scanner) Done() bool { return !s.bad && s.rest == "" }

func (s *Scanner) giveUp() { s.rest, s.bad = "", true }

// Has takes what comes next, if it is that.
func (s *Scanner) Has(next string) bool {
	rest, ok := strings.CutPrefix(s.rest, next)
	if ok {
		s.rest = rest
	}
	return ok
}

// Must gives up if that is not what comes next.
func (s *Scanner) Must(next string) {
	if !s.Has(next) {
		s.giveUp()
	}
}

// Text reads a string. One without escapes stays where it is.
func (s *Scanner) Text() string {
	s.Must(`"`)
	escapes, wide := 0, false
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			text := s.rest[:i]
			s.rest = s.rest[i+1:]
			switch {
			case wide && !utf8.ValidString(text):
				s.giveUp()
			case escapes > 0:
				return s.unescaped(text, i-escapes)
			}
			return text
		case c == '\\':
			i++
			escapes++
		case c < ' ':
			s.giveUp()
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	s.giveUp()
	return ""
}

// unescaped is the text that stands between quotes, of at most size bytes.
func (s *Scanner) unescaped(text string, size int) string {
	const short, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	out := make([]byte, 0, size)
	for {
		at := strings.IndexByte(text, '\\')
		if at < 0 {
			return string(append(out, text...))
		}
		out, text = append(out, text[:at]...), text[at+1:]
		if i := strings.IndexByte(short, text[0]); i >= 0 {
			out, text = append(out, meant[i]), text[1:]
			continue
		}
		if text[0] != 'u' || len(text) < 5 {
			s.giveUp()
			return ""
		}
		r, err := strconv.ParseUint(text[1:5], 16, 16)
		if err != nil || !utf8.ValidRune(rune(r)) { // half of a pair
			s.giveUp()
			return ""
		}
		out, text = utf8.AppendRune(out, rune(r)), text[5:]
	}
}

// Time reads a time. It has to stand there as it is: encoding/json takes no
// escapes in one.
func (s *Scanner) Time() (t time.Time) {
	from := s.rest
	s.Text()
	if t.UnmarshalJSON([]byte(from[:len(from)-len(s.rest)])) != nil {
		s.giveUp()
	}
	return t
}

// Number reads a whole number.
func (s *Scanner) Number() int64 {
	n, err := strconv.ParseInt(s.digits(), 10, 64)
	if err != nil {
		s.giveUp()
	}
	return n
}

// fraction reads a number that need not be whole.
func (s *Scanner) fraction() float64 {
	text := s.rest
	whole := s.digits()
	if s.Has(".") {
		n := span(s.rest)
		if n == 0 {
			s.giveUp()
		}
		whole, s.rest = text[:len(whole)+1+n], s.rest[n:]
	}
	f, err := strconv.ParseFloat(whole, 64)
	if err != nil || s.rest != "" && strings.IndexByte("eE", s.rest[0]) >= 0 {
		s.giveUp()
	}
	return f
}

func (s *Scanner) digits() string {
	from := 0
	if strings.HasPrefix(s.rest, "-") {
		from = 1
	}
	to := from + span(s.rest[from:])
	text := s.rest[:to]
	if to == from || to > from+1 && text[from] == '0' {
		s.giveUp()
		return ""
	}
	s.rest = s.rest[to:]
	return text
}

// span is how many digits a text begins with.
func span(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// raw takes a value as it stands.
func (s *Scanner) raw() json.RawMessage {
	end := extent(s.rest)
	value := json.RawMessage(s.rest[:end])
	s.rest = s.rest[end:]
	if !json.Valid(value) || len(bytes.TrimSpace(value)) < len(value) {
		s.giveUp()
	}
	return value
}

// extent is the length of the value that a text begins with, if it is one.
func extent(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return i
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return len(text)
}

// value reads a value of a form.
func (s *Scanner) value(v reflect.Value, f *Form) {
	switch f.kind {
	case asText:
		v.SetString(s.Text())
	case asFlag:
		flag := s.Has("true")
		if !flag {
			s.Must("false")
		}
		v.SetBool(flag)
	case asNumber:
		v.SetInt(s.Number())
	case asFraction:
		v.SetFloat(s.fraction())
	case asRaw:
		v.SetBytes(s.raw())
	case asNames:
		v.Set(reflect.ValueOf(s.names()))
	case asPointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.value(v.Elem(), f.elem)
	case asList:
		s.list(v, f.elem)
	case asStruct:
		s.fields(v, f.fields)
	default:
		if json.Unmarshal(s.raw(), v.Addr().Interface()) != nil {
			s.giveUp()
		}
	}
}

// fields reads an object.
func (s *Scanner) fields(v reflect.Value, known []field) {
	s.Must("{")
	for open := !s.Has("}"); open && !s.bad; {
		name := s.Text()
		s.Must(":")
		for len(known) > 0 && known[0].name != name {
			known = known[1:]
		}
		if len(known) == 0 {
			s.giveUp()
			return
		}
		s.value(v.FieldByIndex(known[0].index), known[0].form)
		if known = known[1:]; !s.Has(",") {
			s.Must("}")
			return
		}
	}
}

// list reads an array.
func (s *Scanner) list(v reflect.Value, elem *Form) {
	s.Must("[")
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for open := !s.Has("]"); open && !s.bad; {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		s.value(v.Index(n), elem)
		if !s.Has(",") {
			s.Must("]")
			return
		}
	}
}

// names reads an object of strings.
func (s *Scanner) names() map[string]string {
	out := map[string]string{}
	s.Must("{")
	for open := !s.Has("}"); open && !s.bad; {
		name := s.Text()
		s.Must(":")
		out[name] = s.Text()
		if !s.Has(",") {
			s.Must("}")
			break
		}
	}
	return out
}

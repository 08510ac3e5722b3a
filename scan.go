package plan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// scanner reads JSON in the form in which this package writes it: no space,
// fields in the order of their struct, plain numbers. It looks at each byte once,
// because journals are long. Whatever could be read in more than one way makes it
// give up, and is left to encoding/json.
type scanner struct {
	rest string
	bad  bool // it gave up: what was read means nothing
}

func (s *scanner) giveUp() { s.rest, s.bad = "", true }

// has takes what comes next, if it is that.
func (s *scanner) has(next string) bool {
	rest, ok := strings.CutPrefix(s.rest, next)
	if ok {
		s.rest = rest
	}
	return ok
}

// must gives up if that is not what comes next.
func (s *scanner) must(next string) {
	if !s.has(next) {
		s.giveUp()
	}
}

// text reads a string. One without escapes stays where it is.
func (s *scanner) text() string {
	s.must(`"`)
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
func (s *scanner) unescaped(text string, size int) string {
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

// time reads a time. It has to stand there as it is: encoding/json takes no
// escapes in one.
func (s *scanner) time() (t time.Time) {
	from := s.rest
	s.text()
	if t.UnmarshalJSON([]byte(from[:len(from)-len(s.rest)])) != nil {
		s.giveUp()
	}
	return t
}

// number reads a whole number.
func (s *scanner) number() int64 {
	n, err := strconv.ParseInt(s.digits(), 10, 64)
	if err != nil {
		s.giveUp()
	}
	return n
}

// fraction reads a number that need not be whole.
func (s *scanner) fraction() float64 {
	text := s.rest
	whole := s.digits()
	if s.has(".") {
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

func (s *scanner) digits() string {
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
func (s *scanner) raw() json.RawMessage {
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

// scanEnvelope reads what AppendJSON writes of an event before its data.
func scanEnvelope(head string) (env envelope, ok bool) {
	s := scanner{rest: head}
	s.must(`{"v":`)
	env.V = int(s.number())
	s.must(`,"run":`)
	env.Run = RunID(s.text())
	if s.has(`,"seq":`) {
		env.Seq = s.number()
	}
	s.must(`,"time":`)
	env.Time = s.time()
	if s.has(`,"job":`) {
		env.Job = s.text()
	}
	if s.has(`,"conv":`) {
		env.Conv = s.text()
	}
	if s.has(`,"parent":`) {
		env.Parent = s.text()
	}
	if s.has(`,"phase":`) {
		env.Phase = Phase(s.text())
	}
	if s.has(`,"attempt":`) {
		env.Attempt = int(s.number())
	}
	if s.has(`,"turn":`) {
		turn := int(s.number())
		env.Turn = &turn
	}
	s.must(`,"type":`)
	env.Type = EventType(s.text())
	return env, !s.bad && s.rest == ""
}

// value reads a value of a form.
func (s *scanner) value(v reflect.Value, f *form) {
	switch f.kind {
	case asText:
		v.SetString(s.text())
	case asFlag:
		flag := s.has("true")
		if !flag {
			s.must("false")
		}
		v.SetBool(flag)
	case asNumber:
		v.SetInt(s.number())
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
func (s *scanner) fields(v reflect.Value, known []field) {
	s.must("{")
	for open := !s.has("}"); open && !s.bad; {
		name := s.text()
		s.must(":")
		for len(known) > 0 && known[0].name != name {
			known = known[1:]
		}
		if len(known) == 0 {
			s.giveUp()
			return
		}
		s.value(v.FieldByIndex(known[0].index), known[0].form)
		if known = known[1:]; !s.has(",") {
			s.must("}")
			return
		}
	}
}

// list reads an array.
func (s *scanner) list(v reflect.Value, elem *form) {
	s.must("[")
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for open := !s.has("]"); open && !s.bad; {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		s.value(v.Index(n), elem)
		if !s.has(",") {
			s.must("]")
			return
		}
	}
}

// names reads an object of strings.
func (s *scanner) names() map[string]string {
	out := map[string]string{}
	s.must("{")
	for open := !s.has("}"); open && !s.bad; {
		name := s.text()
		s.must(":")
		out[name] = s.text()
		if !s.has(",") {
			s.must("}")
			break
		}
	}
	return out
}

package plan

import (
	"bytes"
	"slices"
	"strconv"
)

// scanEnvelope reads what AppendJSON writes before the data. It is not ok for
// anything that could be read in more than one way: escapes, other fields, another
// order.
func scanEnvelope(head []byte) (env envelope, ok bool) {
	rest, last := head, -1
	for len(rest) > 0 {
		name, value, quoted, after, ok := scanField(rest, last < 0)
		at := slices.Index(envelopeFields, name)
		if !ok || at <= last || quoted == slices.Contains(numbers, name) {
			return envelope{}, false
		}
		if !env.set(name, value) {
			return envelope{}, false
		}
		rest, last = after, at
	}
	return env, last >= 0
}

var (
	envelopeFields = []string{"v", "run", "seq", "time", "job", "conv", "parent", "phase", "attempt", "turn", "type"}
	numbers        = []string{"v", "seq", "attempt", "turn"}
)

// scanField reads a field with the brace or comma before it: a plain string, or
// a number without sign.
func scanField(s []byte, first bool) (name, value string, quoted bool, rest []byte, ok bool) {
	open := byte(',')
	if first {
		open = '{'
	}
	if len(s) < 2 || s[0] != open || s[1] != '"' {
		return "", "", false, nil, false
	}
	s = s[2:]
	end := bytes.IndexByte(s, '"')
	if end < 0 || end+2 >= len(s) || s[end+1] != ':' {
		return "", "", false, nil, false
	}
	name, s = string(s[:end]), s[end+2:]
	if s[0] != '"' {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		return name, string(s[:n]), false, s[n:], n == 1 || n > 1 && n < 18 && s[0] != '0'
	}
	s = s[1:]
	for i, c := range s {
		switch {
		case c == '"':
			return name, string(s[:i]), true, s[i+1:], true
		case c == '\\' || c < ' ' || c > '~':
			return "", "", false, nil, false
		}
	}
	return "", "", false, nil, false
}

// set takes the value of a field, which has been looked at.
func (e *envelope) set(name, value string) bool {
	switch name {
	case "run":
		e.Run = RunID(value)
	case "time":
		return e.Time.UnmarshalText([]byte(value)) == nil
	case "job":
		e.Job = value
	case "conv":
		e.Conv = value
	case "parent":
		e.Parent = value
	case "phase":
		e.Phase = Phase(value)
	case "type":
		e.Type = EventType(value)
	default:
		n, err := strconv.ParseInt(value, 10, strconv.IntSize)
		if err != nil {
			return false
		}
		e.number(name, n)
	}
	return true
}

func (e *envelope) number(name string, n int64) {
	switch name {
	case "v":
		e.V = int(n)
	case "seq":
		e.Seq = n
	case "attempt":
		e.Attempt = int(n)
	case "turn":
		turn := int(n)
		e.Turn = &turn
	}
}

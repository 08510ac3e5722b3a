package textcalls

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/loop/arguments"
)

// textCall is a call as it was read from text.
type textCall struct {
	name   string
	object json.RawMessage // the arguments, or
	params []param         // the arguments one by one
	marked bool            // its tags are tokens of their own

	explicit bool // the object says what the arguments are, if there are none too
}

// param is one argument written between tags.
type param struct {
	name, text string
	kind       string // "true" for text, "false" for JSON, "" if it does not say
}

var (
	callTag     = lazy.Regexp(`^<tool_call>\s*`)
	functionTag = lazy.Regexp(`^<function=([\w.:-]+)>\s*`)
	invokeTag   = lazy.Regexp(`^<([|｜]DSML[|｜]|[a-z]+:|)invoke name="([^"<>\n]+)"\s*>\s*`)
	paramTag    = lazy.Regexp(`^<parameter=([\w.:-]+)>`)
	paramNamed  = lazy.Regexp(`^<([|｜]DSML[|｜]|[a-z]+:|)parameter name="([^"<>\n]+)"(?: string="(true|false)")?\s*>`)
)

// calls reads the calls that one mark begins at the beginning of rest, and says
// how long they are.
func (s *finder) calls(rest string) (calls []textCall, size int, ok bool) {
	if rest == "" || rest[0] != '<' && rest[0] != '[' || s.tries <= 0 {
		return nil, 0, false
	}
	if strings.HasPrefix(rest, "<|") || rest[0] == '[' {
		if calls, size, ok = tokenCalls(rest); ok {
			return calls, size, true
		}
		if size > 0 {
			s.tries--
			return nil, 0, false
		}
	}
	c, size, ok := s.call(rest)
	if !ok {
		return nil, 0, false
	}
	return []textCall{c}, size, true
}

// call reads one call at the beginning of rest and says how long it is.
func (s *finder) call(rest string) (c textCall, size int, ok bool) {
	if rest[0] != '<' {
		return c, 0, false // it was a mark, and no call followed
	}
	tag := callTag().FindString(rest)
	switch {
	case tag == "":
		c, size, ok = function(rest)
	case strings.HasPrefix(rest[len(tag):], "{"):
		var object json.RawMessage
		if object, size = leadingObject(rest[len(tag):]); object == nil {
			break
		}
		if c, ok = objectCall(object); ok {
			size, ok = behindTag(rest, len(tag)+size, "</tool_call>", true)
		}
	default:
		if c, size, ok = function(rest[len(tag):]); ok {
			size, ok = behindTag(rest, len(tag)+size, "</tool_call>", true)
		}
	}
	if !ok && (tag != "" || strings.HasPrefix(rest, "<function=") || invokeTag().MatchString(rest)) {
		s.tries--
	}
	return c, size, ok
}

// function reads <function=NAME>…</function> or <invoke name="NAME">…</invoke>.
func function(rest string) (c textCall, size int, ok bool) {
	if t := functionTag().FindStringSubmatch(rest); t != nil {
		c.name, size = t[1], len(t[0])
		if object, n := leadingObject(rest[size:]); object != nil {
			c.object = object
			size, ok = behindTag(rest, size+n, "</function>", true)
			return c, size, ok
		}
		for {
			p := paramTag().FindStringSubmatch(rest[size:])
			if p == nil {
				break
			}
			value, n, ok := textBefore(rest[size+len(p[0]):], "</parameter>")
			if !ok {
				return c, 0, false
			}
			value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
			c.params = append(c.params, param{name: p[1], text: value})
			size += len(p[0]) + n
		}
		size, ok = behindTag(rest, size, "</function>", false)
		return c, size, ok
	}
	t := invokeTag().FindStringSubmatch(rest)
	if t == nil {
		return c, 0, false
	}
	prefix := t[1]
	c.name, c.marked, size = t[2], strings.Contains(prefix, "DSML"), len(t[0])
	for {
		p := paramNamed().FindStringSubmatch(rest[size:])
		if p == nil || p[1] != prefix {
			break
		}
		value, n, ok := textBefore(rest[size+len(p[0]):], "</"+prefix+"parameter>")
		if !ok {
			return c, 0, false
		}
		c.params = append(c.params, param{
			name: p[2],
			text: value,
			kind: p[3],
		})
		size += len(p[0]) + n
	}
	size, ok = behindTag(rest, size, "</"+prefix+"invoke>", false)
	return c, size, ok
}

// textBefore reads the text before a mark, and says how far it goes with the mark
// and the white space after it.
func textBefore(rest, mark string) (text string, size int, ok bool) {
	text, behind, ok := strings.Cut(rest, mark)
	return text, len(rest) - len(strings.TrimLeft(behind, arguments.Space)), ok
}

// behindTag expects a tag at a place, after white space. At the end of the text
// it may be missing, where the end of the arguments is clear without it:
// servers that stop at the tag do not send it.
func behindTag(rest string, at int, tag string, mayMiss bool) (size int, ok bool) {
	behind := strings.TrimLeft(rest[at:], arguments.Space)
	if behind == "" && mayMiss {
		return len(rest), true
	}
	return len(rest) - len(behind) + len(tag), strings.HasPrefix(behind, tag)
}

// leadingObject reads the JSON object that text begins with; nil for none.
func leadingObject(text string) (json.RawMessage, int) {
	if !strings.HasPrefix(text, "{") {
		return nil, 0
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var object json.RawMessage
	if dec.Decode(&object) != nil {
		return nil, 0
	}
	return object, int(dec.InputOffset())
}

// objectCall reads {"name": …, "arguments": {…}}, also with "parameters", and
// also inside the envelope {"type": "function", "function": {…}}.
func objectCall(object json.RawMessage) (c textCall, ok bool) {
	var fields struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
		Function   json.RawMessage `json:"function"`
		ID         json.RawMessage `json:"id"`
		Type       json.RawMessage `json:"type"`
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.DisallowUnknownFields()
	if dec.Decode(&fields) != nil {
		return c, false
	}
	if fields.Function != nil {
		inner, ok := innerCall(fields.Function)
		return inner, ok && fields.Name == ""
	}
	args := fields.Arguments
	if args == nil {
		args = fields.Parameters
	} else if fields.Parameters != nil {
		return c, false
	}
	var text string
	switch {
	case args == nil:
		args = json.RawMessage("{}")
	case json.Unmarshal(args, &text) == nil && args[0] == '"':
		args = json.RawMessage(text)
	}
	c = textCall{
		name:     fields.Name,
		object:   args,
		explicit: fields.Arguments != nil || fields.Parameters != nil,
	}
	return c, c.name != "" && arguments.IsObject(args)
}

// innerCall reads the call inside an envelope, which holds no other one.
func innerCall(object json.RawMessage) (textCall, bool) {
	var inner struct {
		Function json.RawMessage `json:"function"`
	}
	if json.Unmarshal(object, &inner) != nil || inner.Function != nil {
		return textCall{}, false
	}
	return objectCall(object)
}

// arguments is the argument text of the call. The schema decides what a value
// between tags is, if it does not say so itself.
func (c textCall) arguments(schema json.RawMessage) (string, bool) {
	if c.object != nil {
		var out bytes.Buffer
		if json.Compact(&out, c.object) != nil {
			return "", false
		}
		return out.String(), true
	}
	isText := arguments.TextFields(schema)
	values := map[string]any{}
	for _, p := range c.params {
		if _, twice := values[p.name]; twice {
			return "", false
		}
		values[p.name] = p.text
		if p.kind == "true" || p.kind == "" && isText(p.name) {
			continue
		}
		if v, err := arguments.Decode(p.text); err == nil {
			values[p.name] = v
		}
	}
	args, err := plan.MarshalCompact(values)
	return string(args), err == nil
}

package textcalls

import (
	"encoding/json"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/loop/arguments"
)

// Calls in the tokens of a model's own template, which a server should have read
// and has passed on as text:
//
//	[TOOL_CALLS][{"name": "read", "arguments": {…}}], or [TOOL_CALLS]read{…}
//	<|python_tag|>{"name": "read", "parameters": {…}}, or read.call(path="…")
//	<|channel|>commentary to=functions.read <|constrain|>json<|message|>{…}<|call|>
//	<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{…}<|tool_call_end|>
const (
	mistralTag = "[TOOL_CALLS]"
	pythonTag  = "<|python_tag|>"
	kimiTag    = "<|tool_call_begin|>"
	kimiEnd    = "<|tool_call_end|>"
)

var (
	mistralName = lazy.Regexp(`^\s*([\w.:-]+)(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*`)
	kimiName    = lazy.Regexp(`^\s*([\w.:-]+)\s*<\|tool_call_argument_begin\|>\s*`)
	// harmonyTag begins a message to a tool. The end of the message before it
	// says that it is no quotation.
	harmonyTag = lazy.Regexp(
		`^((?:<\|end\|>)?<\|start\|>assistant)?(?:\s*to=([\w.:-]+)\s*)?<\|channel\|>(?:commentary|analysis)` +
			`(?:\s+to=([\w.:-]+))?\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*<\|message\|>\s*`,
	)
	// plainCall is what is left of such calls where a server drops the tokens.
	plainCall = lazy.Regexp(
		`^(?:(?:assistant)?(?:commentary|analysis)?\s*to=)?functions\.([\w-]+)(?::\d+)?\s*(?:json|code)?\s*(\()?\s*`,
	)
)

// tokenCalls reads the calls at the beginning of rest that stand in tokens of a
// template, and says how long they are.
func tokenCalls(rest string) (calls []textCall, size int, ok bool) {
	switch {
	case strings.HasPrefix(rest, mistralTag):
		calls, size, ok = mistral(rest[len(mistralTag):])
		return calls, size + len(mistralTag), ok
	case strings.HasPrefix(rest, pythonTag):
		c, n, ok := python(rest[len(pythonTag):])
		return []textCall{c}, n + len(pythonTag), ok
	case strings.HasPrefix(rest, kimiTag):
		c, n, ok := kimi(rest[len(kimiTag):])
		return []textCall{c}, n + len(kimiTag), ok
	case !strings.HasPrefix(rest, "<|"):
		return nil, 0, false
	}
	t := harmonyTag().FindStringSubmatch(rest)
	if t == nil || t[2]+t[3] == "" {
		return nil, 0, false
	}
	object, n := leadingObject(rest[len(t[0]):])
	c := textCall{
		name:   t[2],
		object: object,
		marked: t[1] != "",
	}
	if c.name == "" {
		c.name = t[3]
	}
	return []textCall{c}, len(t[0]) + n, object != nil
}

// mistral reads what follows its mark: a list, or a name with its arguments.
func mistral(rest string) (calls []textCall, size int, ok bool) {
	body := strings.TrimLeft(rest, arguments.Space)
	size = len(rest) - len(body)
	if strings.HasPrefix(body, "[") {
		dec := json.NewDecoder(strings.NewReader(body))
		var list json.RawMessage
		if dec.Decode(&list) != nil {
			return nil, 0, false
		}
		calls = fenced(string(list))
		return calls, size + int(dec.InputOffset()), len(calls) > 0
	}
	if object, n := leadingObject(body); object != nil {
		c, ok := objectCall(object)
		return []textCall{c}, size + n, ok
	}
	t := mistralName().FindStringSubmatch(rest)
	if t == nil {
		return nil, 0, false
	}
	object, n := leadingObject(rest[len(t[0]):])
	return []textCall{{name: t[1], object: object}}, len(t[0]) + n, object != nil
}

// kimi reads a name and its arguments, each behind a mark of its own.
func kimi(rest string) (c textCall, size int, ok bool) {
	t := kimiName().FindStringSubmatch(rest)
	if t == nil {
		return c, 0, false
	}
	object, n := leadingObject(rest[len(t[0]):])
	if object == nil {
		return c, 0, false
	}
	size, ok = behindTag(rest, len(t[0])+n, kimiEnd, true)
	return textCall{name: t[1], object: object}, size, ok
}

// python reads what follows the tag of Llama: an object, or name.call(key=value).
func python(rest string) (c textCall, size int, ok bool) {
	body := strings.TrimLeft(rest, arguments.Space)
	size = len(rest) - len(body)
	if object, n := leadingObject(body); object != nil {
		c, ok = objectCall(object)
		return c, size + n, ok
	}
	name, args, found := strings.Cut(body, "(")
	name = strings.TrimSuffix(name, ".call")
	if !found || name == "" || strings.Trim(name, nameLetters) != "" {
		return c, 0, false
	}
	object, n, ok := keywords(args)
	return textCall{name: name, object: object}, len(rest) - len(args) + n, ok
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// keywords reads key=value, … up to the closing parenthesis. A value is text in
// quotes, a number, True, False, None, or JSON.
func keywords(text string) (object json.RawMessage, size int, ok bool) {
	values := map[string]any{}
	rest := strings.TrimLeft(text, arguments.Space)
	for !strings.HasPrefix(rest, ")") {
		key, behind, found := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if _, twice := values[key]; !found || twice || key == "" || strings.Trim(key, nameLetters) != "" {
			return nil, 0, false
		}
		value, n, ok := literal(strings.TrimLeft(behind, arguments.Space))
		if !ok {
			return nil, 0, false
		}
		values[key] = value
		rest = strings.TrimLeft(strings.TrimLeft(behind, arguments.Space)[n:], arguments.Space)
		next, more := strings.CutPrefix(rest, ",")
		if !more && !strings.HasPrefix(rest, ")") {
			return nil, 0, false
		}
		rest = strings.TrimLeft(next, arguments.Space)
	}
	object, err := plan.MarshalCompact(values)
	return object, len(text) - len(rest) + len(")"), err == nil
}

// literal reads a value of Python or JSON at the beginning of text.
func literal(text string) (value any, size int, ok bool) {
	for word, v := range map[string]any{"True": true, "False": false, "None": nil} {
		if strings.HasPrefix(text, word) {
			return v, len(word), true
		}
	}
	if text != "" && (text[0] == '\'' || text[0] == '"') {
		return quotedText(text)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return nil, 0, false
	}
	return value, int(dec.InputOffset()), true
}

// quotedText reads text in the quotes that it begins with.
func quotedText(text string) (value any, size int, ok bool) {
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case text[0]:
			return out.String(), i + 1, true
		case '\n':
			return nil, 0, false
		case '\\':
			i++
			if i == len(text) {
				return nil, 0, false
			}
			switch text[i] {
			case 'n':
				out.WriteByte('\n')
			case 't':
				out.WriteByte('\t')
			case '\\', '\'', '"':
				out.WriteByte(text[i])
			default:
				out.WriteString(text[i-1 : i+1])
			}
		default:
			out.WriteByte(c)
		}
	}
	return nil, 0, false
}

// plain looks for a call without its tokens at the beginning of a line, and
// returns where it ends. Like JSON by itself, it may be text about a call.
func (s *finder) plain(at int) (end int, ok bool) {
	t := plainCall().FindStringSubmatch(s.text[at:])
	if t == nil || s.tries <= 0 {
		return 0, false
	}
	s.tries--
	object, n := leadingObject(s.text[at+len(t[0]):])
	if object == nil {
		return 0, false
	}
	end = at + len(t[0]) + n
	if t[2] != "" {
		if end, ok = behindTag(s.text, end, ")", false); !ok {
			return 0, false
		}
	}
	s.bareCalls, s.bareEnd = append(s.bareCalls, textCall{name: t[1], object: object}), end
	return end, true
}

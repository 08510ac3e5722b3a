// Package textcalls finds the tool calls that a model wrote as text instead of
// making them, in the forms of the templates that models are trained on.
//
// It must not know what runs the calls; of a tool it knows the name and the
// schema.
package textcalls

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/loop/arguments"
)

const (
	// mostCalls is how many calls are taken from one text.
	mostCalls = 4
	// mostBytes is how long a text may be to be looked at.
	mostBytes = 100 << 10
	// mostTries bounds the work on text that keeps beginning calls.
	mostTries = 64
)

// Tool is a tool that is offered to the model.
type Tool struct {
	Name   string
	Schema json.RawMessage // of its arguments
}

// InMessage finds the calls in the words of an answer. What the model only
// thought is looked at where it says nothing else.
func InMessage(m plan.Message, offered []Tool, looks func(tool string) bool) []plan.Block {
	if text := m.Text(); strings.TrimSpace(text) != "" {
		return Find(text, offered, looks)
	}
	var calls []plan.Block
	for _, b := range m.Blocks {
		if b.Type == plan.BlockReasoning {
			calls = append(calls, findAtEnd(b.Text, offered, looks)...)
		}
	}
	return calls[:min(len(calls), mostCalls)]
}

// Find finds the calls of offered tools that a model wrote as text instead
// of making them. It takes only what can hardly be anything else:
//
//	<tool_call>{"name": "read", "arguments": {…}}</tool_call>
//	```tool_call (a fence with one or more such objects)
//	<function=read>{…}</function>, or with <parameter=path>…</parameter> inside
//	<invoke name="read"><parameter name="path">…</parameter></invoke>, also
//	with a namespace or the DSML mark in its tags
//	the tokens of other templates; see tokenCalls
//
// Names are found as those of real calls are.
//
// A call stands at the beginning of a line or after the end of a sentence, and
// nothing but calls follows it on its last line. Code, in whatever form
// Markdown has for it, quotations and examples are text about calls, which is
// never taken. At most four calls are taken.
//
// JSON by itself may be data. It is taken only if the text ends with a call in
// it, because a model that stops there waits for a result, and only for tools
// of which looks says that they can be run by mistake.
//
// The blocks have no id: only the caller knows which ids are in use.
func Find(text string, offered []Tool, looks func(tool string) bool) []plan.Block {
	s := search(text, offered, looks)
	return s.blocks[:min(len(s.blocks), mostCalls)]
}

// findAtEnd is [Find] for what a model only thought: the calls count if
// the text ends with them, because it waits for their results then.
func findAtEnd(text string, offered []Tool, looks func(tool string) bool) []plan.Block {
	s := search(text, offered, looks)
	if len(s.blocks) == 0 || strings.Trim(wrapping().ReplaceAllString(text[s.end:], ""), arguments.Space) != "" {
		return nil
	}
	return s.blocks[:min(len(s.blocks), mostCalls)]
}

// search looks through a text.
func search(text string, offered []Tool, looks func(tool string) bool) finder {
	s := finder{
		text:    text,
		offered: offered,
		tries:   mostTries,
	}
	if len(text) > mostBytes {
		return s
	}
	for _, o := range offered {
		s.names = append(s.names, o.Name)
	}
	for at := 0; at < len(text) && len(s.blocks) < mostCalls && s.tries > 0; {
		at = s.searchLine(at)
	}
	if len(s.blocks) == 0 && s.bareEnd > 0 && strings.Trim(text[s.bareEnd:], arguments.Space) == "" {
		s.keep(s.bareEnd, slices.DeleteFunc(s.bareCalls, func(c textCall) bool {
			name, _ := arguments.ResolveName(c.name, s.names)
			return !looks(name)
		}))
	}
	return s
}

// finder is one text being searched. Its methods take the place where they
// begin and return the one where they stopped.
type finder struct {
	text    string
	offered []Tool
	names   []string // of the offered tools
	tries   int
	blocks  []plan.Block
	end     int // where the last of them ends

	bareCalls []textCall // calls without anything around their JSON
	bareEnd   int        // where the last of them ends
}

var (
	fenceLine = lazy.Regexp("^ {0,3}(```+|~~~+)([^\n`]*)(?:\n|\\z)")
	// aboutCalls begins a part that speaks of calls, or shows what came of them.
	aboutCalls = lazy.Regexp(
		`^<(code|pre|samp|example|examples|blockquote|tool_response|tool_result|function_results)\b[^<>\n]*>`,
	)
	// wrapping is what stands around calls.
	wrapping     = lazy.Regexp(wrapTag)
	wrappingHere = lazy.Regexp(`^(?:` + wrapTag + `)`)
)

const wrapTag = `</?(?:[|｜]DSML[|｜]|[a-z]+:)?(?:function_calls|tool_calls|think|thinking)>` +
	`|<\|(?:tool_calls_section_begin|tool_calls_section_end|call|eom_id|eot_id|im_end)\|>|</s>`

// searchLine looks through the line that begins here. A call, a fence or an example
// may end on a later one; then it goes on from there.
func (s *finder) searchLine(start int) int {
	rest := s.text[start:]
	text := strings.TrimLeft(rest, " ")
	switch {
	case len(rest)-len(text) > 3, strings.HasPrefix(text, ">"), strings.HasPrefix(text, "\t"): // code, or a quotation
		return s.behind(start, "\n")
	case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
		if f := fenceLine().FindStringSubmatch(rest); f != nil {
			return s.fence(start+len(f[0]), f[1], strings.TrimSpace(f[2]))
		}
	}
	at := start
	if end, ok := s.plain(len(s.text) - len(text)); ok {
		at = end
	}
	for at < len(s.text) {
		next := strings.IndexAny(s.text[at:], "<`{[\n")
		if next < 0 {
			break
		}
		at += next
		switch s.text[at] {
		case '\n':
			return at + 1
		case '`':
			at = s.codeSpan(at)
			continue
		case '{':
			at = s.object(start, at)
			continue
		case '[':
			if !strings.HasPrefix(s.text[at:], mistralTag) {
				at++
				continue
			}
		}
		if tag := aboutCalls().FindStringSubmatch(s.text[at:]); tag != nil {
			at = s.behind(at, "</"+tag[1]+">")
			continue
		}
		if end, ok := s.callsOnLine(start, at); ok {
			at = end
			continue
		}
		at++
	}
	return len(s.text)
}

// bareObject begins an object that may be a call, which names its arguments.
var bareObject = lazy.Regexp(`^\{\s*"(?:name|type|function|arguments|parameters|id)"\s*:`)

// object looks at a brace that nothing marks as a call.
func (s *finder) object(start, at int) (end int) {
	rest := s.text[at:]
	if s.tries <= 0 || !bareObject().MatchString(rest) {
		return at + 1
	}
	object, size := leadingObject(rest)
	c, ok := objectCall(object)
	before, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s.text[start:at], " \t"))
	if !ok || !c.explicit || strings.ContainsRune(quotes, before) {
		s.tries--
		return at + max(size, 1)
	}
	s.bareCalls, s.bareEnd = append(s.bareCalls, c), at+size
	return s.bareEnd
}

// behind is the place behind the next mark, or the end.
func (s *finder) behind(at int, mark string) int {
	i := strings.Index(s.text[at:], mark)
	if i < 0 {
		return len(s.text)
	}
	return at + i + len(mark)
}

// codeSpan is the end of the code in backticks that begins here, or of the
// backticks if they begin none.
func (s *finder) codeSpan(at int) int {
	ticks := ticksAt(s.text[at:])
	at += ticks
	for end := at; ; {
		i := strings.IndexAny(s.text[end:], "`\n")
		if i < 0 || s.text[end+i] == '\n' {
			return at
		}
		n := ticksAt(s.text[end+i:])
		end += i + n
		if n == ticks {
			return end
		}
	}
}

func ticksAt(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// fence skips a fenced part, unless it is marked as holding calls.
func (s *finder) fence(body int, marks, info string) int {
	for end := body; end < len(s.text); end = s.behind(end, "\n") {
		line, _, _ := strings.Cut(s.text[end:], "\n")
		line = strings.TrimRight(line, " \t\r")
		closing := strings.TrimLeft(line, " ")
		if len(line)-len(closing) > 3 || len(closing) < len(marks) || strings.Trim(closing, marks[:1]) != "" {
			continue
		}
		if info == "tool_call" || info == "tool_calls" {
			s.keep(s.behind(end, "\n"), fenced(s.text[body:end]))
		}
		return s.behind(end, "\n")
	}
	return len(s.text)
}

// fenced reads the calls of a fence: objects one after the other, or a list.
func fenced(body string) []textCall {
	var calls []textCall
	dec := json.NewDecoder(strings.NewReader(body))
	for dec.More() {
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return nil
		}
		list := []json.RawMessage{v}
		if v[0] == '[' && json.Unmarshal(v, &list) != nil {
			return nil
		}
		for _, v := range list {
			c, ok := objectCall(v)
			if !ok {
				return nil
			}
			calls = append(calls, c)
		}
	}
	return calls
}

// callsOnLine reads the calls that follow each other from here on one line, which
// began at start, and reports false if there is none. They are taken only if
// the line says nothing else around them.
func (s *finder) callsOnLine(start, at int) (end int, ok bool) {
	lead := s.text[start:at]
	var calls []textCall
	marked := false
	for {
		rest := s.text[at:]
		if len(calls) > 0 {
			blank := len(rest) - len(strings.TrimLeft(rest, " \t\r"))
			if n := blank + len(wrappingHere().FindString(rest[blank:])); n > 0 {
				at += n
				continue
			}
		}
		some, size, ok := s.calls(rest)
		if !ok {
			break
		}
		calls, marked = append(calls, some...), marked || some[0].marked
		at += size
	}
	if len(calls) == 0 {
		return 0, false
	}
	if (at == len(s.text) || s.text[at] == '\n') && mayFollow(lead, marked) {
		s.keep(at, calls)
	}
	return at, true
}

// quotes are what begins a quotation, code or a larger whole.
const quotes = "`\"'“”‘’«»<>([{"

// mayFollow reports whether a call may follow these words on a line. Tags that are
// tokens of their own to a model are not written by accident, but they can be
// quoted as well.
func mayFollow(lead string, marked bool) bool {
	lead = strings.TrimSpace(wrapping().ReplaceAllString(lead, ""))
	last, _ := utf8.DecodeLastRuneInString(lead)
	if marked {
		return lead == "" || !strings.ContainsRune(quotes, last)
	}
	return lead == "" || strings.ContainsRune(".!?…。！？", last)
}

// keep keeps the calls of tools that are offered; they end at a place.
func (s *finder) keep(end int, calls []textCall) {
	for _, c := range calls {
		name, _ := arguments.ResolveName(c.name, s.names)
		i := slices.Index(s.names, name)
		if i < 0 {
			continue
		}
		if args, ok := c.arguments(s.offered[i].Schema); ok {
			s.blocks = append(s.blocks, plan.Block{
				Type: plan.BlockToolCall,
				Name: name,
				Args: args,
			})
			s.end = end
		}
	}
}

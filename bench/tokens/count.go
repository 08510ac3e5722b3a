package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/makeup"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/tokens"
)

// tally is what one run sent, in tokens.
type tally struct {
	program, way string
	requests     int
	input        int64 // of all requests
	fresh        int64 // of that, what no earlier request of the run began with
	phases       []*phase
	results      map[string]int64 // by tool, once each
	again        int64            // of results, what the run had been shown before
}

// phase is what the first request of a phase holds, and what all of them come to.
type phase struct {
	name                   string
	schemas, system, first int64
	requests               int
	input, fresh           int64
}

// weighted is the input as it is billed where a prefix that a server has kept costs a
// tenth.
func weighted(input, fresh int64) int64 { return fresh + (input-fresh)/10 }

// sent is a request as Chat Completions has it.
type sent struct {
	Tools    []json.RawMessage `json:"tools"`
	Messages []json.RawMessage `json:"messages"`
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
	CallID  string `json:"tool_call_id"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// count counts the requests of a run.
func count(requests []scripted.Seen) (*tally, error) {
	t := &tally{results: map[string]int64{}}
	c := &counter{known: makeup.Makeup{Shows: func(string) bool { return true }}}
	for _, s := range requests {
		name := s.Header.Get("X-Plan-Phase")
		if s.Method != "POST" || name == "" {
			continue
		}
		var r sent
		if err := json.Unmarshal(s.Body, &r); err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
		if err := c.request(t, name, r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// counter knows what a run has sent so far.
type counter struct {
	tokens tokens.Counter
	known  makeup.Makeup
	said   []plan.Message // in any conversation of the run
	told   []([]string)   // of each request: its tools, one by one, and its messages
}

// request counts one request.
func (c *counter) request(t *tally, name string, r sent) error {
	var parts []string
	for _, raw := range slices.Concat(r.Tools, r.Messages) {
		part, err := plan.MarshalCompact(raw)
		if err != nil {
			return fmt.Errorf("write a part of a request: %w", err)
		}
		parts = append(parts, string(part))
	}
	shared, within := c.sharedPrefix(parts)
	c.told = append(c.told, parts)
	at := slices.IndexFunc(t.phases, func(p *phase) bool { return p.name == name })
	if at < 0 {
		at = len(t.phases)
		t.phases = append(t.phases, &phase{name: name})
	}
	p := t.phases[at]
	names := map[string]string{}
	for i, part := range parts {
		n := c.tokens.Count(part)
		var m message
		if i >= len(r.Tools) {
			if err := json.Unmarshal([]byte(part), &m); err != nil {
				return fmt.Errorf("read a message: %w", err)
			}
		}
		for _, call := range m.Calls {
			names[call.ID] = call.Function.Name
		}
		t.input += n
		p.input += n
		if p.requests == 0 {
			p.begins(m.Role, n)
		}
		fresh := c.fresh(part, i, shared, within)
		t.fresh += fresh
		p.fresh += fresh
		if i >= max(shared, len(r.Tools)) {
			c.take(t, m, names)
		}
	}
	t.requests++
	p.requests++
	return nil
}

// sharedPrefix is how many parts an earlier request of the run began with too, and how much
// of the next one: a server that keeps beginnings of requests knows no parts.
func (c *counter) sharedPrefix(parts []string) (whole, within int) {
	for _, earlier := range c.told {
		n, more := 0, 0
		for n < min(len(earlier), len(parts)) && earlier[n] == parts[n] {
			n++
		}
		if n < min(len(earlier), len(parts)) {
			more = alike(earlier[n], parts[n])
		}
		if n > whole || n == whole && more > within {
			whole, within = n, more
		}
	}
	return whole, within
}

// fresh is how much of the i-th part is new, in tokens, where so many whole ones and so much of
// the next were sent before.
func (c *counter) fresh(part string, i, whole, within int) int64 {
	switch {
	case i < whole:
		return 0
	case i > whole:
		within = 0
	}
	return c.tokens.Count(part) - c.tokens.Count(part[:within])
}

// alike is how many bytes two texts begin with alike, whole characters.
func alike(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// begins takes in a part of the first request of a phase; a tool has no role.
func (p *phase) begins(role string, tokens int64) {
	switch {
	case role == "":
		p.schemas += tokens
	case role == "system":
		p.system = tokens
	case role == "user" && p.first == 0:
		p.first = tokens
	}
}

// take takes a message in that the run had not said before.
func (c *counter) take(t *tally, m message, names map[string]string) {
	text, _ := m.Content.(string)
	message := plan.Message{Role: plan.RoleUser, Blocks: []plan.Block{{Type: plan.BlockText, Text: text}}}
	if m.Role == "tool" {
		name := names[m.CallID]
		t.results[name] += c.tokens.Count(text)
		message.Role = plan.RoleTool
		message.Blocks = []plan.Block{{Type: plan.BlockToolResult, Name: name, Text: text}}
	}
	c.said = append(c.said, message)
	for _, part := range c.known.Of(c.said, len(c.said)-1) {
		if part.Again > 0 {
			t.again += c.tokens.Count(text) * part.Again / part.Bytes
		}
	}
}

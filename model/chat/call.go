package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/plan-engine/plan"
)

// call is a tool call as it grows.
type call struct {
	index int64
	chunk int    // the chunk it began in
	id    string // as the server says it, if it does
	out   string // the id it is known by outside
	name  string
	args  strings.Builder

	extras map[string]json.RawMessage
}

// piece is what one chunk says about a tool call.
type piece struct {
	chunk          int
	index          int64
	indexed        bool // the server sent an index
	id, name, args string
	extras         map[string]respjson.Field
}

// slotOf finds the call that p goes on with; nil if p begins another one.
func slotOf(calls []*call, p piece) *call {
	var last *call
	for i := len(calls) - 1; i >= 0; i-- {
		c := calls[i]
		if p.indexed && c.index != p.index {
			continue
		}
		if p.id != "" && c.id == p.id {
			last = c
			break
		}
		if last == nil {
			last = c
		}
	}
	if last == nil || last.endsBefore(p) {
		return nil
	}
	return last
}

// endsBefore reports whether p, which has c's index or none, begins a new call.
// Servers leave indexes out, send every call as number 0, leave ids out, make
// up an id per chunk, repeat the name in every chunk, or spread it over some;
// only the first piece of a call names a function after arguments were seen.
func (c *call) endsBefore(p piece) bool {
	args := c.args.String()
	switch {
	case p.id != "" && c.id != "" && p.id != c.id:
		return p.name != "" || !p.indexed
	case p.name == "":
		return false
	case p.chunk == c.chunk: // named twice in one chunk
		return true
	case p.id != "" && p.id == c.id:
		return args != "" && p.name != c.name
	case args == "":
		return false
	case p.name != c.name:
		return true
	}
	return p.args != "" && json.Valid([]byte(args))
}

// add takes the next piece.
func (c *call) add(p piece) {
	if c.id == "" {
		c.id = p.id
	}
	if p.name != c.name { // the same name again is a repetition, not a part
		c.name += p.name
	}
	c.args.WriteString(p.args)
	for name, field := range p.extras {
		if raw := field.Raw(); raw != "" && raw != "null" {
			if c.extras == nil {
				c.extras = make(map[string]json.RawMessage)
			}
			c.extras[name] = json.RawMessage(raw)
		}
	}
}

// block returns the finished call. What the provider added to it and may want
// back is kept as it came.
func (c *call) block() plan.Block {
	b := plan.Block{Type: plan.BlockToolCall, Call: c.out, Name: valid(c.name), Args: valid(c.args.String())}
	if len(c.extras) > 0 {
		if opaque, err := plan.MarshalCompact(c.extras); err == nil {
			b.Opaque = opaque
		}
	}
	return b
}

// ids hands out the ids of calls, unique within a conversation. Servers leave
// them out, or number the calls of every answer from the start.
type ids struct {
	said  []plan.Message
	given []string
}

// known reports whether a call has this id, and how many calls there are.
func (s *ids) known(id string) (found bool, calls int) {
	for _, m := range s.said {
		for i := range m.Blocks {
			if b := &m.Blocks[i]; b.Type == plan.BlockToolCall {
				found = found || b.Call == id
				calls++
			}
		}
	}
	return found || slices.Contains(s.given, id), calls + len(s.given)
}

// next returns wanted if it is free, or else an id made from the number of the
// call, so that the same answer gets the same ids.
func (s *ids) next(wanted string) string {
	id := valid(wanted)
	taken, n := s.known(id)
	for ; id == "" || taken; n++ {
		id = fmt.Sprintf("call_%d", n)
		taken, _ = s.known(id)
	}
	s.given = append(s.given, id)
	return id
}

package chat

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
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
	// Most pieces are not the end of an object, which is seen at once.
	return p.args != "" && strings.HasSuffix(strings.TrimRight(args, " \t\r\n"), "}") && json.Valid([]byte(args))
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
func (c *call) block(provider string) plan.Block {
	b := plan.Block{
		Type: plan.BlockToolCall,
		Call: c.out,
		Name: wire.Valid(c.name),
		Args: wire.Valid(c.args.String()),
	}
	b.Opaque = wire.Seal(Name, provider, c.extras)
	return b
}

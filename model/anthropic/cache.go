package anthropic

import (
	"bytes"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// onBlocks is how the server is told to keep the conversation where it does not
// take one mark for all of it.
const onBlocks = "marks on blocks"

// marked is how many messages carry a mark of their own then: where the request
// before this one ended, and where this one ends.
const marked = 2

// mark is a mark on a block, as it stands behind the block's other fields.
var mark = []byte(`,"cache_control":{"type":"ephemeral"}`)

// markHour is the same for an hour.
var markHour = []byte(`,"cache_control":{"ttl":"1h","type":"ephemeral"}`)

// marks say what the server is to keep of a request. It takes four of them at most.
type marks struct {
	// shared is on the system prompt, and on the last tool and the last block of the
	// first message that other conversations begin with too.
	shared []byte
	blocks bool // on the last blocks of some messages; none is left for a tool then
}

// marks decides what the server is to keep, and writes what belongs to the request
// as a whole. The conversation is marked by one field for all of it, so that the
// bytes of its messages stay what they are from request to request.
func (p *protocol) marks(r *request) (m marks) {
	how, again := r.mends[partCache]
	if p.cfg.NoCache || again && how == "" {
		return m
	}
	part := wire.Optional{
		Part: partCache,
		Words: []string{
			"cache_control:", "cache_control'", "cache_control`", `cache_control\"`, "cache_control is",
			"cache_control not", "cache control", "prompt caching", "cachepoint",
		},
	}
	if again {
		m.blocks = true
		part.From = how
	} else {
		r.params.CacheControl = sdk.NewCacheControlEphemeralParam()
		part.To = onBlocks
	}
	r.optional = append(r.optional, part)
	m.shared = mark
	hour := wire.Optional{
		Part:  partHour,
		From:  "1h",
		To:    "5m",
		Words: []string{"ttl", "extended cache", "extended-cache", "1h"},
	}
	if r.call.Settings.LongCache && r.may(hour) {
		m.shared = markHour
	}
	return m
}

// onTool marks the last tool that other conversations are offered too. What is kept
// of the tools is another's.
func (m marks) onTool(tools [][]byte, shared int) [][]byte {
	if m.shared == nil || m.blocks || shared <= 0 || shared > len(tools) {
		return tools
	}
	last := tools[shared-1]
	tools = slices.Clone(tools)
	tools[shared-1] = slices.Concat(last[:len(last)-1], m.shared, last[len(last)-1:])
	return tools
}

// headMarked puts a mark behind so many blocks of the first message, which stands at the
// beginning of what is written. A mark at the very end is another's.
func (p *protocol) headMarked(call loop.Call, written wire.Text, m marks, mends wire.Mends) wire.Text {
	n := call.Shared.Blocks
	if m.shared == nil || n <= 0 || len(call.Messages) == 0 || len(call.Messages[0].Blocks) <= n {
		return written
	}
	head := call.Messages[0]
	head.Blocks = head.Blocks[:n]
	raw, user := bytes.CutSuffix(p.encoded(head, mends), endOfUser)
	if !user || !bytes.HasPrefix(written[0], raw) || len(raw) == len(written[0]) {
		return written
	}
	return slices.Concat(wire.Text{written[0][:len(raw)], m.shared, written[0][len(raw):]}, written[1:])
}

// endOfUser is how a message of the user ends.
var endOfUser = []byte(`}],"role":"user"}`)

// marked puts marks on the last messages of the user. What was said is not
// written over: it is cut where the marks belong.
func (p *protocol) marked(messages []plan.Message, encoded []byte, mends wire.Mends) wire.Text {
	end := len(encoded)
	rest, marks := end, 0
	var out wire.Text
	for _, m := range slices.Backward(messages) {
		if marks == marked || end <= 0 {
			break
		}
		raw := p.encoded(m, mends)
		if len(raw) == 0 {
			continue
		}
		if at := end - len(endOfUser); at > 0 && bytes.HasSuffix(encoded[:end], endOfUser) {
			out = append(out, encoded[at:rest], mark)
			rest = at
			marks++
		}
		end -= len(raw) + len(comma)
	}
	out = append(out, encoded[:rest])
	slices.Reverse(out)
	return out
}

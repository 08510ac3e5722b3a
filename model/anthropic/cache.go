package anthropic

import (
	"bytes"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/plan-engine/plan"
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

// marks say what the server is to keep of a request.
type marks struct {
	system []byte // on the system prompt: tools and system prompt, which many conversations begin with
	blocks bool   // on the last blocks of some messages
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
			"cache_control:", "cache_control'", "cache_control`", `cache_control\"`, "cache_control is", "cache_control not",
			"cache control", "prompt caching", "cachepoint",
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
	m.system = mark
	hour := wire.Optional{Part: partHour, From: "1h", To: "5m", Words: []string{"ttl", "extended cache", "extended-cache", "1h"}}
	if r.call.Settings.LongCache && r.may(hour) {
		m.system = markHour
	}
	return m
}

// What is said where a conversation does not begin, or end, as the wire wants it.
var (
	opening = plan.UserText("(The conversation goes on.)")
	closing = plan.UserText("Go on.")
)

// endOfUser is how a message of the user ends.
var endOfUser = []byte(`}],"role":"user"}`)

// conversation puts together what stands in the list of messages: what the
// messages were written as, between what has to stand around it. The user speaks
// first and last: models do not go on with what an assistant has begun to say.
func (p *protocol) conversation(messages []plan.Message, said []byte, m marks) wire.Text {
	var out wire.Text
	first := slices.IndexFunc(messages, sent)
	if first >= 0 && messages[first].Role == plan.RoleAssistant {
		out = append(out, p.encoded(opening), comma)
	}
	if m.blocks {
		out = append(out, p.marked(messages, said)...)
	} else {
		out = append(out, said)
	}
	last := len(messages) - 1
	for last >= 0 && !sent(messages[last]) {
		last--
	}
	if last < 0 || messages[last].Role == plan.RoleAssistant {
		if len(said) > 0 {
			out = append(out, comma)
		}
		out = append(out, p.encoded(closing))
	}
	return out
}

var comma = []byte{','}

// marked puts marks on the last messages of the user. What was said is not
// written over: it is cut where the marks belong.
func (p *protocol) marked(messages []plan.Message, said []byte) wire.Text {
	end := len(said)
	rest, found := end, 0
	var out wire.Text
	for _, m := range slices.Backward(messages) {
		if found == marked || end <= 0 {
			break
		}
		raw := p.encoded(m)
		if len(raw) == 0 {
			continue
		}
		if at := end - len(endOfUser); at > 0 && bytes.HasSuffix(said[:end], endOfUser) {
			out = append(out, said[at:rest], mark)
			rest = at
			found++
		}
		end -= len(raw) + len(comma)
	}
	out = append(out, said[:rest])
	slices.Reverse(out)
	return out
}

// encoded writes one message by itself.
func (p *protocol) encoded(m plan.Message) []byte {
	raw, err := wire.Join(0, p.message(m, &wire.Optionals{})...)
	if err != nil {
		return nil // it was written before
	}
	return raw
}

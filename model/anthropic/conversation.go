package anthropic

import (
	"bytes"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
)

// What is said where a conversation does not begin, or end, as the wire wants it.
var (
	opening = plan.UserText("(The conversation goes on.)")
	closing = plan.UserText("Go on.")
)

var comma = []byte{','}

// conversation puts together what stands in the list of messages: what the
// messages were written as, between what has to stand around it. The user speaks
// first and last: models do not go on with what an assistant has begun to say.
func (p *protocol) conversation(messages []plan.Message, encoded []byte, m marks, mends wire.Mends) wire.Text {
	var out wire.Text
	first, last := lacks(messages)
	if first {
		out = append(out, p.encoded(opening, mends), comma)
	}
	if m.blocks {
		out = append(out, p.marked(messages, encoded, mends)...)
	} else {
		out = append(out, encoded)
	}
	if last {
		if len(encoded) > 0 {
			out = append(out, comma)
		}
		out = append(out, p.encoded(closing, mends))
	}
	return out
}

// lacks reports whether something of the user has to stand before and behind
// messages.
func lacks(messages []plan.Message) (first, last bool) {
	begin := slices.IndexFunc(messages, sent)
	if begin < 0 {
		return false, true
	}
	end := len(messages) - 1
	for !sent(messages[end]) {
		end--
	}
	return messages[begin].Role == plan.RoleAssistant, messages[end].Role == plan.RoleAssistant
}

// encoded writes one message by itself.
func (p *protocol) encoded(m plan.Message, mends wire.Mends) []byte {
	raw, err := wire.Join(0, p.message(m, &wire.Optionals{Mends: mends})...)
	if err != nil {
		return nil // it was written before
	}
	return raw
}

// partsJoined is that messages of one role follow each other, which servers other
// than Anthropic's may not take.
var partsJoined = wire.Optional{
	Part:  partRoles,
	To:    "one message",
	Words: []string{"roles must alternate", "must alternate", "roles in a row", "consecutive messages", "same role"},
}

// joined writes the list of messages with one message in the place of those of one
// role that follow each other.
func (p *protocol) joined(messages []plan.Message, m marks, mends wire.Mends) []byte {
	first, last := lacks(messages)
	if first {
		messages = slices.Insert(slices.Clone(messages), 0, opening)
	}
	if last {
		messages = append(slices.Clip(messages), closing)
	}
	var encoded [][]byte
	before := plan.Role("")
	for _, message := range messages {
		raw := p.encoded(message, mends)
		if len(raw) == 0 {
			continue
		}
		role := message.Role
		if role == plan.RoleTool {
			role = plan.RoleUser
		}
		if role == before {
			n := len(encoded) - 1
			encoded[n] = merged(encoded[n], raw, role)
		} else {
			encoded = append(encoded, raw)
		}
		before = role
	}
	if m.blocks {
		mark := slices.Concat(mark, endOfUser)
		results := 0
		for i, raw := range slices.Backward(encoded) {
			if text, ok := bytes.CutSuffix(raw, endOfUser); ok && results < marked {
				encoded[i] = slices.Concat(text, mark)
				results++
			}
		}
	}
	return bytes.Join(encoded, comma)
}

// merged puts the blocks of two messages of one role into one.
func merged(a, b []byte, role plan.Role) []byte {
	a = bytes.TrimSuffix(a, []byte(`],"role":"`+string(role)+`"}`))
	b = bytes.TrimPrefix(b, []byte(`{"content":[`))
	return slices.Concat(a, comma, b)
}

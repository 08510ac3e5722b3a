package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// assembly puts an answer together from its events.
type assembly struct {
	provider   string
	formatTool string // the tool whose call is the answer
	live       func(loop.Delta)
	ids        wire.IDs

	blocks []*block         // in the order in which they began
	open   map[int64]*block // by the number that the server gives them; the one that began last

	begun bool   // the server has begun an answer
	done  bool   // and has ended it
	why   string // why the model stopped, as the server says it, in lower case
	usage usage
	model string
}

// start begins a block.
func (a *assembly) start(index int64, b *block) {
	if a.open == nil {
		a.open = map[int64]*block{}
	}
	a.begun = true
	a.blocks = append(a.blocks, b)
	a.open[index] = b
	if b.kind == typeToolUse {
		b.answer = a.formatTool != "" && b.name == a.formatTool
		if !b.answer {
			b.call = a.ids.Next(b.id)
			a.live(loop.Delta{
				Kind: plan.BlockToolCall,
				Call: b.call,
				Name: b.name,
			})
		}
		return
	}
	words := b.text.String() // some servers begin a block with words
	b.text.Reset()
	a.say(b, words)
}

// at is the block with a number, where it is of the kind that its next piece
// belongs to, or passed over; else another one begins. Servers leave the beginning
// of a block out.
func (a *assembly) at(index int64, kind string) *block {
	b := a.open[index]
	if b == nil || b.kind != kind && b.kind != typeOther {
		a.start(index, &block{kind: kind})
		b = a.open[index]
	}
	return b
}

// delta takes a piece of a block.
func (a *assembly) delta(index int64, d sdk.MessageStreamEventUnionDelta) error {
	switch d.Type {
	case "text_delta":
		a.say(a.at(index, typeText), d.Text)
	case "thinking_delta":
		a.say(a.at(index, typeThinking), d.Thinking)
	case "signature_delta":
		a.at(index, typeThinking).signature += d.Signature
	case "input_json_delta":
		switch b := a.open[index]; {
		case b == nil || b.kind != typeToolUse && b.kind != typeOther:
			return wire.Served("the server sent arguments of a call that it did not begin")
		default:
			a.say(b, d.PartialJSON)
		}
	}
	return nil
}

// say adds to what a block says.
func (a *assembly) say(b *block, text string) {
	if text == "" || b.kind == typeOther {
		return
	}
	b.text.WriteString(text)
	switch {
	case b.kind == typeText, b.answer:
		a.live(loop.Delta{Kind: plan.BlockText, Text: wire.Valid(text)})
	case b.kind == typeThinking:
		a.live(loop.Delta{Kind: plan.BlockReasoning, Text: wire.Valid(text)})
	case b.kind == typeToolUse:
		a.live(loop.Delta{
			Kind: plan.BlockToolCall,
			Call: b.call,
			Name: b.name,
			Text: wire.Valid(text),
		})
	}
}

// closeBlock takes a block as it is. The arguments of a call that came in no piece are
// those it began with.
func (a *assembly) closeBlock(b *block) {
	if b == nil || b.kind != typeToolUse || b.text.Len() > 0 {
		return
	}
	a.say(b, b.input)
}

// stopped takes the reason for stopping, where there is one.
func (a *assembly) stopped(why string, details sdk.RefusalStopDetails) {
	if why == "" {
		return
	}
	a.why = strings.ToLower(why)
	a.begun = true
	a.end()
	if a.stop(0).Declined() && details.Explanation != "" && !a.spoke() {
		a.start(int64(len(a.blocks)), &block{kind: typeText})
		a.say(a.blocks[len(a.blocks)-1], details.Explanation)
	}
}

// spoke reports whether there is a text in the answer.
func (a *assembly) spoke() bool {
	for _, b := range a.blocks {
		if b.kind == typeText && b.text.Len() > 0 {
			return true
		}
	}
	return false
}

// end ends the answer, if it has begun.
func (a *assembly) end() {
	if !a.begun {
		return
	}
	a.done = true
	for _, b := range a.blocks {
		a.closeBlock(b)
	}
}

// Complete implements [wire.Assembly].
func (a *assembly) Complete() bool { return a.done }

// Answer implements [wire.Assembly]. Nothing said makes an answer without blocks.
func (a *assembly) Answer() loop.Answer {
	var blocks []plan.Block
	calls := 0
	for _, b := range a.blocks {
		finished, ok := b.finished(a.provider)
		if !ok {
			continue
		}
		blocks = append(blocks, finished)
		if finished.Type == plan.BlockToolCall {
			calls++
		}
	}
	answer := loop.Answer{
		Message: plan.Message{Role: plan.RoleAssistant, Blocks: blocks},
		Stop:    a.stop(calls),
		Usage:   a.usage.total(),
		Model:   a.model,
	}
	switch a.why {
	case "end_turn", "tool_use", "max_tokens", string(answer.Stop):
	default:
		answer.Finish = wire.Valid(a.why)
	}
	return answer
}

// stop says why the model stopped. A turn that the server paused is not at its
// end: it counts as cut off, so that it is not taken for all of the answer and the
// model is asked to go on. Where it makes calls, their results make it go on.
func (a *assembly) stop(calls int) loop.StopReason {
	switch a.why {
	case "refusal", "refused":
		return loop.StopRefused
	case "content_filter", "content_filtered", "safety", "sensitive", "guardrail_intervened":
		return loop.StopFiltered
	case "max_tokens", "length", "model_context_window_exceeded":
		return loop.StopLength
	case "pause_turn":
		if calls == 0 {
			return loop.StopLength
		}
	}
	if calls > 0 {
		return loop.StopTools
	}
	return loop.StopEnd
}

// block is a block of an answer as it grows.
type block struct {
	kind string // one of the types of blocks
	text strings.Builder

	signature string // of thinking
	data      string // of thinking that is not shown

	id     string // of a call, as the server says it
	call   string // the id it is known by outside
	name   string
	input  string // the arguments that it began with
	caller string // as the server says it, JSON
	answer bool   // its arguments are the answer
}

// startOf reads the beginning of a block.
func startOf(c sdk.ContentBlockStartEventContentBlockUnion) *block {
	b := &block{
		kind:      kindOf(c.Type, c.Name, c.Thinking, c.Text),
		signature: c.Signature,
		data:      c.Data,
		id:        c.ID,
		name:      wire.Valid(c.Name),
		input:     inputOf(c.JSON.Input.Raw()),
		caller:    c.JSON.Caller.Raw(),
	}
	b.text.WriteString(c.Text + c.Thinking)
	return b
}

// blockOf reads a block of a whole answer.
func blockOf(c sdk.ContentBlockUnion) *block {
	b := &block{
		kind:      kindOf(c.Type, c.Name, c.Thinking, c.Text),
		signature: c.Signature,
		data:      c.Data,
		id:        c.ID,
		name:      wire.Valid(c.Name),
		input:     inputOf(string(c.Input)),
		caller:    c.JSON.Caller.Raw(),
	}
	b.text.WriteString(c.Text + c.Thinking)
	return b
}

// typeOther is a block that is passed over: one of those of tools that the server
// runs itself, which are never asked for.
const typeOther = "other"

// kindOf is the type of a block; where the server does not say it, what the block
// has in it says it, and its pieces where it has nothing yet.
func kindOf(kind, name, thinking, text string) string {
	switch kind {
	case typeText, typeThinking, typeRedacted, typeToolUse:
		return kind
	case "":
	default:
		return typeOther
	}
	switch {
	case name != "":
		return typeToolUse
	case thinking != "":
		return typeThinking
	case text != "":
		return typeText
	}
	return ""
}

// inputOf is what a call begins with.
func inputOf(raw string) string {
	if raw == "" || raw == "null" {
		return "{}"
	}
	return raw
}

// finished is the finished block; it is false for one with nothing in it.
func (b *block) finished(provider string) (plan.Block, bool) {
	text := wire.Valid(b.text.String())
	switch {
	case b.kind == typeText, b.answer:
		return plan.Block{Type: plan.BlockText, Text: text}, text != ""
	case b.kind == typeThinking:
		opaque := seal(provider, fieldSignature, b.signature)
		return plan.Block{
			Type:   plan.BlockReasoning,
			Text:   text,
			Opaque: opaque,
		}, text != "" || b.signature != ""
	case b.kind == typeRedacted:
		return plan.Block{Type: plan.BlockReasoning, Opaque: seal(provider, fieldData, b.data)}, b.data != ""
	case b.kind == typeToolUse:
		out := plan.Block{
			Type: plan.BlockToolCall,
			Call: b.call,
			Name: b.name,
			Args: text,
		}
		if b.caller != "" && b.caller != "null" {
			out.Opaque = wire.Seal(Name, provider, map[string]json.RawMessage{fieldCaller: json.RawMessage(b.caller)})
		}
		return out, true
	}
	return plan.Block{}, false
}

// seal marks a text that goes back with its block.
func seal(provider, field, text string) json.RawMessage {
	raw, err := plan.MarshalCompact(text)
	if err != nil {
		return nil
	}
	return wire.Seal(Name, provider, map[string]json.RawMessage{field: raw})
}

// Package pairing brings the tool calls and the results of a conversation
// together, so that a model server takes it: every call is answered once, in
// order, directly after the message that makes it.
//
// It must not know what a tool is or how a call came to lose its result.
package pairing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// NeverStarted is what a model reads as the result of a call that did not run.
const NeverStarted = "Cancelled before it started; nothing was done."

// Repair makes a conversation one that a model server takes.
//
// A result belongs to the latest message before it that makes a call with its
// id, so that an id that is used again is answered again; it is moved there if
// it stands elsewhere. A call without a result gets an error that says it was
// cancelled. A second result of a call is dropped. A result that no call before
// it asks for is kept for the model as the words of a user message.
//
// Messages are not changed; if nothing is wrong, the same slice comes back.
func Repair(messages []plan.Message) []plan.Message {
	return matchCalls(messages, false)
}

// WithoutOpenCalls is a conversation for a reader, not to go on with: it is
// repaired, and calls that have no result are left out.
func WithoutOpenCalls(messages []plan.Message) []plan.Message {
	return matchCalls(messages, true)
}

// matchCalls brings calls and results together. A call that has no result gets
// one, or is left out.
func matchCalls(messages []plan.Message, dropOpen bool) []plan.Message {
	if paired(messages) {
		return messages // before anything is allocated: this is asked before every request
	}
	p := pairing{
		messages: messages,
		dropOpen: dropOpen,
		calls:    map[int][]answeredCall{},
		stray:    map[position]bool{},
	}
	p.matchResults()
	for i := 0; i < len(messages); {
		if next, ok := pairedAt(messages, i); ok {
			p.out = append(p.out, messages[i:next]...)
			i = next
			continue
		}
		p.writeMessage(i)
		i++
	}
	return p.out
}

// paired reports whether nothing is wrong.
func paired(messages []plan.Message) bool {
	for i := 0; i < len(messages); {
		next, ok := pairedAt(messages, i)
		if !ok {
			return false
		}
		i = next
	}
	return true
}

// pairedAt checks the message at i together with the results that follow it,
// and returns where the next message stands.
func pairedAt(messages []plan.Message, i int) (next int, ok bool) {
	m := messages[i]
	if m.Role == plan.RoleExtension {
		return i + 1, true
	}
	if holds(m, plan.BlockToolResult) {
		return 0, false
	}
	if m.Role != plan.RoleAssistant || !holds(m, plan.BlockToolCall) {
		return i + 1, true
	}
	after := position{message: i + 1}
	for _, b := range m.Blocks {
		if b.Type != plan.BlockToolCall {
			continue
		}
		if r := after.result(messages); r == nil || r.Call != b.Call {
			return 0, false
		}
	}
	ok = after.result(messages) == nil
	return after.message, ok
}

func holds(m plan.Message, t plan.BlockType) bool {
	return slices.ContainsFunc(m.Blocks, func(b plan.Block) bool { return b.Type == t })
}

// position is a block in a conversation.
type position struct{ message, block int }

// result moves on to behind the next result, and returns it; nil if there is
// none before the tool messages end. Extension messages are sent to no model,
// so they do not end them.
func (p *position) result(messages []plan.Message) *plan.Block {
	for ; p.message < len(messages); p.message, p.block = p.message+1, 0 {
		m := &messages[p.message]
		if m.Role == plan.RoleExtension {
			continue
		}
		if m.Role != plan.RoleTool {
			return nil
		}
		for p.block < len(m.Blocks) {
			b := &m.Blocks[p.block]
			p.block++
			if b.Type == plan.BlockToolResult {
				return b
			}
		}
	}
	return nil
}

// answeredCall is a call and what answers it.
type answeredCall struct {
	call   plan.Block
	result *plan.Block
}

// pairing is a repair under way.
type pairing struct {
	messages []plan.Message
	dropOpen bool                   // calls without a result are left out
	calls    map[int][]answeredCall // by assistant message
	stray    map[position]bool      // results that no call before them asks for
	out      []plan.Message
}

// matchResults finds the result of each call.
func (p *pairing) matchResults() {
	latest := map[string]int{} // by call id, the message that used it last
	for i, m := range p.messages {
		if m.Role == plan.RoleExtension {
			continue
		}
		for j := range m.Blocks {
			b := &m.Blocks[j]
			if b.Type != plan.BlockToolResult {
				continue
			}
			if at, ok := latest[b.Call]; ok {
				giveResult(p.calls[at], b)
			} else {
				p.stray[position{i, j}] = true
			}
		}
		if m.Role != plan.RoleAssistant {
			continue
		}
		for _, call := range m.Calls() {
			p.calls[i] = append(p.calls[i], answeredCall{call: call})
			latest[call.Call] = i
		}
	}
}

// giveResult gives a result to the first open call with its id.
func giveResult(calls []answeredCall, result *plan.Block) {
	for i := range calls {
		if calls[i].call.Call == result.Call && calls[i].result == nil {
			calls[i].result = result
			return
		}
	}
}

// writeMessage puts out the message at i, with the results of its calls after it,
// and without the results that stand in it. Those that belong nowhere become
// words of a user.
func (p *pairing) writeMessage(i int) {
	m := p.messages[i]
	results, open := p.results(i)
	own := plan.Message{Role: m.Role}
	var words []plan.Block
	for j, b := range m.Blocks {
		switch {
		case b.Type == plan.BlockToolResult && p.stray[position{i, j}] && strings.TrimSpace(b.Text) != "":
			text := plan.Block{
				Type: plan.BlockText,
				Text: fmt.Sprintf("[result of a call that is not part of this conversation]\n%s", b.Text),
			}
			if m.Role == plan.RoleUser {
				own.Blocks = append(own.Blocks, text)
			} else {
				words = append(words, text)
			}
		case b.Type == plan.BlockToolResult:
		case b.Type == plan.BlockToolCall && m.Role == plan.RoleAssistant:
			if !open[0] {
				own.Blocks = append(own.Blocks, b)
			}
			open = open[1:]
		default:
			own.Blocks = append(own.Blocks, b)
		}
	}
	p.appendMessage(plan.Message{Role: plan.RoleUser, Blocks: words})
	p.appendMessage(own)
	p.appendMessage(plan.Message{Role: plan.RoleTool, Blocks: results})
}

// results are what answers the calls of the message at i. Open says of each
// call whether it is to be left out.
func (p *pairing) results(i int) (results []plan.Block, open []bool) {
	for _, c := range p.calls[i] {
		open = append(open, c.result == nil && p.dropOpen)
		switch {
		case c.result != nil:
			results = append(results, *c.result)
		case !p.dropOpen:
			results = append(results, plan.Block{
				Type:  plan.BlockToolResult,
				Call:  c.call.Call,
				Name:  c.call.Name,
				Text:  NeverStarted,
				Error: true,
			})
		}
	}
	return results, open
}

// appendMessage appends a message unless there is nothing in it.
func (p *pairing) appendMessage(m plan.Message) {
	if len(m.Blocks) > 0 {
		p.out = append(p.out, m)
	}
}

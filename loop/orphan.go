package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// neverStarted is what a model reads as the result of a call that nobody knows
// anything about.
const neverStarted = "Cancelled before it started; nothing was done."

// repair makes a conversation one that a model server takes: every call is
// answered exactly once, in call order, directly after the message that makes
// it.
//
// A result belongs to the latest message before it that makes a call with its
// id, so that an id that is used again is answered again; it is moved there if
// it stands elsewhere. A call without a result gets the one that outcome knows,
// else an error that says it was cancelled. A second result of a call is
// dropped, unless the first is such an error. A result that no call before it
// asks for is kept for the model as the words of a user message.
//
// Messages are not changed; if nothing is wrong, the same slice comes back.
func repair(messages []plan.Message, outcome func(call plan.Block) (plan.Block, bool)) []plan.Message {
	if paired(messages) {
		return messages // before anything is allocated: this is asked before every request
	}
	return pairUp(messages, func(call plan.Block) (plan.Block, bool) {
		if b, ok := outcome(call); ok {
			b.Type, b.Call, b.Name = plan.BlockToolResult, call.Call, call.Name
			return b, true
		}
		return plan.Block{
			Type:  plan.BlockToolResult,
			Call:  call.Call,
			Name:  call.Name,
			Text:  neverStarted,
			Error: true,
		}, true
	})
}

// withoutOpenCalls is a conversation for somebody who is to read it, not to go
// on with it: it is repaired, and calls that have no result are left out.
func withoutOpenCalls(messages []plan.Message) []plan.Message {
	if paired(messages) {
		return messages
	}
	return pairUp(messages, func(plan.Block) (plan.Block, bool) { return plan.Block{}, false })
}

// pairUp brings calls and results together. Missing gives the result of a call
// that has none, or says that the call is to be left out.
func pairUp(messages []plan.Message, missing func(call plan.Block) (plan.Block, bool)) []plan.Message {
	p := pairing{
		messages: messages,
		missing:  missing,
		slots:    map[int][]slot{},
		stray:    map[position]bool{},
	}
	p.collect()
	for i := 0; i < len(messages); {
		if next, ok := pairedAt(messages, i); ok {
			p.out = append(p.out, messages[i:next]...)
			i = next
			continue
		}
		p.rewrite(i)
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

// slot is a call and what answers it.
type slot struct {
	call   plan.Block
	result *plan.Block
}

// pairing is a repair under way.
type pairing struct {
	messages []plan.Message
	missing  func(call plan.Block) (plan.Block, bool)
	slots    map[int][]slot    // by assistant message
	stray    map[position]bool // results that no call before them asks for
	out      []plan.Message
}

// collect finds the result of each call.
func (p *pairing) collect() {
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
				answer(p.slots[at], b)
			} else {
				p.stray[position{i, j}] = true
			}
		}
		if m.Role != plan.RoleAssistant {
			continue
		}
		for _, call := range m.Calls() {
			p.slots[i] = append(p.slots[i], slot{call: call})
			latest[call.Call] = i
		}
	}
}

// answer gives a result to the first open call with its id.
func answer(slots []slot, result *plan.Block) {
	for i := range slots {
		if slots[i].call.Call == result.Call && slots[i].result == nil {
			slots[i].result = result
			return
		}
	}
}

// rewrite puts out the message at i, with the results of its calls after it,
// and without the results that stand in it. Those that belong nowhere become
// words of a user.
func (p *pairing) rewrite(i int) {
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
	p.put(plan.Message{Role: plan.RoleUser, Blocks: words})
	p.put(own)
	p.put(plan.Message{Role: plan.RoleTool, Blocks: results})
}

// results are what answers the calls of the message at i. Open says of each
// call whether it is to be left out.
func (p *pairing) results(i int) (results []plan.Block, open []bool) {
	for _, s := range p.slots[i] {
		result, ok := s.result, true
		if result == nil {
			b, known := p.missing(s.call)
			result, ok = &b, known
		}
		open = append(open, !ok)
		if ok {
			results = append(results, *result)
		}
	}
	return results, open
}

// put appends a message unless there is nothing in it.
func (p *pairing) put(m plan.Message) {
	if len(m.Blocks) > 0 {
		p.out = append(p.out, m)
	}
}

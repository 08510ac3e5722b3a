package looptest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// checkAnswer compares an answer, and what was shown of it while it arrived,
// with the reply it was made of. Before is the conversation so far.
func checkAnswer(r Reply, before []plan.Message, ans loop.Answer, streamed *pieces) error {
	if ans.Message.Role != plan.RoleAssistant {
		return fmt.Errorf("the answer's role is %q, want %q", ans.Message.Role, plan.RoleAssistant)
	}
	if want := stopOf(r); ans.Stop != want {
		return fmt.Errorf("the answer's stop reason is %q, want %q", ans.Stop, want)
	}
	want := r.Usage
	want.Requests = 1
	if r.Usage != (plan.Usage{}) && ans.Usage != want {
		return fmt.Errorf("the answer's usage is %+v, want %+v", ans.Usage, want)
	}
	if err := checkBlocks(r, ans.Message.Blocks); err != nil {
		return err
	}
	if err := checkIDs(before, ans.Message.Calls()); err != nil {
		return err
	}
	if streamed == nil {
		return nil
	}
	return streamed.check(ans.Message)
}

// stopOf is the stop reason that a reply amounts to.
func stopOf(r Reply) loop.StopReason {
	switch stop := loop.StopReason(r.Finish); stop {
	case loop.StopLength, loop.StopRefused, loop.StopFiltered:
		return stop
	}
	if len(r.Calls) > 0 {
		return loop.StopTools
	}
	return loop.StopEnd
}

// checkBlocks compares what was said: reasoning first, then text, then calls.
func checkBlocks(r Reply, blocks []plan.Block) error {
	var got, want []plan.Block
	if r.Reasoning != "" {
		want = append(want, plan.Block{Type: plan.BlockReasoning, Text: r.Reasoning})
	}
	if r.Text != "" {
		want = append(want, plan.Block{Type: plan.BlockText, Text: r.Text})
	}
	for _, c := range r.Calls {
		want = append(want, plan.Block{
			Type: plan.BlockToolCall,
			Name: c.Name,
			Args: c.Args,
		})
	}
	for _, b := range blocks {
		got = append(got, plan.Block{
			Type: b.Type,
			Text: b.Text,
			Name: b.Name,
			Args: b.Args,
		})
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("the answer has %d blocks, want %d: missing is %+v", len(got), len(want), want[i])
		case i >= len(want):
			return fmt.Errorf("the answer has %d blocks, want %d: too much is %+v", len(got), len(want), got[i])
		case !sameBlock(got[i], want[i]):
			return fmt.Errorf("block %d of the answer is\n%+v, want\n%+v", i, got[i], want[i])
		}
	}
	return nil
}

func sameBlock(a, b plan.Block) bool {
	return a.Type == b.Type && a.Text == b.Text && a.Name == b.Name && a.Args == b.Args
}

// checkIDs makes sure that every call has an id of its own in the
// conversation.
func checkIDs(before []plan.Message, calls []plan.Block) error {
	used := map[string]bool{}
	for _, m := range before {
		for _, c := range m.Calls() {
			used[c.Call] = true
		}
	}
	for i, c := range calls {
		switch {
		case c.Call == "":
			return fmt.Errorf("call %d of the answer has no id", i)
		case used[c.Call]:
			return fmt.Errorf(
				"call %d of the answer has the id %q, which another call of the conversation has too",
				i,
				c.Call,
			)
		}
		used[c.Call] = true
	}
	return nil
}

// pieces collects what is shown while an answer arrives.
type pieces struct {
	text, reasoning strings.Builder
	args, names     map[string]string // by call id
	count           int
	returned        bool // Generate has returned
	problem         error
}

func (p *pieces) add(d loop.Delta) {
	p.count++
	if p.returned {
		p.problem = errors.New("a piece came after Generate had returned")
	}
	switch d.Kind {
	case plan.BlockText:
		p.text.WriteString(d.Text)
	case plan.BlockReasoning:
		p.reasoning.WriteString(d.Text)
	case plan.BlockToolCall:
		if p.args == nil {
			p.args, p.names = map[string]string{}, map[string]string{}
		}
		p.args[d.Call] += d.Text
		if d.Name != "" {
			p.names[d.Call] = d.Name
		}
	default:
		p.problem = fmt.Errorf("a piece is of the kind %q, want text, reasoning or tool_call", d.Kind)
	}
}

// check compares the pieces with the message that they make together.
func (p *pieces) check(m plan.Message) error {
	if p.problem != nil {
		return p.problem
	}
	var text, reasoning string
	calls := m.Calls()
	for _, b := range m.Blocks {
		switch b.Type {
		case plan.BlockText:
			text += b.Text
		case plan.BlockReasoning:
			reasoning += b.Text
		}
	}
	switch {
	case p.text.String() != text:
		return fmt.Errorf("the pieces of text make\n%q, want\n%q", p.text.String(), text)
	case p.reasoning.String() != reasoning:
		return fmt.Errorf("the pieces of reasoning make\n%q, want\n%q", p.reasoning.String(), reasoning)
	case len(p.args) != len(calls):
		return fmt.Errorf("the pieces are of %d calls, want %d", len(p.args), len(calls))
	}
	for _, c := range calls {
		args, streamed := p.args[c.Call]
		switch {
		case !streamed:
			return fmt.Errorf("no piece is of the call %q", c.Call)
		case p.names[c.Call] != c.Name:
			return fmt.Errorf("the pieces of the call %q name %q, want %q", c.Call, p.names[c.Call], c.Name)
		case args != c.Args:
			return fmt.Errorf("the pieces of the call %q make\n%q, want\n%q", c.Call, args, c.Args)
		}
	}
	return nil
}

// checkFailure looks at the error of a call that cannot have been answered.
func checkFailure(c testCase, f Fault, err error) error {
	if err == nil {
		return fmt.Errorf("a call with the fault %q was answered, want an error", f.Kind)
	}
	me, ok := loop.AsModelError(err)
	if !ok {
		return fmt.Errorf("the error is %T (%w), want a *loop.ModelError", err, err)
	}
	known := false
	for _, kind := range c.kinds {
		known = known || me.Kind == kind
	}
	switch {
	case !known:
		return fmt.Errorf("the error is of the kind %q (%w), want one of %q", me.Kind, err, c.kinds)
	case me.Message == "" || strings.ContainsAny(me.Message, "\r\n"):
		return fmt.Errorf("the error's message is %q, want one line", me.Message)
	case f.Kind == FaultStatus && me.Status != f.Status:
		return fmt.Errorf("the error's status is %d, want %d", me.Status, f.Status)
	case me.RetryAfter != f.RetryAfter:
		return fmt.Errorf("the error asks to wait %s, want %s", me.RetryAfter, f.RetryAfter)
	}
	return nil
}

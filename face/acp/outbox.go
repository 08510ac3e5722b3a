package acp

import (
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// outbox sends updates in their order, so that an editor that reads slowly delays no
// run. What waits is merged where an editor would see the same: text that follows text,
// and the output of a call, of which only the last state counts.
type outbox struct {
	session *session

	mu      sync.Mutex
	sent    *sync.Cond
	waiting []sdk.SessionUpdate
	output  map[sdk.ToolCallId]string // of calls that go on, its end
	sending bool
}

func newOutbox(s *session) *outbox {
	o := &outbox{
		session: s,
		output:  map[sdk.ToolCallId]string{},
	}
	o.sent = sync.NewCond(&o.mu)
	return o
}

// add sends an update after those before it.
func (o *outbox) add(u sdk.SessionUpdate) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(u)
}

// addText sends a piece of the agent's words.
func (o *outbox) addText(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := o.last(); last != nil && last.AgentMessageChunk != nil {
		last.AgentMessageChunk.Content.Text.Text += text
		return
	}
	o.push(sdk.UpdateAgentMessageText(text))
}

// addThought sends a piece of what the model thinks.
func (o *outbox) addThought(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := o.last(); last != nil && last.AgentThoughtChunk != nil {
		last.AgentThoughtChunk.Content.Text.Text += text
		return
	}
	o.push(sdk.UpdateAgentThoughtText(text))
}

// addOutput sends what a call that goes on has put out so far.
func (o *outbox) addOutput(call sdk.ToolCallId, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	output := o.output[call] + text
	output = output[max(0, len(output)-maxOutput):]
	o.output[call] = output
	if last := o.last(); last != nil && last.ToolCallUpdate != nil && last.ToolCallUpdate.ToolCallId == call {
		last.ToolCallUpdate.Content = textContent(output)
		return
	}
	o.push(sdk.UpdateToolCall(call, sdk.WithUpdateContent(textContent(output))))
}

// last is the last update that waits, if it is not being sent.
func (o *outbox) last() *sdk.SessionUpdate {
	if len(o.waiting) == 0 {
		return nil
	}
	return &o.waiting[len(o.waiting)-1]
}

func (o *outbox) push(u sdk.SessionUpdate) {
	if u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil {
		delete(o.output, u.ToolCallUpdate.ToolCallId) // it ended
	}
	o.waiting = append(o.waiting, u)
	if !o.sending {
		o.sending = true
		go o.send()
	}
}

// send sends what waits, and ends.
func (o *outbox) send() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) > 0 {
		batch := o.waiting
		o.waiting = nil
		o.mu.Unlock()
		for _, u := range batch {
			// An editor that is gone has no use for it; that it is gone, the
			// connection says.
			_ = o.session.agent.conn.SessionUpdate(o.session.agent.ctx, sdk.SessionNotification{
				SessionId: o.session.id,
				Update:    u,
			})
		}
		o.mu.Lock()
	}
	o.sending = false
	o.sent.Broadcast()
}

// flush waits until everything is sent.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.sending {
		o.sent.Wait()
	}
}

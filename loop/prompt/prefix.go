// Package prompt knows what stands before the messages of a conversation, and
// watches over the bytes of its requests: each must extend the one before, or a
// provider bills it in full.
//
// It must not know what a tool or a conversation is, only how they are written.
package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
)

// Prefix watches over the bytes of a conversation: providers bill a request
// whose beginning they have seen at a fraction of the price, so each request
// must extend the one before.
type Prefix struct {
	model string
	base  string   // hash of model, system prompt and tools
	chain []string // chain[i] covers base and messages[:i+1]
	first string   // the base that the first request of the conversation had
	last  string   // hash of the latest request
	sent  int      // messages in the latest request
}

// Start takes what stands before all messages. Another start of the same
// conversation begins its bytes anew.
func (p *Prefix) Start(model, system string, tools any) error {
	data, err := plan.MarshalCompact(struct {
		Model  string `json:"model"`
		Tools  any    `json:"tools"`
		System string `json:"system"`
	}{model, tools, system})
	if err != nil {
		return fmt.Errorf("hash the prompt prefix: %w", err)
	}
	p.chain = nil
	p.model, p.base = model, digest("", data)
	return nil
}

// Recall takes over what an earlier process recorded.
func (p *Prefix) Recall(r plan.Request) {
	if p.first == "" {
		p.first = r.Prefix
	}
	p.last, p.sent = r.Hash, r.Messages
}

// Sent is how many messages the latest request held.
func (p *Prefix) Sent() int { return p.sent }

// Restart is for a history that another one has taken the place of.
func (p *Prefix) Restart() { p.chain = nil }

// Extend describes a request for these messages.
func (p *Prefix) Extend(messages []plan.Message) (plan.Request, error) {
	written, err := p.written(messages)
	if err != nil {
		return plan.Request{}, err
	}
	for i, data := range written {
		p.chain = append(p.chain, digest(p.at(i+len(messages)-len(written)), data))
	}
	req := plan.Request{
		Model:    p.model,
		Messages: len(messages),
		Prefix:   p.at(p.sent),
		Hash:     p.at(len(messages)),
	}
	if p.last != "" && req.Prefix != p.last {
		req.Moved = "messages"
		if p.first != p.base {
			req.Moved = "model, system prompt or tools"
			p.first = p.base
		}
	}
	p.Recall(req)
	return req, nil
}

// written encodes the messages that are not in the chain yet: one or two, or a
// whole history where a conversation goes on in another process.
func (p *Prefix) written(messages []plan.Message) ([][]byte, error) {
	first := len(p.chain)
	out := make([][]byte, max(len(messages)-first, 0))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	const share = 32 // messages that are worth a goroutine
	for from := 0; from < len(out); from += share {
		work.Go(func() (err error) {
			for i := from; i < min(from+share, len(out)); i++ {
				// What MarshalCompact would copy once more.
				if out[i], err = messages[first+i].MarshalJSON(); err != nil {
					return fmt.Errorf("hash message %d: %w", first+i, err)
				}
			}
			return nil
		})
	}
	return out, work.Wait() //nolint:wrapcheck // made above
}

// at is the hash that covers the first n messages.
func (p *Prefix) at(n int) string {
	if n == 0 || n > len(p.chain) {
		return p.base
	}
	return p.chain[n-1]
}

// digest is a hash of data that follows what another one covers.
func digest(before string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(before))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
)

// prefix watches over the bytes of a conversation: providers bill a request
// whose beginning they have seen at a fraction of the price, so each request
// must extend the one before.
type prefix struct {
	model string
	base  string   // hash of model, system prompt and tools
	chain []string // chain[i] covers base and messages[:i+1]
	first string   // the base that the first request of the conversation had
	last  string   // hash of the latest request
	sent  int      // messages in the latest request
}

// start takes what stands before all messages.
func (p *prefix) start(model, system string, tools []Spec) error {
	data, err := plan.MarshalCompact(struct {
		Model  string `json:"model"`
		Tools  []Spec `json:"tools"`
		System string `json:"system"`
	}{model, tools, system})
	if err != nil {
		return fmt.Errorf("hash the prompt prefix: %w", err)
	}
	p.model, p.base = model, digest("", data)
	return nil
}

// recall takes over what an earlier process recorded.
func (p *prefix) recall(r plan.Request) {
	if p.first == "" {
		p.first = r.Prefix
	}
	p.last, p.sent = r.Hash, r.Messages
}

// extend describes a request for these messages.
func (p *prefix) extend(messages []plan.Message) (plan.Request, error) {
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
	p.recall(req)
	return req, nil
}

// written encodes the messages that are not in the chain yet: one or two, or a
// whole history where a conversation goes on in another process.
func (p *prefix) written(messages []plan.Message) ([][]byte, error) {
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
func (p *prefix) at(n int) string {
	if n == 0 || n > len(p.chain) {
		return p.base
	}
	return p.chain[n-1]
}

func digest(before string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(before))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

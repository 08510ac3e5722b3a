package openai

import (
	"fmt"
	"sync"

	sdk "github.com/openai/openai-go/v3"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// fixed keeps what system prompts and tools were encoded to: each request of a
// conversation begins and ends with the same ones.
type fixed struct {
	mu   sync.Mutex
	kept map[part][]byte
	size int
}

// part is a system prompt, which has only a text, or a tool.
type part struct {
	tool               bool
	name, text, schema string
}

// system encodes the system prompt as a message.
func (f *fixed) system(text string) ([]byte, error) {
	if raw := f.find(part{text: text}); raw != nil {
		return raw, nil
	}
	raw, err := joined(len(text), sdk.SystemMessage(text))
	if err != nil {
		return nil, err
	}
	f.keep(part{text: text}, raw)
	return raw, nil
}

// tools encodes tools, each by itself.
func (f *fixed) tools(specs []loop.Spec) ([][]byte, error) {
	out := make([][]byte, len(specs))
	for i, s := range specs {
		p := part{tool: true, name: s.Name, text: s.Description, schema: string(s.Schema)}
		if out[i] = f.find(p); out[i] != nil {
			continue
		}
		raw, err := plan.MarshalCompact(functionTool(s))
		if err != nil {
			return nil, fmt.Errorf("encode the tool %s: %w", s.Name, err)
		}
		f.keep(p, raw)
		out[i] = raw
	}
	return out, nil
}

func (f *fixed) find(p part) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept[p]
}

// keep keeps an encoding. A program has a few of them; should there be many, it
// begins anew.
func (f *fixed) keep(p part, raw []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size += len(raw); f.size > maxKept || f.kept == nil {
		f.kept, f.size = map[part][]byte{}, len(raw)
	}
	f.kept[p] = raw
}

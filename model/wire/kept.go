package wire

import (
	"fmt"
	"sync"

	"github.com/plan-engine/plan/loop"
)

// Kept keeps what system prompts and tools were encoded to: each request of a
// conversation begins and ends with the same ones. The zero value is empty. It is
// safe for concurrent use.
type Kept struct {
	mu   sync.Mutex
	kept map[part][]byte
	size int
}

// part is a system prompt, which has only a text, or a tool.
type part struct {
	tool               bool
	name, text, schema string
	form               string
}

// System returns the encoding of a system prompt, made by encode the first time.
func (k *Kept) System(text string, encode func(text string) ([]byte, error)) ([]byte, error) {
	p := part{text: text}
	if raw := k.find(p); raw != nil {
		return raw, nil
	}
	raw, err := encode(text)
	if err != nil {
		return nil, err
	}
	k.keep(p, raw)
	return raw, nil
}

// Tools returns the encodings of tools, each by itself. Form names what they
// depend on beside the tools.
func (k *Kept) Tools(specs []loop.Spec, form string, encode func(loop.Spec) ([]byte, error)) ([][]byte, error) {
	out := make([][]byte, len(specs))
	for i, s := range specs {
		p := part{
			tool:   true,
			name:   s.Name,
			text:   s.Description,
			schema: string(s.Schema),
			form:   form,
		}
		if out[i] = k.find(p); out[i] != nil {
			continue
		}
		raw, err := encode(s)
		if err != nil {
			return nil, fmt.Errorf("encode the tool %s: %w", s.Name, err)
		}
		k.keep(p, raw)
		out[i] = raw
	}
	return out, nil
}

func (k *Kept) find(p part) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[p]
}

// keep keeps an encoding. A program has a few of them; should there be many, it
// begins anew.
func (k *Kept) keep(p part, raw []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size += len(raw); k.size > maxKept || k.kept == nil {
		k.kept, k.size = map[part][]byte{}, len(raw)
	}
	k.kept[p] = raw
}

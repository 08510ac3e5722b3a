// Package tokens counts the tokens of a text with a real vocabulary, that of
// OpenAI's current models. Other models cut text differently, so a count is
// a base that has to be corrected by what a server reports.
//
// Nothing is loaded before the first count. The package knows nothing of
// conversations or windows.
package tokens

import (
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Counter counts, and remembers what it has counted: a conversation is counted
// before each request, and most of it was there the time before. The zero value
// is ready; it is safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	codec *codec.Codec
	known map[string]int64
	held  int // bytes of the texts in known
}

const (
	// short is the size in bytes below which a text is not worth remembering.
	short = 64
	// mostHeld is how many bytes of text are remembered before all is forgotten
	// and counted anew.
	mostHeld = 16 << 20
	// piece is how much is counted at once, so that no text costs more than its
	// length. A cut costs a token at most.
	piece = 8 << 10
)

// Count returns the tokens of a text.
func (c *Counter) Count(text string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.known[text]; ok {
		return n
	}
	if c.codec == nil {
		c.codec = codec.NewO200kBase()
	}
	var n int64
	for rest := text; rest != ""; {
		part := rest[:min(len(rest), piece)]
		rest = rest[len(part):]
		tokens, err := c.codec.Count(part)
		if err != nil {
			tokens = (len(part) + 3) / 4 // what it cannot read is about this long
		}
		n += int64(tokens)
	}
	if len(text) >= short {
		c.remember(text, n)
	}
	return n
}

func (c *Counter) remember(text string, n int64) {
	if c.known == nil || c.held > mostHeld {
		c.known, c.held = map[string]int64{}, 0
	}
	c.known[text] = n
	c.held += len(text)
}

// Package estimate tells how many tokens a request has before it is sent, and
// notices a server that reads only a part of what it is sent.
//
// It must not know what is done about a request that is too long.
package estimate

import "github.com/plan-engine/plan"

// Estimator guesses how many tokens a request has before it is sent. It counts
// bytes, and learns from what the provider reports how far that is off for
// this model and this conversation. The zero value is ready.
type Estimator struct {
	// Count tells the tokens of a text with a real vocabulary. Nil: a quarter
	// of its bytes is all there is.
	Count func(text string) int64
	// exact says that count is used. It is dear, so that it is not while a
	// conversation is far from filling the window.
	exact bool

	ratio   float64 // reported tokens per counted one; 0: nothing reported yet
	largest report  // of this server
}

// Refine turns to exact counting once a request of this many counted tokens has
// come to where it pays, and reports whether it did. What was learned about the
// rough count says nothing about the exact one.
func (e *Estimator) Refine(counted int64, from float64) bool {
	if e.Count == nil || e.exact || float64(e.Tokens(counted)) < from {
		return false
	}
	e.exact, e.ratio, e.largest = true, 0, report{}
	return true
}

const (
	tokensPerMessage = 4
	tokensPerCall    = 8    // for a tool call, and for a result
	tokensPerImage   = 4800 // what a large one costs
	// learning is how much the latest report moves the ratio.
	learning = 0.3
	// trust bounds what one report can claim. Beyond it the report is about
	// something else than the text, such as a gateway's own prompt.
	trust = 4
)

// System counts a system prompt, uncorrected.
func (e *Estimator) System(prompt string) int64 { return e.text(prompt) }

// Tool counts what a model is told about a tool, uncorrected.
func (e *Estimator) Tool(name, description string, schema []byte) int64 {
	return e.text(name) + e.text(description) + e.json(string(schema))
}

// Messages counts messages, uncorrected.
func (e *Estimator) Messages(messages []plan.Message) int64 {
	var n int64
	for _, m := range messages {
		if m.Role == plan.RoleExtension {
			continue // never sent
		}
		n += tokensPerMessage
		for _, b := range m.Blocks {
			n += e.block(b)
		}
	}
	return n
}

func (e *Estimator) block(b plan.Block) int64 {
	switch b.Type {
	case plan.BlockText:
		return e.text(b.Text)
	case plan.BlockReasoning:
		return e.text(b.Text) + e.json(string(b.Opaque))
	case plan.BlockToolCall:
		return tokensPerCall + e.text(b.Name) + e.json(b.Args)
	case plan.BlockToolResult:
		return tokensPerCall + e.text(b.Text)
	case plan.BlockImage:
		return tokensPerImage
	}
	return 0
}

func (e *Estimator) text(s string) int64 {
	if e.exact {
		return e.Count(s)
	}
	return int64(len(s)+3) / 4
}

// json counts JSON, which has more tokens to the byte than prose.
func (e *Estimator) json(s string) int64 {
	if e.exact {
		return e.Count(s)
	}
	return int64(len(s)+2) / 3
}

// observe takes in what the provider reported as the input of a request that
// was counted as this many tokens.
func (e *Estimator) observe(counted, reported int64) {
	if counted <= 0 || reported <= 0 {
		return
	}
	sample := min(max(float64(reported)/float64(counted), 1.0/trust), trust)
	if e.ratio == 0 {
		e.ratio = sample
		return
	}
	e.ratio += learning * (sample - e.ratio)
}

// Tokens corrects a count by what was learned.
func (e *Estimator) Tokens(counted int64) int64 {
	if e.ratio == 0 {
		return counted
	}
	return int64(float64(counted) * e.ratio)
}

// Size is the corrected count of messages, as a compaction measures them.
func (e *Estimator) Size(messages []plan.Message) int64 {
	return e.Tokens(e.Messages(messages))
}

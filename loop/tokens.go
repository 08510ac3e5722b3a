package loop

import "github.com/plan-engine/plan"

// estimator guesses how many tokens a request has before it is sent. It counts
// bytes, and learns from what the provider reports how far that is off for
// this model and this conversation. The zero value is ready.
type estimator struct {
	// count tells the tokens of a text with a real vocabulary. Nil: a quarter
	// of its bytes is all there is.
	count func(text string) int64
	// exact says that count is used. It is dear, so that it is not while a
	// conversation is far from filling the window.
	exact bool

	ratio float64 // reported tokens per counted one; 0: nothing reported yet
}

// refine turns to exact counting once a request of this many counted tokens
// comes near what makes room necessary, and reports whether it did. What was
// learned about the rough count says nothing about the exact one.
func (e *estimator) refine(counted int64, r room) bool {
	if e.count == nil || e.exact || r.Window <= 0 || float64(e.tokens(counted)) < near*r.Early*float64(r.trigger()) {
		return false
	}
	e.exact, e.ratio = true, 0
	return true
}

// near is the part of the earliest trigger from which it pays to be exact.
const near = 0.9

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

// request counts a request, uncorrected.
func (e *estimator) request(system string, tools []Spec, messages []plan.Message) int64 {
	n := e.text(system) + e.messages(messages)
	for _, t := range tools {
		n += e.text(t.Name) + e.text(t.Description) + e.json(string(t.Schema))
	}
	return n
}

// messages counts messages, uncorrected.
func (e *estimator) messages(messages []plan.Message) int64 {
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

func (e *estimator) block(b plan.Block) int64 {
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

func (e *estimator) text(s string) int64 {
	if e.exact {
		return e.count(s)
	}
	return int64(len(s)+3) / 4
}

// json counts JSON, which has more tokens to the byte than prose.
func (e *estimator) json(s string) int64 {
	if e.exact {
		return e.count(s)
	}
	return int64(len(s)+2) / 3
}

// observe takes in what the provider reported as the input of a request that
// was counted as this many tokens.
func (e *estimator) observe(counted, reported int64) {
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

// tokens corrects a count by what was learned.
func (e *estimator) tokens(counted int64) int64 {
	if e.ratio == 0 {
		return counted
	}
	return int64(float64(counted) * e.ratio)
}

// size is the corrected count of messages, as a compaction measures them.
func (e *estimator) size(messages []plan.Message) int64 {
	return e.tokens(e.messages(messages))
}

package compact

import (
	"slices"

	"github.com/plan-engine/plan"
)

// Prune is a conversation less its oldest groups of calls and results, up to
// this many tokens. It never takes what people said, nor the latest turn. One
// memo stands in the place of the first group, as a message.
func (c *Compactor) Prune(messages []plan.Message, tokens int64, memo plan.Message) ([]plan.Message, plan.Pruned) {
	var done plan.Pruned
	var left []plan.Message
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if done.Tokens >= tokens || !c.prunable(messages[i:]) {
			left = append(left, m)
			continue
		}
		if len(done.Calls) == 0 && len(memo.Blocks) > 0 {
			left = append(left, memo)
		}
		for _, b := range m.Calls() {
			done.Calls = append(done.Calls, b.Call)
		}
		done.Tokens += c.Size(messages[i : i+2])
		i++
	}
	if len(done.Calls) > 0 {
		done.Messages = left
	}
	return left, done
}

// prunable reports whether messages begin with calls and the message that
// answers them, which may both be taken out.
func (c *Compactor) prunable(messages []plan.Message) bool {
	calls := messages[0].Calls()
	if len(calls) == 0 || len(messages) == 1 || messages[1].Role != plan.RoleTool {
		return false
	}
	keeps := func(b plan.Block) bool { return c.Verbatim != nil && c.Verbatim(b.Name) }
	return !slices.ContainsFunc(calls, keeps)
}

package loop

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// prune carries out what the turn's calls asked to take out of the
// conversation. It takes whole groups of calls and their results, the oldest
// first, never what people said, and never the turn that asked.
func (l *Loop) prune() {
	for _, c := range l.open.calls {
		if c.offer == nil || !c.offer.info.Prunes || c.end.Error {
			continue
		}
		var args struct {
			Tokens int64  `json:"tokens"`
			Memo   string `json:"memo"`
		}
		if json.Unmarshal(c.args, &args) != nil {
			continue
		}
		left, done := l.without(args.Tokens, strings.TrimSpace(args.Memo))
		l.record(done)
		if done.Messages != nil {
			l.replace(left)
		}
	}
}

// without is the conversation less its oldest groups, up to this many tokens.
// One memo stands in the place of the first.
func (l *Loop) without(tokens int64, memo string) ([]plan.Message, plan.Pruned) {
	done := plan.Pruned{Memo: memo}
	var left []plan.Message
	for i := 0; i < len(l.messages); i++ {
		m := l.messages[i]
		calls := m.Calls()
		if len(calls) == 0 || i+1 == len(l.messages) || done.Tokens >= tokens {
			left = append(left, m)
			continue
		}
		group := l.messages[i : i+2] // the calls, and the message that answers them
		if group[1].Role != plan.RoleTool ||
			slices.ContainsFunc(calls, func(b plan.Block) bool { return l.asks(b.Name) }) {
			left = append(left, m)
			continue
		}
		if len(done.Calls) == 0 && memo != "" {
			left = append(
				left,
				outside("[memo about results that were taken out of the history here]\n\n"+memo, plan.OriginSummary),
			)
		}
		for _, b := range calls {
			done.Calls = append(done.Calls, b.Call)
		}
		done.Tokens += l.size.size(group)
		i++
	}
	if len(done.Calls) > 0 {
		done.Messages = left
	}
	return left, done
}

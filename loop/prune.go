package loop

import (
	"encoding/json"
	"strings"

	"github.com/plan-engine/plan"
)

// memoHeading stands before what a model wants to remember of pruned results.
const memoHeading = "[memo about results that were taken out of the history here]\n\n"

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
		memo := strings.TrimSpace(args.Memo)
		var stand plan.Message // for the results, where the model left a memo
		if memo != "" {
			stand = messageFrom(memoHeading+memo, plan.OriginSummary)
		}
		left, done := l.compactor.Prune(l.messages, args.Tokens, stand)
		done.Memo = memo
		l.record(done)
		if done.Messages != nil {
			l.replaceHistory(left)
		}
	}
}

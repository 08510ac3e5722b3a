package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/plan-engine/plan"
)

// usage is what the server reports. It counts up, and begins anew in events that
// say only a part of it, so the most that was said of each number counts.
type usage struct {
	fresh, read, written, hour, minutes int64 // of the input, without overlaps
	output, thought                     int64 // of the output, the thought among it
}

// absurd is more tokens than there are in any answer.
const absurd = 1 << 50

// most takes a number that counts up.
func most(to *int64, n int64) { *to = max(*to, min(n, absurd)) }

func (u *usage) add(v sdk.Usage) {
	most(&u.fresh, v.InputTokens)
	most(&u.read, v.CacheReadInputTokens)
	most(&u.written, v.CacheCreationInputTokens)
	most(&u.minutes, v.CacheCreation.Ephemeral5mInputTokens)
	most(&u.hour, v.CacheCreation.Ephemeral1hInputTokens)
	most(&u.output, v.OutputTokens)
	most(&u.thought, v.OutputTokensDetails.ThinkingTokens)
}

func (u *usage) addDelta(v sdk.MessageDeltaUsage) {
	most(&u.fresh, v.InputTokens)
	most(&u.read, v.CacheReadInputTokens)
	most(&u.written, v.CacheCreationInputTokens)
	most(&u.output, v.OutputTokens)
	most(&u.thought, v.OutputTokensDetails.ThinkingTokens)
}

// total is the usage of one request. What was written and is not said to be kept
// for an hour is kept for minutes.
func (u *usage) total() plan.Usage {
	written := max(u.written, u.minutes+u.hour)
	return plan.Usage{
		Requests:    1,
		Input:       u.fresh + u.read + written,
		Cached:      u.read,
		Written:     written - u.hour,
		WrittenHour: u.hour,
		Output:      u.output,
		Reasoning:   min(u.thought, u.output),
	}
}

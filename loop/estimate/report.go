package estimate

import (
	"github.com/plan-engine/plan"
)

const (
	// leastCut is how much of a request has to be missing, in tokens, before a
	// server is said to have cut it. Less can be an estimate that is off.
	leastCut = 4_000
	// leastRead is the least that a server reads of a request that it cuts, in
	// tokens. A smaller report is no count of the whole input.
	leastRead = 1_024
	// grown is by how much a later request has to be larger, in tokens, for a
	// report that has not grown to mean something.
	grown = 2_000
)

// report is the largest input that a server has reported in a conversation, and
// how the request for it was counted.
type report struct {
	counted, reported int64 // tokens; 0: nothing was reported yet
}

// Reported takes in what a server says it has read of a request with these
// messages that was counted as this many tokens. It reports whether the server
// read only a part; such a report says nothing about how the text is counted.
func (e *Estimator) Reported(counted, reported int64, messages []plan.Message) (cut bool) {
	cut = e.cut(counted, reported) && !hasImages(messages)
	if !cut {
		e.observe(counted, reported)
	}
	if reported > e.largest.reported {
		e.largest = report{counted: counted, reported: reported}
	}
	return cut
}

// OtherServer forgets what the server has reported so far: the next one may
// count otherwise.
func (e *Estimator) OtherServer() { e.largest = report{} }

// cut reports whether a server has read only a part of a request. Less than half
// of what was sent is no proof: text of many blanks has few tokens, and some
// servers leave out what they had cached. So either an earlier, smaller request
// was read to the same length, or the very first report is a round number or
// less than a quarter.
func (e *Estimator) cut(counted, reported int64) bool {
	sent := e.Tokens(counted)
	if reported < leastRead || 2*reported >= sent || sent-reported < leastCut {
		return false
	}
	first := e.largest
	if first.reported == 0 {
		return 4*reported < sent || isRoundWindow(reported)
	}
	return e.Tokens(counted-first.counted) > grown &&
		reported <= first.reported && 2*reported >= first.reported
}

// isRoundWindow reports whether a number is what a window of whole kilotokens
// holds, or a few less.
func isRoundWindow(tokens int64) bool { return (tokens+15)/1024 > (tokens-1)/1024 }

// hasImages reports whether messages hold images, whose tokens are not known.
func hasImages(messages []plan.Message) bool {
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Type == plan.BlockImage {
				return true
			}
		}
	}
	return false
}

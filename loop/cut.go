package loop

import (
	"fmt"
	"strings"

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

// reading is the largest input that a server has reported in a conversation, and
// how the request for it was counted.
type reading struct {
	counted, reported int64 // tokens; 0: nothing was reported yet
}

// reported takes in what a server reports of the input it read, and reports whether
// it read only a part of what it was sent. Such a report says nothing about how
// the text is to be counted.
func (l *Loop) reported(input int64) (cut bool) {
	cut = l.cut(input)
	if !cut {
		l.size.observe(l.counted, input)
	}
	if input > l.read.reported {
		l.read = reading{counted: l.counted, reported: input}
	}
	return cut
}

// cut reports whether a server has read only a part of a request. Less than half
// of what was sent is no proof: text of many blanks has few tokens, and some
// servers leave out what they had cached. So either an earlier, smaller request
// was read to the same length, or the very first report is a round number or
// less than a quarter.
func (l *Loop) cut(reported int64) bool {
	sent := l.size.tokens(l.counted)
	if reported < leastRead || 2*reported >= sent || sent-reported < leastCut {
		return false
	}
	var proven bool
	if first := l.read; first.reported == 0 {
		proven = 4*reported < sent || roundWindow(reported)
	} else {
		proven = l.size.tokens(l.counted-first.counted) > grown &&
			reported <= first.reported && 2*reported >= first.reported
	}
	return proven && !l.pictures()
}

// roundWindow reports whether a number is what a window of whole kilotokens
// holds, or a few less.
func roundWindow(tokens int64) bool { return (tokens+15)/1024 > (tokens-1)/1024 }

// pictures reports whether the conversation holds images, whose tokens are not
// known.
func (l *Loop) pictures() bool {
	for _, m := range l.messages {
		for _, b := range m.Blocks {
			if b.Type == plan.BlockImage {
				return true
			}
		}
	}
	return false
}

// complain says that a server cuts what it is sent, once a conversation.
func (l *Loop) complain(sent, reported int64) {
	if l.complained {
		return
	}
	l.complained = true
	l.record(plan.Adjusted{
		Model: l.cfg.Name,
		Part:  plan.PartContext,
		Why: fmt.Sprintf(
			"the server read %s of about %s tokens: raise its window (Ollama: OLLAMA_CONTEXT_LENGTH), or set [models.%s] window",
			thousands(reported),
			thousands(sent),
			tomlKey(l.cfg.Name),
		),
	})
}

// thousands writes a number with a comma before every third digit.
func thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// tomlKey is a name as it stands in the head of a table.
func tomlKey(name string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	if strings.TrimFunc(name, plain) == "" && name != "" {
		return name
	}
	return fmt.Sprintf("%q", name)
}

package scripted

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// question is a request of one of the wires, decoded and checked.
type question interface {
	asks() *commonRequest
	streamed(a *answer) ([]chunk, error)
	plain(a *answer) ([]byte, error)
}

// commonRequest is what a request asks for, whichever wire it came by.
type commonRequest struct {
	model  string
	stream bool
	turns  []turn
	// continues says that the last to speak was the model: it is to go on.
	continues bool
	// size is how long the request is and cached how much of it the request
	// before it held, in bytes.
	size   int
	cached int
	// spans are the parts of a request that says what to keep of it; nil for
	// one that does not.
	spans []span
}

// length is how long the request is, in tokens.
func (q *commonRequest) length() int64 {
	if q.spans != nil {
		return tokens(q.spans[len(q.spans)-1].size)
	}
	return tokens(q.size)
}

// turn is that the user or the model said something.
type turn struct {
	assistant bool
	text      string // of the user
}

// place is where a request stands: what a reply is chosen by. It is a map key.
type place struct {
	run, phase          string
	attempt, user, turn int
	userText            string // of all messages
}

// placeOf finds the place of a request.
func placeOf(h http.Header, turns []turn) (place, error) {
	at := place{run: h.Get("X-Plan-Run"), phase: h.Get("X-Plan-Phase")}
	if text := h.Get("X-Plan-Attempt"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return place{}, fmt.Errorf("header X-Plan-Attempt is %q; attempts count 1, 2, …", text)
		}
		at.attempt = n
	}
	for _, t := range turns {
		if t.assistant {
			at.turn++
			continue
		}
		at.user++
		at.turn = 0
		at.userText += t.text + "\n"
	}
	return at, nil
}

// String says the place in words.
func (p place) String() string {
	return fmt.Sprintf("phase %q, attempt %d, user %d, turn %d", p.phase, p.attempt, p.user, p.turn)
}

// tag names the place in the ids of an answer.
func (p place) tag() string {
	return fmt.Sprintf("%s_%d_%d_%d", p.phase, p.attempt, p.user, p.turn)
}

// maxTag is how long a tag may be in the ids of wires that limit them.
const maxTag = 40

// idTag is a tag as the ids of strict wires may hold it: letters, digits, _
// and -, and not too many of them.
func idTag(tag string) string {
	clean := strings.Map(func(c rune) rune {
		if c < 0x80 && validName(string(c)) {
			return c
		}
		return '-'
	}, tag)
	if clean == tag && len(tag) <= maxTag {
		return tag
	}
	return clean[:min(len(clean), maxTag-10)] + "-" + strings.NewReplacer(
		"+",
		"-",
		"/",
		"_",
	).Replace(
		seal("tag", tag)[:9],
	)
}

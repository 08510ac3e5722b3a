package chat

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/plan-engine/plan"
)

// thinking parts a text that begins with <think> as it streams: what stands
// between the tags is reasoning, as servers send it that do not know the model's
// template. The zero value has seen nothing.
type thinking struct {
	state int
	held  string // what may be a part of a tag
}

// The states.
const (
	atStart = iota // only white space so far, or a part of the tag
	inside
	outside
)

const (
	openThink  = "<think>"
	closeThink = "</think>"
)

// split takes the next piece and returns what of it is text and what reasoning.
func (t *thinking) split(piece string) (text, thought string) {
	if t.state == outside || piece == "" {
		return piece, ""
	}
	t.held += piece
	if t.state == atStart {
		begun := strings.TrimLeftFunc(t.held, unicode.IsSpace)
		switch {
		case strings.HasPrefix(begun, openThink):
			t.state, t.held = inside, begun[len(openThink):]
		case strings.HasPrefix(openThink, begun):
			return "", ""
		default:
			t.state = outside
			return t.take(), ""
		}
	}
	if said, rest, closed := strings.Cut(t.held, closeThink); closed {
		t.state, t.held = outside, ""
		return strings.TrimLeftFunc(rest, unicode.IsSpace), said
	}
	// The end may be the beginning of the closing tag.
	keep := 0
	for n := min(len(closeThink)-1, len(t.held)); n > 0; n-- {
		if strings.HasSuffix(t.held, closeThink[:n]) {
			keep = n
			break
		}
	}
	thought, t.held = t.held[:len(t.held)-keep], t.held[len(t.held)-keep:]
	return "", thought
}

// rest is what is held back at the end of an answer.
func (t *thinking) rest() string {
	if t.state == inside {
		t.held = "" // a part of a closing tag
	}
	t.state = outside
	return t.take()
}

func (t *thinking) take() string {
	held := t.held
	t.held = ""
	return held
}

// details collects reasoning_details, which gateways want back unchanged. Pieces
// of one detail follow each other in a stream; they are joined as the gateway
// would have sent them whole.
type details struct{ list []map[string]json.RawMessage }

// add takes the details of a chunk and returns their words.
func (d *details) add(raw string) (words string) {
	var pieces []map[string]json.RawMessage
	if !strings.HasPrefix(raw, "[") || json.Unmarshal([]byte(raw), &pieces) != nil {
		return ""
	}
	for _, p := range pieces {
		for _, name := range []string{"text", "summary"} {
			words += stringOf(string(p[name]))
		}
		if last := len(d.list) - 1; last >= 0 && continues(d.list[last], p) {
			extend(d.list[last], p)
			continue
		}
		d.list = append(d.list, p)
	}
	return words
}

// continues reports whether p goes on with the detail before it.
func continues(last, p map[string]json.RawMessage) bool {
	if string(last["type"]) != string(p["type"]) || string(last["index"]) != string(p["index"]) {
		return false
	}
	if id := string(p["id"]); id != "" && id != "null" && string(last["id"]) != "null" && id != string(last["id"]) {
		return false
	}
	// What is encrypted comes whole, and what is signed is complete.
	return string(p["type"]) != `"reasoning.encrypted"` && stringOf(string(last["signature"])) == ""
}

// extend joins the words of p to a detail and takes over what else it has.
func extend(last, p map[string]json.RawMessage) {
	for name, value := range p {
		switch name {
		case "text", "summary":
			joined, err := plan.MarshalCompact(stringOf(string(last[name])) + stringOf(string(value)))
			if err == nil {
				last[name] = joined
			}
		default:
			if had := string(last[name]); had == "" || had == "null" || string(value) != "null" {
				last[name] = value
			}
		}
	}
}

// raw is the list as it goes back; nil for none.
func (d *details) raw() json.RawMessage {
	if len(d.list) == 0 {
		return nil
	}
	data, err := plan.MarshalCompact(d.list)
	if err != nil {
		return nil
	}
	return data
}

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
	closed // only white space so far behind the closing tag
	outside
)

const (
	openThink  = "<think>"
	closeThink = "</think>"
	// longestStart is how much white space before the tag is waited through.
	longestStart = 1 << 10
)

// split takes the next piece and returns what of it is text and what reasoning.
func (t *thinking) split(piece string) (text, thought string) {
	if t.state == closed {
		if piece = strings.TrimLeftFunc(piece, unicode.IsSpace); piece != "" {
			t.state = outside
		}
	}
	if t.state >= closed || piece == "" {
		return piece, ""
	}
	t.held += piece
	if t.state == atStart {
		begun := strings.TrimLeftFunc(t.held, unicode.IsSpace)
		switch {
		case strings.HasPrefix(begun, openThink):
			t.state, t.held = inside, begun[len(openThink):]
		case strings.HasPrefix(openThink, begun) && len(t.held) < longestStart:
			return "", ""
		default:
			t.state = outside
			return t.take(), ""
		}
	}
	if thought, rest, ok := strings.Cut(t.held, closeThink); ok {
		t.state, t.held = closed, ""
		text, _ = t.split(rest)
		return text, thought
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

// heldBack is what is held back at the end of an answer.
func (t *thinking) heldBack() string {
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
type details struct{ list []*detail }

// detail is one of them as it grows. Its words are kept apart from its fields, so
// that a long one is not written anew with each piece.
type detail struct {
	fields map[string]json.RawMessage
	words  map[string]*strings.Builder // of the fields text and summary
}

// add takes the details of a chunk and returns their words.
func (d *details) add(raw string) (words string) {
	var pieces []map[string]json.RawMessage
	if !strings.HasPrefix(raw, "[") || json.Unmarshal([]byte(raw), &pieces) != nil {
		return ""
	}
	before := len(d.list)
	for _, p := range pieces {
		for _, name := range []string{"text", "summary"} {
			words += stringOf(string(p[name]))
		}
		last := len(d.list) - 1
		// Without a number, those that come together are as many as they are.
		together := last >= before && p["index"] == nil
		if last >= 0 && !together && d.list[last].goesOn(p) {
			d.list[last].extend(p)
			continue
		}
		begun := &detail{fields: map[string]json.RawMessage{}, words: map[string]*strings.Builder{}}
		begun.extend(p)
		d.list = append(d.list, begun)
	}
	return words
}

// goesOn reports whether p goes on with the detail.
func (d *detail) goesOn(p map[string]json.RawMessage) bool {
	if string(d.fields["type"]) != string(p["type"]) || string(d.fields["index"]) != string(p["index"]) {
		return false
	}
	had := string(d.fields["id"])
	if id := string(p["id"]); id != "" && id != "null" && had != "null" && id != had {
		return false
	}
	// What is encrypted comes whole, and what is signed is complete.
	return string(p["type"]) != `"reasoning.encrypted"` && stringOf(string(d.fields["signature"])) == ""
}

// extend joins the words of p to the detail and takes over what else it has.
func (d *detail) extend(p map[string]json.RawMessage) {
	for name, value := range p {
		had, there := d.fields[name]
		switch {
		case (name == "text" || name == "summary") && strings.HasPrefix(string(value), `"`):
			if d.words[name] == nil {
				d.words[name] = &strings.Builder{}
			}
			d.words[name].WriteString(stringOf(string(value)))
			d.fields[name] = nil // where it stands
		case !there, string(had) == "null", string(value) != "null" && d.words[name] == nil:
			d.fields[name] = value
		}
	}
}

// raw is the list as it goes back; nil for none.
func (d *details) raw() json.RawMessage {
	if len(d.list) == 0 {
		return nil
	}
	out := make([]map[string]any, len(d.list))
	for i, entry := range d.list {
		out[i] = make(map[string]any, len(entry.fields))
		for name, value := range entry.fields {
			out[i][name] = value
		}
		for name, text := range entry.words {
			out[i][name] = text.String()
		}
	}
	data, err := plan.MarshalCompact(out)
	if err != nil {
		return nil
	}
	return data
}

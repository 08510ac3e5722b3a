package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/model/wire"
)

// item is an output item as it grows.
type item struct {
	kind    string // its type
	index   int64
	indexed bool // the server said the index
	id      string
	status  string
	begun   bool // the server said what it is, and not only what is in it
	done    bool // all of it is here

	parts []part // of a message, and of reasoning

	callID string
	name   string
	args   []byte
	shown  int    // bytes of args
	out    string // the id that the call is known by outside, once it is

	raw json.RawMessage // the whole item as the server wrote it, once it is done
	// opening is the item as it began. What is in it counts where nothing follows:
	// some servers say it all there, and once more in deltas.
	opening *sdk.ResponseOutputItemUnion
}

// part is a piece of a message or of reasoning.
type part struct {
	kind  string
	index int64
	text  []byte
}

// between is what stands between two parts of an item.
func (it *item) between() string {
	if it.kind == itemReasoning {
		return "\n\n"
	}
	return ""
}

// text joins the parts.
func (it *item) text() string {
	var texts [][]byte
	for _, p := range it.parts {
		if len(p.text) > 0 {
			texts = append(texts, p.text)
		}
	}
	return string(bytes.Join(texts, []byte(it.between())))
}

// refused reports whether the model declined in this item.
func (it *item) refused() bool {
	return slices.ContainsFunc(it.parts, func(p part) bool { return p.kind == partRefusal && len(p.text) > 0 })
}

// part finds a part, or makes it.
func (it *item) part(kind string, index int64) *part {
	for i := range it.parts {
		if p := &it.parts[i]; p.kind == kind && p.index == index {
			return p
		}
	}
	it.parts = append(it.parts, part{kind: kind, index: index})
	return &it.parts[len(it.parts)-1]
}

// describe takes what the server says about the item beside what is in it.
func (it *item) describe(from *sdk.ResponseOutputItemUnion, finder string) {
	it.begun = true
	it.id = cmp.Or(it.id, from.ID)
	it.status = cmp.Or(from.Status, it.status)
	it.callID = cmp.Or(it.callID, from.CallID)
	it.name = cmp.Or(from.Name, it.name)
	if from.Type == itemSearch {
		it.name = finder
	}
}

// keep keeps an item as it ended. What the end of the stream says about it counts
// unless its reasoning was left out there.
func (it *item) keep(raw json.RawMessage) {
	before := it.raw
	had := it.carries()
	it.raw = raw
	if had && !it.carries() {
		it.raw = before
	}
}

// place is where an event belongs.
type place struct {
	index   int64
	indexed bool
	id      string
}

func placeOf(e *sdk.ResponseStreamEventUnion, id string) place {
	return place{
		index:   e.OutputIndex,
		indexed: e.JSON.OutputIndex.Valid(),
		id:      id,
	}
}

// fits says how well an event of the given kind of item belongs to the item; 0 if
// it does not. Servers leave indexes or ids out, send the same index always, or
// another id in every event.
func (it *item) fits(at place, kind string) int {
	if it.kind != kind {
		return 0
	}
	sameID := at.id != "" && it.id == at.id
	sameIndex := at.indexed && it.indexed && at.index == it.index
	placed := at.indexed && it.indexed
	switch {
	case sameID && (sameIndex || !placed):
		return 4
	case it.done:
		return 0
	case sameIndex:
		return 3
	case sameID:
		return 2
	case !placed && (at.id == "" || it.id == ""):
		return 1
	}
	return 0
}

// partsOf are the parts of a finished item.
func partsOf(from *sdk.ResponseOutputItemUnion) []part {
	var out []part
	for i, s := range from.Summary {
		out = append(out, part{
			kind:  partSummed,
			index: int64(i),
			text:  []byte(s.Text),
		})
	}
	for i, c := range from.Content {
		p := part{
			kind:  c.Type,
			index: int64(i),
			text:  []byte(c.Text),
		}
		if c.Type == partRefusal {
			p.text = []byte(c.Refusal)
		}
		out = append(out, p)
	}
	return out
}

// argumentsOf reads arguments, which some servers send as an object.
func argumentsOf(from *sdk.ResponseOutputItemUnion) string {
	return argumentText(from.JSON.Arguments.Raw())
}

func argumentText(raw string) string {
	if strings.HasPrefix(raw, "{") {
		return raw
	}
	var text string
	if !strings.HasPrefix(raw, `"`) || json.Unmarshal([]byte(raw), &text) != nil {
		return ""
	}
	return text
}

// block is what the item is in the answer; false if it is nothing. Paired says
// that the answer's reasoning goes back, and so do the ids.
func (it *item) block(provider string, paired bool) (plan.Block, bool) {
	seal := func(fields map[string]json.RawMessage) json.RawMessage {
		if !paired {
			delete(fields, fieldID)
		}
		return wire.Seal(Name, provider, fields)
	}
	switch it.kind {
	case itemReasoning:
		b := plan.Block{Type: plan.BlockReasoning, Text: wire.Valid(it.text())}
		if it.carries() {
			b.Opaque = wire.Seal(Name, provider, it.fields(fieldType))
		}
		return b, b.Text != "" || b.Opaque != nil
	case itemMessage:
		b := plan.Block{Type: plan.BlockText, Text: wire.Valid(it.text())}
		fields := it.fields()
		b.Opaque = seal(pick(fields, fieldID, fieldPhase))
		return b, b.Text != ""
	case itemCall:
		b := plan.Block{
			Type: plan.BlockToolCall,
			Call: it.out,
			Name: wire.Valid(it.name),
			Args: wire.Valid(string(it.args)),
		}
		b.Opaque = seal(
			it.fields(
				fieldType, fieldStatus, "call_id", "name", "arguments", "parsed_arguments", "created_by", "execution",
			),
		)
		return b, true
	}
	return plan.Block{}, false
}

// carries reports whether the item is reasoning that can go back.
func (it *item) carries() bool { return it.kind == itemReasoning && carries(it.fields()) }

// itemID is an id that the server takes back.
var itemID = lazy.Regexp(`^"[A-Za-z0-9_-]{1,64}"$`)

// fields are those of the item as it ended, but for what is null, which would be
// refused, and the fields left out.
func (it *item) fields(without ...string) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(it.raw, &fields) != nil {
		return nil
	}
	for name, raw := range fields {
		switch {
		case string(raw) == "null", slices.Contains(without, name):
			delete(fields, name)
		case name == fieldID && it.kind != itemReasoning && !itemID().Match(raw):
			delete(fields, name)
		}
	}
	return fields
}

// pick returns the named fields.
func pick(fields map[string]json.RawMessage, names ...string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, name := range names {
		if raw, ok := fields[name]; ok {
			out[name] = raw
		}
	}
	return out
}

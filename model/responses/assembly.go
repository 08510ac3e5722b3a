package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// assembly puts an answer together from its events.
type assembly struct {
	provider string
	tool     string // the tool whose call is the answer
	finder   string // the tool that finds tools, "" for none of the wire's own
	live     func(loop.Delta)
	ids      wire.IDs

	items []*item // in the order in which they began
	model string
	usage plan.Usage
	cost  *float64

	ended  bool
	status string // of the response
	reason string // why it is incomplete, in lower case
}

// Complete implements [wire.Assembly].
func (a *assembly) Complete() bool { return a.ended }

// Add implements [wire.Assembly].
func (a *assembly) Add(ev wire.Event) error {
	switch {
	case ev.Type == wire.EventDone:
		a.mark()
		return nil
	case ev.Whole:
		return a.document(ev.Data)
	}
	var e sdk.ResponseStreamEventUnion
	// json.Unmarshal, unlike the event's own method, checks the syntax first.
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		return wire.Served("the server sent something that is not an event of an answer: %v", err)
	}
	switch kind := cmp.Or(e.Type, ev.Type); kind {
	case "error", "response.error":
		return failure(ev.Data)
	case "response.failed", "response.cancelled":
		a.meta(&e.Response)
		return failure(ev.Data)
	case "response.completed", "response.incomplete", "response.done":
		return a.end(&e.Response, strings.TrimPrefix(kind, "response."), ev.Data)
	case "response.created", "response.in_progress", "response.queued":
		a.meta(&e.Response)
	case "response.output_item.added":
		a.begin(&e)
	case "response.output_item.done":
		a.closeItem(a.itemOf(placeOf(&e, e.Item.ID), kindOf(&e.Item)), &e.Item)
	case "", "message":
		return a.document(ev.Data)
	default:
		return a.grow(kind, &e, ev.Data)
	}
	return nil
}

// grown says what an event adds to: the kind of the item and of its part, and
// which number the part has.
type grown struct {
	item  string
	part  string
	index int64
}

// grow takes an event about what is in an item.
func (a *assembly) grow(kind string, e *sdk.ResponseStreamEventUnion, data []byte) error {
	field, isDelta := strings.CutSuffix(kind, ".delta")
	field, isDone := strings.CutSuffix(field, ".done")
	to := grown{item: itemMessage, index: e.ContentIndex}
	text := e.Text
	switch field {
	case "response.output_text":
		to.part = partText
	case "response.refusal":
		to.part = partRefusal
		text = e.Refusal
	case "response.reasoning_text", "response.reasoning":
		to.item, to.part = itemReasoning, partThought
	case "response.reasoning_summary_text", "response.reasoning_summary":
		to.item, to.part, to.index = itemReasoning, partSummed, e.SummaryIndex
	case "response.function_call_arguments":
		to.item = itemCall
		text = argumentText(e.JSON.Arguments.Raw())
	default:
		return reported(data) // an event that nothing is made of
	}
	if isDelta == isDone {
		return nil
	}
	it := a.itemOf(placeOf(e, e.ItemID), to.item)
	if isDelta {
		text = e.Delta
	}
	switch {
	case it.done:
	case to.item == itemCall && isDelta:
		it.args = append(it.args, text...)
		a.showCall(it, false)
	case to.item == itemCall:
		a.setArguments(it, text)
		a.showCall(it, false)
	case isDelta:
		a.say(it, it.part(to.part, to.index), text)
	default:
		p := it.part(to.part, to.index)
		if more, ok := strings.CutPrefix(text, string(p.text)); ok {
			a.say(it, p, more)
		}
	}
	return nil
}

// itemOf finds the item that an event is about, or begins it.
func (a *assembly) itemOf(at place, kind string) *item {
	var best *item
	most := 0
	for _, it := range slices.Backward(a.items) {
		if n := it.fits(at, kind); n > most {
			best, most = it, n
		}
	}
	if best != nil {
		return best
	}
	return a.add(at, kind)
}

// add makes an item. Without an index it stands where it came.
func (a *assembly) add(at place, kind string) *item {
	it := &item{
		kind:    kind,
		id:      at.id,
		index:   at.index,
		indexed: at.indexed,
	}
	if !it.indexed {
		it.index = int64(len(a.items))
	}
	a.items = append(a.items, it)
	return it
}

// begin takes an item that begins. There may have been deltas of it.
func (a *assembly) begin(e *sdk.ResponseStreamEventUnion) {
	at := placeOf(e, e.Item.ID)
	var it *item
	for _, open := range slices.Backward(a.items) {
		if open.fits(at, kindOf(&e.Item)) > 0 && !open.begun && !open.done {
			it = open
			break
		}
	}
	if it == nil {
		it = a.add(at, kindOf(&e.Item))
	}
	it.describe(&e.Item, a.finder)
	it.opening = &e.Item
	if it.kind == itemCall {
		a.showCall(it, false)
	}
}

// closeItem takes a whole item. What it says counts for more than the deltas did.
func (a *assembly) closeItem(it *item, from *sdk.ResponseOutputItemUnion) {
	it.describe(from, a.finder)
	a.fill(it, from)
	it.done = true
	it.keep(bytes.ToValidUTF8([]byte(from.RawJSON()), []byte("\uFFFD")))
	if it.kind == itemCall {
		a.showCall(it, false)
	}
}

// fill takes what is in an item, if anything is.
func (a *assembly) fill(it *item, from *sdk.ResponseOutputItemUnion) {
	if it.kind == itemCall {
		a.setArguments(it, argumentsOf(from))
		return
	}
	before := it.text()
	whole := item{kind: it.kind, parts: partsOf(from)}
	text := whole.text()
	if text == "" {
		return
	}
	it.parts = whole.parts
	if more, ok := strings.CutPrefix(text, before); ok {
		a.show(it, more)
	}
}

// say adds to a part.
func (a *assembly) say(it *item, p *part, text string) {
	if text == "" {
		return
	}
	shown := text
	if len(p.text) == 0 && it.text() != "" {
		shown = it.between() + text
	}
	p.text = append(p.text, text...)
	a.show(it, shown)
}

// show passes on what a message or reasoning says.
func (a *assembly) show(it *item, text string) {
	if text == "" {
		return
	}
	kind := plan.BlockText
	if it.kind == itemReasoning {
		kind = plan.BlockReasoning
	}
	a.live(loop.Delta{Kind: kind, Text: wire.Valid(text)})
}

// setArguments takes the whole arguments of a call.
func (a *assembly) setArguments(it *item, whole string) {
	if whole == "" {
		return
	}
	if !strings.HasPrefix(whole, string(it.args[:it.shown])) {
		it.shown = len(whole) // too late to show them
	}
	it.args = []byte(whole)
}

// showCall passes on what is new of a call, once its id and name are known or,
// at the end, as far as they are.
func (a *assembly) showCall(it *item, end bool) {
	first := it.out == ""
	if first {
		if !end && (it.name == "" || it.callID == "" && !it.done) {
			return
		}
		it.out = a.ids.Next(cmp.Or(it.callID, it.id))
	}
	text := string(it.args[it.shown:])
	it.shown = len(it.args)
	switch {
	case a.tool != "" && it.name == a.tool:
		if text != "" {
			a.live(loop.Delta{Kind: plan.BlockText, Text: wire.Valid(text)})
		}
	case first || text != "":
		a.live(loop.Delta{
			Kind: plan.BlockToolCall,
			Call: it.out,
			Name: wire.Valid(it.name),
			Text: wire.Valid(text),
		})
	}
}

// document takes a whole response, from a server that does not stream.
func (a *assembly) document(data []byte) error {
	var r sdk.Response
	if err := json.Unmarshal(data, &r); err != nil {
		return wire.Served("the server sent something that is not an answer: %v", err)
	}
	switch r.Status {
	case sdk.ResponseStatusCompleted,
		sdk.ResponseStatusIncomplete,
		sdk.ResponseStatusFailed,
		sdk.ResponseStatusCancelled:
		return a.end(&r, string(r.Status), data)
	}
	if err := reported(data); err != nil {
		return err
	}
	if r.Status == "" && len(r.Output) > 0 {
		return a.end(&r, string(sdk.ResponseStatusCompleted), data)
	}
	return nil
}

// end takes the response as it ended.
func (a *assembly) end(r *sdk.Response, status string, data []byte) error {
	a.meta(r)
	switch r.Status {
	case sdk.ResponseStatusFailed, sdk.ResponseStatusCancelled:
		return failure(data)
	case sdk.ResponseStatusIncomplete:
		status = string(r.Status)
	}
	if err := reported(data); err != nil {
		return err
	}
	a.reason = strings.ToLower(wire.Valid(r.IncompleteDetails.Reason))
	a.output(r.Output)
	a.close(status)
	return nil
}

// close ends the answer: there is nothing to come.
func (a *assembly) close(status string) {
	a.ended = true
	a.status = status
	for _, it := range a.items {
		if it.opening != nil && !it.done && len(it.args) == 0 && it.text() == "" {
			a.fill(it, it.opening)
		}
		if it.kind == itemCall {
			a.showCall(it, true)
		}
	}
}

// output takes the items of a whole response: those that were streamed, in part
// or not at all.
func (a *assembly) output(items []sdk.ResponseOutputItemUnion) {
	used := map[*item]bool{}
	for i := range items {
		from := &items[i]
		it := a.streamed(from, used)
		if it == nil {
			it = a.add(place{}, kindOf(from))
		}
		used[it] = true
		it.index, it.indexed = int64(i), true
		a.closeItem(it, from)
	}
}

// streamed finds the item that was streamed: by its ids, or the next of its kind
// where the ids are other ones.
func (a *assembly) streamed(from *sdk.ResponseOutputItemUnion, used map[*item]bool) *item {
	var next *item
	for _, it := range a.items {
		if used[it] || it.kind != kindOf(from) {
			continue
		}
		if from.ID != "" && it.id == from.ID {
			return it
		}
		if next == nil && (it.callID == "" || from.CallID == "" || it.callID == from.CallID) {
			next = it
		}
	}
	return next
}

// mark takes the end mark of a stream. Items that are whole are an answer, where
// the server says no more than that.
func (a *assembly) mark() {
	whole := len(a.items) > 0 && !slices.ContainsFunc(a.items, func(it *item) bool { return !it.done })
	if whole && !a.ended {
		a.close(string(sdk.ResponseStatusCompleted))
	}
}

package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan"
)

// shrinking is what a compaction of history came to. Sizes are tokens of the
// messages, by the measure it was planned with.
type shrinking struct {
	Before, After int64
	Results, Args int // how many were shortened
	// Blobs are what the shortened parts point to. They must be stored with
	// the event that records the compaction.
	Blobs []plan.Blob
}

// gained reports whether the compaction was worth making.
func (s shrinking) gained() bool { return worthwhile(s.Before, s.After) }

// measure tells the tokens of messages.
type measure func([]plan.Message) int64

const (
	resultBytes = 2000 // of an old result at first
	stubBytes   = 300  // of an old result where that is not enough; no result below is touched
	argsBytes   = 768  // old arguments above this are stubbed
	valueBytes  = 200  // of a value in stubbed arguments
)

// trimming is one way to shorten, in the order in which they are tried.
type trimming struct {
	keep  int // latest results left alone
	bytes int // of the others
}

// planTrim shortens old tool results and arguments without asking a model,
// until the messages have no more than goal tokens or nothing is left to
// shorten. It does the least first: old outputs keep both ends, then their
// beginnings only, then the latest results are no longer spared.
//
// It never touches what people and the workflow said, the live turn, or the
// order of messages; no call loses its result. The result of a tool for which
// verbatim is true stays whole. The same input gives the same output, which
// shares what has not changed with it; shortening the output again changes
// nothing.
func planTrim(messages []plan.Message, m measure, o occasion, r room, goal int64, verbatim func(tool string) bool) ([]plan.Message, shrinking) {
	rep := shrinking{Before: m(messages)}
	rep.After = rep.Before
	if o == notDue {
		return messages, rep
	}
	steps := []trimming{{r.Keep, resultBytes}, {r.Keep, stubBytes}}
	if o == dueAuto {
		steps = append(steps, trimming{0, resultBytes}, trimming{0, stubBytes})
	}
	out := messages
	for _, step := range steps {
		t := trimmer{live: liveTurn(messages), step: step, verbatim: verbatim}
		// Each step begins anew, so that a pointer never points to a stub.
		out = t.trim(messages)
		rep.After, rep.Blobs = m(out), t.blobs
		rep.Results, rep.Args = t.results, t.args
		if rep.After <= goal {
			break
		}
	}
	return out, rep
}

// trimmable counts the results that a trim could shorten, the latest included.
func trimmable(messages []plan.Message, verbatim func(tool string) bool) int {
	n := 0
	for _, msg := range messages {
		for _, b := range msg.Blocks {
			if isResult(b, verbatim) && len(b.Text) > resultBytes {
				n++
			}
		}
	}
	return n
}

func isResult(b plan.Block, verbatim func(string) bool) bool {
	return b.Type == plan.BlockToolResult && (verbatim == nil || !verbatim(b.Name))
}

// liveTurn is where the turn begins that the model is about to react to: at
// its latest message.
func liveTurn(messages []plan.Message) int {
	for i, msg := range slices.Backward(messages) {
		if msg.Role == plan.RoleAssistant {
			return i
		}
	}
	return 0
}

// trimmer makes one pass over messages.
type trimmer struct {
	live     int
	step     trimming
	verbatim func(string) bool

	results, args int
	blobs         []plan.Blob
	pointed       map[string]bool
}

func (t *trimmer) trim(messages []plan.Message) []plan.Message {
	out := slices.Clone(messages)
	spare := t.step.keep
	for i, msg := range slices.Backward(messages) {
		if i >= t.live && t.live > 0 {
			spare -= countResults(msg, t.verbatim)
			continue
		}
		var blocks []plan.Block // a copy, once something changes
		for j, b := range slices.Backward(msg.Blocks) {
			short, ok := b, false
			switch {
			case isResult(b, t.verbatim):
				if spare--; spare < 0 {
					short, ok = t.result(b)
				}
			case b.Type == plan.BlockToolCall:
				short, ok = t.call(b)
			}
			if !ok {
				continue
			}
			if blocks == nil {
				blocks = slices.Clone(msg.Blocks)
			}
			blocks[j] = short
		}
		if blocks != nil {
			out[i].Blocks = blocks
		}
	}
	return out
}

func countResults(msg plan.Message, verbatim func(string) bool) int {
	n := 0
	for _, b := range msg.Blocks {
		if isResult(b, verbatim) {
			n++
		}
	}
	return n
}

// result shortens a result, and says where the whole of it is.
func (t *trimmer) result(b plan.Block) (plan.Block, bool) {
	if len(b.Text) <= t.step.bytes {
		return b, false
	}
	hash := b.Blob
	if hash == "" {
		hash = t.keep(b.Text)
	}
	const pointer = "\n[shortened to make room: %s left out; to see the whole, read path \"blob:%s\"]\n"
	head, tail := ends(b.Text, t.step.bytes-len(fmt.Sprintf(pointer, counted(len(b.Text), "byte"), hash)))
	text := head + fmt.Sprintf(pointer, counted(len(b.Text)-len(head)-len(tail), "byte"), hash) + tail
	if len(text) >= len(b.Text) {
		return b, false
	}
	b.Text, b.Blob = text, hash
	t.results++
	return b, true
}

// keep makes a blob of text, and returns its hash.
func (t *trimmer) keep(text string) string {
	blob := plan.NewBlob([]byte(text))
	if !t.pointed[blob.Hash] {
		if t.pointed == nil {
			t.pointed = map[string]bool{}
		}
		t.pointed[blob.Hash] = true
		t.blobs = append(t.blobs, blob)
	}
	return blob.Hash
}

// ends cuts the beginning and the end out of a text, at most size bytes, three
// fifths of it from the beginning. It cuts at line ends where there are any
// near, and never inside a character.
func ends(text string, size int) (head, tail string) {
	size = max(size, 0)
	h := size * 3 / 5
	for h > 0 && !utf8.RuneStart(text[h]) {
		h--
	}
	if nl := strings.LastIndexByte(text[:h], '\n'); nl >= h/2 {
		h = nl
	}
	from := len(text) - (size - size*3/5)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	if nl := strings.IndexByte(text[from:], '\n'); nl >= 0 && nl <= (len(text)-from)/2 {
		from += nl + 1
	}
	return text[:h], text[from:]
}

// stubMark begins every value that stands for a longer one in old arguments.
const stubMark = "[left out of the history: "

// call stubs large arguments. They stay a JSON object with the same keys.
func (t *trimmer) call(b plan.Block) (plan.Block, bool) {
	if len(b.Args) <= argsBytes || strings.Contains(b.Args, stubMark) {
		return b, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(b.Args), &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{"arguments": json.RawMessage(b.Args)}
	}
	hash := plan.NewBlob([]byte(b.Args)).Hash
	for key, value := range fields {
		if len(value) > valueBytes {
			fields[key] = quoted(fmt.Sprintf("%s%s; all arguments: read path \"blob:%s\"]", stubMark, counted(len(value), "byte"), hash))
		}
	}
	args, err := plan.MarshalCompact(fields)
	if err != nil || len(args) >= len(b.Args) {
		return b, false
	}
	t.keep(b.Args)
	b.Args = string(args)
	t.args++
	return b, true
}

// copiesStub reports whether a model copied a stub into new arguments, taking
// it for something that it wrote itself. Such a call must not run.
func copiesStub(args json.RawMessage) bool {
	if !bytes.Contains(args, []byte(stubMark)) {
		return false
	}
	var v any
	return json.Unmarshal(args, &v) != nil || stubIn(v)
}

func stubIn(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(strings.TrimSpace(v), stubMark)
	case []any:
		return slices.ContainsFunc(v, stubIn)
	case map[string]any:
		for _, e := range v {
			if stubIn(e) {
				return true
			}
		}
	}
	return false
}

func quoted(s string) json.RawMessage {
	data, err := plan.MarshalCompact(s)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return data
}

// counted says how many there are of something.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan"
)

// Outcome is what a compaction of history came to. Sizes are tokens of the
// whole request, estimated.
type Outcome struct {
	Before, After int64
	Results, Args int // how many were shortened
	// Blobs are what the shortened parts point to. They must be stored with
	// the event that records the compaction.
	Blobs []plan.Blob
}

// Worthwhile reports whether the compaction was worth making.
func (s Outcome) Worthwhile() bool { return worthwhile(s.Before, s.After) }

const (
	resultBytes = 2000 // of an old result at first
	stubBytes   = 300  // of an old result where that is not enough; none below is touched
	argsBytes   = 768  // old arguments from this on are stubbed
	valueBytes  = 200  // of a value in stubbed arguments
)

// trimming is one way to shorten.
type trimming struct {
	keep  int  // latest results, and the calls before them, that are left alone
	bytes int  // of the others
	live  bool // the results of the live turn are shortened as well
}

// trim shortens old tool results and arguments of a request that has this many
// tokens, without asking a model, until the goal of the occasion is reached or
// nothing is left to shorten. It does the least first: old outputs keep both
// ends, then little more than a pointer, then the latest ones are no longer
// spared. With gently it leaves it at the first.
//
// It never touches what people and the workflow said, the order of messages, or
// the live turn, unless the request was refused and could not be sent without
// that. No call loses its result. The same input gives the
// same output, which shares what has not changed with it; trimming the output
// again changes nothing.
func (c *Compactor) trim(o Occasion, messages []plan.Message, tokens int64, gently bool) ([]plan.Message, Outcome) {
	rep := Outcome{Before: tokens, After: tokens}
	steps := []trimming{
		{keep: c.Room.Keep, bytes: resultBytes},
		{keep: c.Room.Keep, bytes: stubBytes},
		{bytes: resultBytes},
		{bytes: stubBytes},
	}
	switch {
	case o == NotDue:
		return messages, rep
	case gently:
		steps = steps[:1]
	case o == DueTrim:
		steps = steps[:2]
	case o == DueNow:
		steps = append(steps, trimming{bytes: resultBytes, live: true}, trimming{bytes: stubBytes, live: true})
	}
	out, size := messages, c.Size(messages)
	for _, step := range steps {
		if step.live && c.Room.sendable(rep.After) {
			break
		}
		t := trimmer{step: step, verbatim: c.Verbatim}
		// Each step begins anew, so that a pointer never points to a stub.
		out = t.trim(messages)
		rep.After = tokens - size + c.Size(out)
		rep.Results, rep.Args, rep.Blobs = t.results, t.args, t.blobs
		if rep.After <= c.Room.goal(o) {
			break
		}
	}
	return out, rep
}

// large counts the results that a trim could shorten, the latest included.
func large(messages []plan.Message, verbatim func(tool string) bool) int {
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

// trimmer makes one pass over messages, from the latest to the first.
type trimmer struct {
	step     trimming
	verbatim func(string) bool
	spare    int // results that are still left alone

	results, args int
	blobs         []plan.Blob
}

func (t *trimmer) trim(messages []plan.Message) []plan.Message {
	out := slices.Clone(messages)
	live := liveTurn(messages)
	t.spare = t.step.keep
	for i, msg := range slices.Backward(messages) {
		if i >= live && !t.step.live {
			t.spare -= countResults(msg, t.verbatim)
			continue
		}
		out[i].Blocks = t.blocksOf(msg)
	}
	return out
}

// blocksOf shortens the blocks of a message. What comes back is a copy if
// anything changed.
func (t *trimmer) blocksOf(msg plan.Message) []plan.Block {
	blocks := msg.Blocks
	for j, b := range slices.Backward(msg.Blocks) {
		short := b
		switch {
		case isResult(b, t.verbatim):
			if t.spare--; t.spare < 0 {
				short = t.result(b)
			}
		case b.Type == plan.BlockToolCall && t.spare <= 0:
			short = t.call(b)
		}
		if short.Text == b.Text && short.Args == b.Args {
			continue
		}
		if &blocks[0] == &msg.Blocks[0] {
			blocks = slices.Clone(blocks)
		}
		blocks[j] = short
	}
	return blocks
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
func (t *trimmer) result(b plan.Block) plan.Block {
	if len(b.Text) <= t.step.bytes {
		return b
	}
	hash := b.Blob
	if hash == "" {
		hash = plan.NewBlob([]byte(b.Text)).Hash
	}
	const pointer = "\n[shortened to make room: %s left out; to see the whole, read path \"blob:%s\"]\n"
	head, tail := ends(b.Text, t.step.bytes-len(fmt.Sprintf(pointer, counted(len(b.Text), "byte"), hash)))
	text := head + fmt.Sprintf(pointer, counted(len(b.Text)-len(head)-len(tail), "byte"), hash) + tail
	if len(text) >= len(b.Text) {
		return b
	}
	if b.Blob == "" {
		t.keep(b.Text)
	}
	b.Text, b.Blob, b.Found = text, hash, nil
	t.results++
	return b
}

// keep makes a blob of text, once.
func (t *trimmer) keep(text string) {
	blob := plan.NewBlob([]byte(text))
	if !slices.ContainsFunc(t.blobs, func(b plan.Blob) bool { return b.Hash == blob.Hash }) {
		t.blobs = append(t.blobs, blob)
	}
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
func (t *trimmer) call(b plan.Block) plan.Block {
	if len(b.Args) < argsBytes {
		return b
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(b.Args), &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{"arguments": json.RawMessage(b.Args)}
	}
	hash := plan.NewBlob([]byte(b.Args)).Hash
	stubbed := false
	for key, value := range fields {
		if len(value) > valueBytes {
			stubbed = true
			fields[key] = quoted(
				fmt.Sprintf(
					"%s%s; all arguments: read path \"blob:%s\"]",
					stubMark,
					counted(len(value), "byte"),
					hash,
				),
			)
		}
	}
	args, err := plan.MarshalCompact(fields)
	if err != nil || !stubbed || len(args) >= len(b.Args) {
		return b
	}
	t.keep(b.Args)
	b.Args = string(args)
	t.args++
	return b
}

// CopiesStub reports whether a model copied a stub into new arguments, taking
// it for something that it wrote itself. Such a call must not run.
func CopiesStub(args json.RawMessage) bool {
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
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

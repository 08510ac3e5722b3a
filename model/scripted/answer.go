package scripted

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// pieceSize is how many bytes of text a streamed chunk carries at most, give
// or take a character; the chunks of a plain answer are plainSize bytes.
const (
	pieceSize = 24
	plainSize = 64
)

// created is the creation time of every answer, in Unix seconds: answers
// depend on nothing but the request and the scenario.
const created = 1_700_000_000

// answer is what the server is about to say.
type answer struct {
	tag, model string
	reasoning  string
	redacted   bool // the reasoning is not to be shown
	text       string
	refusal    string
	calls      []answerCall
	finish     string
	usage      Usage
	failed     bool // an error comes where the end would be, after the usage
}

type answerCall struct{ name, args string }

// makeAnswer turns a reply into the answer at a place, without its usage.
func makeAnswer(r *Reply, at place, model string) (*answer, error) {
	a := &answer{
		tag:       at.tag(),
		model:     model,
		reasoning: r.Reasoning,
		redacted:  r.Redacted,
		text:      r.Text,
		refusal:   r.Refusal,
		finish:    r.Finish,
	}
	for i := range r.Calls {
		args, err := r.Calls[i].arguments()
		if err != nil {
			return nil, err
		}
		a.calls = append(a.calls, answerCall{name: r.Calls[i].Name, args: args})
	}
	if a.finish == "" {
		a.finish = "stop"
		if len(a.calls) > 0 {
			a.finish = "tool_calls"
		}
	}
	return a, nil
}

// visibleReasoning is the reasoning that is to be seen.
func (a *answer) visibleReasoning() string {
	if a.redacted {
		return ""
	}
	return a.reasoning
}

// length is how many bytes the answer says.
func (a *answer) length() int {
	size := len(a.text) + len(a.reasoning) + len(a.refusal)
	for _, c := range a.calls {
		size += len(c.args) + len(c.name)
	}
	return size
}

// tokens guesses how many tokens so many bytes are.
func tokens(size int) int64 { return int64(size+3) / 4 }

// chunk is one piece of a response on its way out.
type chunk struct {
	data []byte
	args bool // it carries arguments of the last call
}

// sse is data as one server-sent event, with or without a name.
func sse(name, data string) []byte {
	lines := "data: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n"
	if name != "" {
		lines = "event: " + name + "\n" + lines
	}
	return []byte(lines)
}

// pieces cuts text into parts of about size bytes, never inside a character.
func pieces(text string, size int) []string {
	var out []string
	for len(text) > size {
		n := boundary(text, size)
		out = append(out, text[:n])
		text = text[n:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// argPieces cuts arguments into two parts at least, so that they can be cut in
// the middle.
func argPieces(args string) []string {
	return pieces(args, max(1, min(pieceSize, len(args)/2)))
}

// boundary is the first character boundary of text at or after n.
func boundary(text string, n int) int {
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}

// seal is what stands for a signature or for something encrypted: it follows
// from the parts, so that the server knows its own when it comes back.
func seal(parts ...string) string {
	sum := sha256.Sum256([]byte("scripted\x00" + strings.Join(parts, "\x00")))
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// sealed is a seal that names the answer it belongs to.
func sealed(kind, tag, text string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(tag)) + "." + seal(kind, tag, text)
}

// unseal is the answer that a seal names; ok says whether it is the server's
// own, for this text.
func unseal(kind, sealedText, text string) (tag string, ok bool) {
	name, _, dot := strings.Cut(sealedText, ".")
	raw, err := base64.RawStdEncoding.DecodeString(name)
	if err != nil || !dot {
		return "", false
	}
	return string(raw), sealedText == sealed(kind, string(raw), text)
}

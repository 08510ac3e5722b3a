package sandbox

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxOutput bounds what is kept of one command's output.
const maxOutput = 16 << 20

// capture keeps the head of what is written to it and counts the rest. It
// never refuses to write: a command must not fail because it says too much.
type capture struct {
	live    func([]byte)
	kept    []byte
	dropped int64
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
	if c.live != nil {
		c.live(p)
	}
	n := min(len(p), maxOutput-len(c.kept))
	c.kept = append(c.kept, p[:n]...)
	c.dropped += int64(len(p) - n)
	return len(p), nil
}

// bytes is the output, with a last line that owns up to what is missing.
func (c *capture) bytes() []byte {
	if c.dropped == 0 {
		return c.kept
	}
	return fmt.Appendf(c.kept, "\n… %d bytes dropped\n", c.dropped)
}

// onOwnLine is text with room for a line behind it, if one follows.
func onOwnLine(text []byte, next string) []byte {
	if next != "" && len(text) > 0 && text[len(text)-1] != '\n' {
		return append(text, '\n')
	}
	return text
}

// Cut makes text fit for a reader: valid UTF-8 without NUL, and at most limit
// bytes of it, three fifths from the head and two from the tail with a line
// in between that says how many bytes were left out. That line comes on top of
// limit. The second result reports whether anything was left out.
func Cut(text []byte, limit int) (string, bool) {
	limit = max(limit, 0)
	s := strings.ReplaceAll(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), "\x00", "")
	if len(s) <= limit {
		return s, false
	}
	head := limit * 3 / 5
	tail := len(s) - (limit - head)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	var b strings.Builder
	b.WriteString(s[:head])
	if head > 0 && s[head-1] != '\n' {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "[… %d bytes left out …]\n", tail-head)
	b.WriteString(s[tail:])
	return b.String(), true
}

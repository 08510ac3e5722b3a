package memory

import (
	"bytes"
	"encoding/json"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/jsonscan"
)

// cleaner replaces what must not leave in texts, and the names of blobs whose
// content has changed by that.
type cleaner struct {
	redact    func(string) string // nil changes nothing
	newHashes map[string]string   // old hash → new
	replaced  int                 // texts that were changed
}

func (c *cleaner) newHash(from, to string) {
	if c.newHashes == nil {
		c.newHashes = map[string]string{}
	}
	c.newHashes[from] = to
}

func (c *cleaner) text(s string) string {
	if to, ok := c.newHashes[s]; ok {
		return to
	}
	if c.redact == nil {
		return s
	}
	clean := c.redact(s)
	if clean != s {
		c.replaced++
	}
	return clean
}

// data cleans a content: each text in it if it is JSON, else all of it.
func (c *cleaner) data(data []byte) []byte {
	if json.Valid(data) {
		return c.json(data)
	}
	return []byte(c.text(string(data)))
}

// json cleans the strings in a valid JSON text. Everything else in it stays,
// byte for byte.
func (c *cleaner) json(data []byte) []byte {
	var out []byte
	text := string(data)
	last := 0
	for at := 0; at < len(data); {
		begin := bytes.IndexByte(data[at:], '"')
		if begin < 0 {
			break
		}
		begin += at
		at = endOfString(data, begin)
		scan := jsonscan.New(text[begin:at])
		s := scan.Text()
		if !scan.Done() && json.Unmarshal(data[begin:at], &s) != nil {
			continue
		}
		clean := c.text(s)
		if clean == s {
			continue
		}
		quoted, err := plan.MarshalCompact(clean)
		if err != nil {
			continue // a string can always be written
		}
		out = append(append(out, data[last:begin]...), quoted...)
		last = at
	}
	if last == 0 {
		return data
	}
	return append(out, data[last:]...)
}

// endOfString is behind the string that begins at data[at].
func endOfString(data []byte, at int) int {
	for i := at + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

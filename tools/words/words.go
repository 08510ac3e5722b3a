// Package words keeps which words texts hold, by what the texts hold, so that the
// files that mention a name are found without reading any.
//
// The words of a text are in lower case, each once, between line breaks. A [Store]
// keeps them in one file, which is only ever replaced as a whole: one that is damaged
// or of another version counts as empty, and of two processes that write it the last
// one wins. It must not know trees, languages or tools.
package words

import (
	"bytes"
	"strings"
)

// In reports whether a byte can be part of a word.
func In(b byte) bool { return folded(b) != 0 }

// folded is a byte as it stands in a word, 0 for one that ends it.
func folded(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '$', c >= 0x80:
		return c
	}
	return 0
}

// Extractor takes words out of one text after the other. Its zero value is ready.
type Extractor struct {
	table [256]byte // of folded
	out   []byte
	slots []slot // a hash table of what is in out
	text  uint32 // that the slots are about, counted
}

// slot is one word of out.
type slot struct {
	text       uint32
	hash       uint32
	start, end int32
}

const fewestSlots = 1 << 12

// Words are those of a text. What it returns is the caller's.
func (x *Extractor) Words(text []byte) []byte {
	if len(x.slots) == 0 {
		x.slots = make([]slot, fewestSlots)
		for b := range x.table {
			x.table[b] = folded(byte(b))
		}
	}
	x.text++
	x.out = append(x.out[:0], '\n')
	held := 0
	for i := 0; i < len(text); {
		c := x.table[text[i]]
		if c == 0 {
			i++
			continue
		}
		digit := c >= '0' && c <= '9'
		start, hash := len(x.out), uint32(2166136261)
		for ; c != 0; c = x.table[text[i]] {
			x.out = append(x.out, c)
			hash = (hash ^ uint32(c)) * 16777619
			if i++; i == len(text) {
				break
			}
		}
		if digit || !x.take(start, hash) {
			x.out = x.out[:start]
			continue
		}
		x.out = append(x.out, '\n')
		if held++; held*2 > len(x.slots) {
			x.grow()
		}
	}
	return bytes.Clone(x.out)
}

// take notes the word at the end of out, and reports whether it is a new one.
func (x *Extractor) take(start int, hash uint32) bool {
	word := x.out[start:]
	for at := hash; ; at++ {
		s := &x.slots[at&uint32(len(x.slots)-1)]
		if s.text != x.text {
			*s = slot{
				text:  x.text,
				hash:  hash,
				start: int32(start),
				end:   int32(len(x.out)),
			}
			return true
		}
		if s.hash == hash && bytes.Equal(x.out[s.start:s.end], word) {
			return false
		}
	}
}

// grow makes room for more words of this text.
func (x *Extractor) grow() {
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.text != x.text {
			continue
		}
		at := s.hash
		for x.slots[at&uint32(len(x.slots)-1)].text == x.text {
			at++
		}
		x.slots[at&uint32(len(x.slots)-1)] = s
	}
}

// Sought is a name as words are searched for it: a name with other characters in it
// is several.
type Sought [][]byte

// Seek prepares a search for texts that may hold a name. Whole says that its words
// stand there as they are; else they may be parts of longer ones.
func Seek(name string, whole bool) Sought {
	var out Sought
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r < 0x80 && !In(byte(r)) }) {
		word := make([]byte, 0, len(part)+2)
		for i := range len(part) {
			word = append(word, folded(part[i]))
		}
		if word[0] >= '0' && word[0] <= '9' {
			continue // no word begins so
		}
		if whole {
			word = append(append([]byte{'\n'}, word...), '\n')
		}
		out = append(out, word)
	}
	return out
}

// In reports whether a text with these words may hold what is sought.
func (s Sought) In(held []byte) bool {
	for _, word := range s {
		if !bytes.Contains(held, word) {
			return false
		}
	}
	return true
}

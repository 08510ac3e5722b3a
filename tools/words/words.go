// Package words keeps which words texts hold, by what the texts hold, so that the
// files that mention a name are found without reading any.
//
// The words of a text are in lower case, each once, between line breaks; behind them an
// index has the names that look as if they were defined or inherited from there. A [Store]
// keeps them in one file, which is only ever replaced as a whole: one that is damaged
// or of another version counts as empty, and of two processes that write it the last
// one wins. It must not know trees, languages or tools.
package words

import (
	"bytes"
	"strings"
)

// inWord reports whether a byte can be part of a word.
func inWord(b byte) bool { return folded(b) != 0 }

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
	words set
	names set
}

// set collects words of one text.
type set struct {
	out   []byte
	slots []slot // a hash table of what is in out
	held  int
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
	if x.table['a'] == 0 {
		for b := range x.table {
			x.table[b] = folded(byte(b))
		}
	}
	x.words.begin()
	x.names.begin()
	comment, class := false, false
	for i := 0; i < len(text); {
		c := x.table[text[i]]
		if c == 0 {
			comment = inComment(comment, text[i:])
			class = class && text[i] != '\n'
			i++
			continue
		}
		digit := c >= '0' && c <= '9'
		from, start, hash := i, len(x.words.out), firstHash
		for ; c != 0; c = x.table[text[i]] {
			x.words.out = append(x.words.out, c)
			hash = (hash ^ uint32(c)) * nextHash
			if i++; i == len(text) {
				break
			}
		}
		switch {
		case digit:
			x.words.out = x.words.out[:start]
			continue
		case x.words.take(start, hash):
			x.words.add()
		}
		if !comment && (class || definesLikely(text, from, i)) {
			x.names.name(text[from:i])
		}
		class = class || beginsType(text[from:i])
	}
	return bytes.Clone(x.words.out)
}

// inComment reports whether a comment that ends with its line goes on, or begins.
func inComment(inside bool, text []byte) bool {
	switch text[0] {
	case '\n':
		return false
	case '/':
		return inside || len(text) > 1 && text[1] == '/'
	case '#':
		return inside || len(text) > 1 && text[1] == ' '
	}
	return inside
}

// Index is the words of a text with, behind them, the names that look as if they were
// defined in it, as they are written. What it returns is the caller's.
func (x *Extractor) Index(text []byte) []byte {
	held := x.Words(text)
	return append(append(held, behindWords), x.names.out...)
}

// behindWords stands between words and names, in neither of which it can be.
const behindWords = 0

// Defined are the names of an index that look as if the text defined them, each between
// line breaks and as it is written. It is a guess, and nil where none was made.
func Defined(held []byte) []byte {
	if i := bytes.IndexByte(held, behindWords); i >= 0 {
		return held[i+1:]
	}
	return nil
}

const firstHash, nextHash = uint32(2166136261), uint32(16777619)

// begin empties the set for another text.
func (s *set) begin() {
	if len(s.slots) == 0 {
		s.slots = make([]slot, fewestSlots)
	}
	s.text++
	s.held = 0
	s.out = append(s.out[:0], '\n')
}

// name adds a name.
func (s *set) name(name []byte) {
	start, hash := len(s.out), firstHash
	for _, c := range name {
		hash = (hash ^ uint32(c)) * nextHash
	}
	s.out = append(s.out, name...)
	if s.take(start, hash) {
		s.add()
	}
}

// add ends a word that is a new one.
func (s *set) add() {
	s.out = append(s.out, '\n')
	if s.held++; s.held*2 > len(s.slots) {
		s.grow()
	}
}

// take notes the word at the end of out, and reports whether it is a new one. Another
// is taken off.
func (s *set) take(start int, hash uint32) bool {
	word := s.out[start:]
	for at := hash; ; at++ {
		in := &s.slots[at&uint32(len(s.slots)-1)]
		if in.text != s.text {
			*in = slot{
				text:  s.text,
				hash:  hash,
				start: int32(start),
				end:   int32(len(s.out)),
			}
			return true
		}
		if in.hash == hash && bytes.Equal(s.out[in.start:in.end], word) {
			s.out = s.out[:start]
			return false
		}
	}
}

// grow makes room for more words of this text.
func (s *set) grow() {
	old := s.slots
	s.slots = make([]slot, 2*len(old))
	for _, in := range old {
		if in.text != s.text {
			continue
		}
		at := in.hash
		for s.slots[at&uint32(len(s.slots)-1)].text == s.text {
			at++
		}
		s.slots[at&uint32(len(s.slots)-1)] = in
	}
}

// definesLikely reports whether a word stands in a text as names do that are defined or
// inherited from there: behind another word or a type, before what is assigned to it, as
// the head of a method, or alone in its line. It is for the order in which files are
// parsed and may be wrong.
func definesLikely(text []byte, start, end int) bool {
	last := start - 1
	for last >= 0 && (text[last] == ' ' || text[last] == '\t' || text[last] == '*' || text[last] == '&') {
		last--
	}
	next := end
	for next < len(text) && (text[next] == ' ' || text[next] == '\t') {
		next++
	}
	at := func(i int) byte {
		if i < 0 || i >= len(text) {
			return '\n'
		}
		return text[i]
	}
	switch at(next) {
	case ':':
		return at(next+1) != ':'
	case '=':
		return at(next+1) != '='
	}
	switch b := at(last); b {
	case ')', ']', '\'', '"', '`', '#':
		return true
	case '>':
		return at(last-1) != '=' // of a function without a name
	case ':':
		return at(last-1) == ':'
	case '\n', ';', '{', '}':
		if last < 0 {
			return true
		}
		return headsMember(at(next), next > end, text[next:])
	case '.':
		return at(next) == '\n' && aloneInLine(text[:last])
	default:
		word := lastWord(text[:last+1])
		if string(word) == "new" {
			return opensBody(text[next:]) // of a class without a name
		}
		return inWord(b) && !endsExpression(word)
	}
}

// headsMember reports whether a word at the beginning of a line is a member of a type: a
// method with its body, a field before its type, or what is embedded, alone in its line.
func headsMember(next byte, spaced bool, rest []byte) bool {
	switch next {
	case '(':
		return opensBody(rest)
	case '\n', '\r':
		return true
	case '*', '[':
		return spaced
	}
	return spaced && inWord(next)
}

// beginsType reports whether what a type inherits from stands in a line behind a word.
func beginsType(word []byte) bool {
	switch string(word) {
	case "class", "interface", "trait", "struct", "record", "enum", "impl":
		return true
	}
	return false
}

// aloneInLine reports whether nothing but dotted names stands in the line before a dot.
func aloneInLine(before []byte) bool {
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	for _, b := range bytes.TrimLeft(line, " \t*") {
		if !inWord(b) && b != '.' {
			return false
		}
	}
	return true
}

// opensBody reports whether the line ends with a brace that opens.
func opensBody(rest []byte) bool {
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte("{"))
}

// lastWord is the word that a text ends with.
func lastWord(text []byte) []byte {
	start := len(text)
	for start > 0 && inWord(text[start-1]) {
		start--
	}
	return text[start:]
}

// endsExpression reports whether a value stands behind a word.
func endsExpression(word []byte) bool {
	switch string(word) {
	case "return", "await", "throw", "else", "case", "in", "of", "not", "and", "or", "yield", "go", "defer",
		"if", "is", "typeof", "range", "assert", "raise", "lambda", "elif", "while", "do", "delete", "err":
		return true
	}
	return false
}

// Sought is a name as words are searched for it: a name with other characters in it
// is several.
type Sought [][]byte

// Seek prepares a search for texts that may hold a name. Whole says that its words
// stand there as they are; else they may be parts of longer ones.
func Seek(name string, whole bool) Sought {
	var out Sought
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r < 0x80 && !inWord(byte(r)) }) {
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

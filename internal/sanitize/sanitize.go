// Package sanitize makes text from repositories, tools and models safe to show.
//
// What may be shown is what prints; whatever acts instead, or cannot be seen, is
// taken out or named. The package must not know where a text is shown, or how a
// line looks.
package sanitize

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// longestControlString bounds the search for the end of an OSC or DCS string;
// one that is longer is taken for text that follows a stray ESC.
const longestControlString = 4096

// Text makes text of several lines safe to show. Whole escape sequences vanish,
// as they do on a terminal that obeys them, and every other character that does
// not print is shown by its name. The result is valid UTF-8 whose only control
// characters are newline and tab. Line ends of any kind become newlines.
func Text(s string) string {
	if isPlainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	clean(&b, s, true, name)
	return b.String()
}

// Line is Text for a place that holds one line: newlines and tabs become spaces.
func Line(s string) string {
	s = Text(s)
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

// JSON writes characters that do not print as escapes, which mean the same to
// whatever reads the document and nothing to a terminal.
func JSON(document []byte) []byte {
	if isPlainASCII(document) {
		return document
	}
	var b strings.Builder
	clean(&b, string(document), false, func(b *strings.Builder, r rune) {
		if r <= 0xffff {
			fmt.Fprintf(b, `\u%04x`, r)
			return
		}
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
	})
	return []byte(b.String())
}

// HTML is Text for a page that is written already.
func HTML(page string) string {
	if isPlainASCII(page) {
		return page
	}
	var b strings.Builder
	clean(&b, page, true, func(b *strings.Builder, r rune) {
		var named strings.Builder
		name(&named, r)
		b.WriteString(html.EscapeString(named.String()))
	})
	return b.String()
}

// IsInert reports whether a text is safe to show as it is, bytes that are not
// UTF-8 and no control characters either aside, and line ends with a CR.
func IsInert(s string) bool {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if isPlainASCII(s) {
		return true
	}
	inert := true
	var before rune
	for i := 0; i < len(s) && inert; {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			inert = s[i] >= 0xa0
		case r != '\n' && r != '\t':
			inert = prints(r, before, s[i+size:])
		}
		before, i = r, i+size
	}
	return inert
}

func isPlainASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// clean writes s with what does not print written by as. With sequences it leaves
// out escape sequences and makes newlines of line ends.
func clean(b *strings.Builder, s string, sequences bool, as func(*strings.Builder, rune)) {
	var before rune
	for i := 0; i < len(s); {
		if n := escapeSequence(s[i:]); sequences && n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if sequences && r == '\r' {
			if i < len(s) && s[i] == '\n' {
				continue
			}
			r = '\n'
		}
		if r == '\n' || r == '\t' || prints(r, before, s[i:]) {
			b.WriteRune(r) // an invalid byte was decoded as U+FFFD
			before = r
			continue
		}
		as(b, r)
		before = 0
	}
}

// name writes what a character is called.
func name(b *strings.Builder, r rune) {
	if r < 0x20 || r == 0x7f {
		b.WriteByte('^')
		b.WriteByte(byte(r) ^ 0x40)
		return
	}
	fmt.Fprintf(b, "<U+%04X>", r)
}

const (
	nonJoiner, joiner = 0x200c, 0x200d
	emojiStyle        = 0xfe0f
)

// prints reports whether a character can be seen where it stands. Joiners and the
// choice of a form print nothing: they count behind what they belong to alone.
func prints(r, before rune, rest string) bool {
	if r >= 0x20 && r < 0x7f {
		return true
	}
	switch {
	case r == nonJoiner || r == joiner:
		next, size := utf8.DecodeRuneInString(rest)
		return size > 0 && joins(before) && joins(next)
	case unicode.Is(unicode.Variation_Selector, r):
		return hasForms(before, r)
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == brailleBlank:
		return false
	}
	return unicode.IsGraphic(r)
}

// brailleBlank is a symbol without a mark.
const brailleBlank = 0x2800

// joins reports whether a character may be joined to another: letters of scripts
// that join them, the marks on those, and emoji.
func joins(r rune) bool {
	return r > unicode.MaxLatin1 && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) &&
		(r == emojiStyle || unicode.In(r, unicode.L, unicode.M, unicode.So, unicode.Sk)) &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// hasForms reports whether a character has forms that a selector chooses between.
// Behind any other one, selectors could carry a text that is not seen.
func hasForms(base, selector rune) bool {
	switch {
	case selector > 0xffff:
		return unicode.Is(unicode.Han, base)
	case selector < 0xfe00:
		return unicode.Is(unicode.Mongolian, base) && !unicode.Is(unicode.Variation_Selector, base)
	case selector < emojiStyle-1:
		return unicode.In(base, unicode.Han, unicode.Sm, unicode.Myanmar, unicode.Phags_Pa)
	}
	return unicode.In(base, unicode.Nd, unicode.S, unicode.Po) || base == '〰' || base == '㊗' || base == '㊙'
}

// escapeSequence returns the length of the complete escape sequence that s
// starts with, or 0.
func escapeSequence(s string) int {
	intro, n := sequenceIntro(s)
	switch {
	case n == 0:
		return 0
	case intro == '[':
		return csiSequence(s, n)
	case strings.IndexByte("]PX^_", intro) >= 0:
		return controlString(s, n)
	}
	// ESC, intermediate bytes, one final byte: resets, character sets.
	end := skipBytes(s, 1, 0x20, 0x2f)
	if end < len(s) && s[end] >= 0x30 && s[end] <= 0x7e {
		return end + 1
	}
	return 0
}

// sequenceIntro returns the byte that says which kind of sequence s starts
// with, and the length up to it: ESC and a byte, or one C1 control.
func sequenceIntro(s string) (byte, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if s[0] == 0x1b {
		return s[1], 2
	}
	if s[0] != 0xc2 { // the first byte of every C1 control in UTF-8
		return 0, 0
	}
	switch intro := s[1] - 0x40; intro {
	case '[', ']', 'P', 'X', '^', '_':
		return intro, 2
	}
	return 0, 0
}

func csiSequence(s string, from int) int {
	end := skipBytes(s, from, 0x30, 0x3f)
	end = skipBytes(s, end, 0x20, 0x2f)
	if end < len(s) && s[end] >= 0x40 && s[end] <= 0x7e {
		return end + 1
	}
	return 0
}

// controlString returns the length of a string sequence that ends on its own
// line. One without an end would hide all that follows, so it is no sequence;
// nor is one with another control character in it.
func controlString(s string, from int) int {
	for i := from; i < min(len(s), longestControlString); i++ {
		switch rest := s[i:]; {
		case rest[0] == 0x07:
			return i + 1
		case strings.HasPrefix(rest, "\x1b\\"), strings.HasPrefix(rest, "\u009c"):
			return i + 2
		case rest[0] < 0x20, rest[0] == 0xc2 && len(rest) > 1 && rest[1] < 0xa0:
			return 0
		}
	}
	return 0
}

func skipBytes(s string, from int, low, high byte) int {
	for from < len(s) && s[from] >= low && s[from] <= high {
		from++
	}
	return from
}

package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What models, tools, repositories and requests say is data. Before it reaches
// a terminal, whatever could move the cursor, change the title, reorder the
// Text or hide a part of it is taken out: whole escape sequences vanish, as
// they do on a terminal that obeys them, and every other control character is
// shown by its name.

// longestControlString bounds the search for the end of an OSC or DCS string;
// one that is longer is taken for text that follows a stray ESC.
const longestControlString = 4096

// SafeText makes text of several lines safe to show. The result is valid
// UTF-8 whose only control characters are newline and tab. Line ends of any
// kind become newlines.
func SafeText(s string) string {
	if isPlainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeSequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if r == '\r' {
			if i < len(s) && s[i] == '\n' {
				continue
			}
			r = '\n'
		}
		writeVisible(&b, r)
	}
	return b.String()
}

// SafeLine is sanitizeText for a place that holds one line: newlines and
// tabs become spaces.
func SafeLine(s string) string {
	s = SafeText(s)
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

// sanitizeASCII also replaces what is not ASCII: in a locale that is not
// UTF-8, the bytes of a harmless letter can be control characters.
func sanitizeASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

func isPlainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// writeVisible writes r, or its name when it would act instead of show.
func writeVisible(b *strings.Builder, r rune) {
	switch {
	case r == '\n' || r == '\t':
		b.WriteRune(r)
	case r < 0x20 || r == 0x7f:
		b.WriteByte('^')
		b.WriteByte(byte(r) ^ 0x40)
	case actsUnseen(r):
		fmt.Fprintf(b, "<U+%04X>", r)
	default:
		b.WriteRune(r) // an invalid byte was decoded as U+FFFD
	}
}

// actsUnseen reports whether r is a C1 control, a line or paragraph separator,
// or a format character: bidirectional overrides, invisible tags, zero-width
// spaces. The two joiners stay, because scripts and emoji need them.
func actsUnseen(r rune) bool {
	const nonJoiner, joiner = 0x200c, 0x200d
	if r == nonJoiner || r == joiner {
		return false
	}
	return (r >= 0x80 && r <= 0x9f) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
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

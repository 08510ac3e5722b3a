package sanitize_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan/internal/sanitize"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"text stays":            {"a\n\tb é 漢 ✓", "a\n\tb é 漢 ✓"},
		"colours vanish":        {"\x1b[1;31mred\x1b[0m", "red"},
		"cursor moves vanish":   {"a\x1b[2Jb\x1b[10;10Hc\x1b[?25l", "abc"},
		"C1 CSI vanishes":       {"a\u009b31mb", "ab"},
		"a title vanishes":      {"a\x1b]0;owned\x07b\x1b]2;x\x1b\\c\u009d0;y\u009cd", "abcd"},
		"a link keeps its text": {"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		"DCS and APC vanish":    {"a\x1bPq#0\x1b\\b\x1b_x\x1b\\c", "abc"},
		"charset and reset":     {"a\x1b(0b\x1bcc", "abc"},
		"an endless OSC shows":  {"a\x1b]0;text\nnext", "a^[]0;text\nnext"},
		"an OSC inside an OSC":  {"\x1b]0;a\x1b]0;b\x07c", "^[]0;ac"},
		"a lone ESC shows":      {"a\x1b", "a^["},
		"a cut CSI shows":       {"a\x1b[31", "a^[[31"},
		"nested sequences":      {"\x1b\x1b[31m[2J", "^[[2J"},
		"controls show":         {"\x00\x07\x08\x7f", "^@^G^H^?"},
		"C1 controls show":      {"\u0085\u0080", "<U+0085><U+0080>"},
		"line ends":             {"a\r\nb\rc\r", "a\nb\nc\n"},
		"bidi overrides show":   {"a\u202eb\u2066c", "a<U+202E>b<U+2066>c"},
		"hidden characters":     {"a\u200bb\ufeffc\U000e0041d\u2028e", "a<U+200B>b<U+FEFF>c<U+E0041>d<U+2028>e"},
		"joiners stay":          {"👩\u200d🔬 می\u200cخواهم", "👩\u200d🔬 می\u200cخواهم"},
		"a joiner of nothing":   {"漢\u200d", "漢<U+200D>"},
		"bytes that are broken": {"a\xffb\x9b31mc", "a\ufffdb\ufffd31mc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sanitize.Text(test.in); got != test.want {
				t.Errorf("Text(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	if got, want := sanitize.Line("a\n\tb\rc"), "a  b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCharactersThatDoNotPrint: whatever acts on a terminal or is not seen does not
// come through, between letters and at either end; nor does any other character
// that is no mark on paper.
func TestCharactersThatDoNotPrint(t *testing.T) {
	t.Parallel()
	var hostile []rune
	for _, span := range [][2]rune{
		{0, 8},
		{0xb, 0xc},
		{0xe, 0x1f},
		{0x7f, 0x9f},
		{0xad, 0xad},
		{0x34f, 0x34f},
		{0x61c, 0x61c},
		{0x115f, 0x1160},
		{0x180b, 0x180f},
		{0x200b, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0x2800, 0x2800},
		{0x3164, 0x3164},
		{0xe000, 0xe001},
		{0xfeff, 0xfeff},
		{0xffa0, 0xffa0},
		{0xfff9, 0xfffb},
		{0xfffe, 0xffff},
		{0x1d173, 0x1d17a},
		{0xe0000, 0xe007f},
		{0xe0100, 0xe01ef},
		{0xf0000, 0xf0001},
		{0x10fffe, 0x10ffff},
	} {
		for r := span[0]; r <= span[1]; r++ {
			hostile = append(hostile, r)
		}
	}
	for _, r := range hostile {
		for _, text := range []string{"a" + string(r) + "b", string(r), string(r) + string(r) + "é", "漢 " + string(r)} {
			for name, got := range map[string]string{"Text": sanitize.Text(text), "Line": sanitize.Line(text), "HTML": sanitize.HTML(text)} {
				if strings.ContainsRune(got, r) {
					t.Errorf("%s lets U+%04X through in %q: %q", name, r, text, got)
				}
			}
			if sanitize.IsInert(text) {
				t.Errorf("%q is said to be inert", text)
			}
		}
	}
	if got := sanitize.Text("a\xed\xa0\x80b"); !utf8.ValidString(got) || strings.Contains(got, "\xed") { // a lone surrogate
		t.Errorf("%q", got)
	}
	if got := sanitize.Text(strings.Repeat("\ufe0f", 3) + "☺" + strings.Repeat("\ufe0f", 3)); strings.Count(got, "\ufe0f") != 1 {
		t.Errorf("selectors: %q", got)
	}
	const page = "<p>\u202e\u200b</p>"
	if got := sanitize.HTML(page); got != "<p>&lt;U+202E&gt;&lt;U+200B&gt;</p>" {
		t.Errorf("a page: %q", got)
	}
	for _, text := range []string{
		"häuser, Ελληνικά, русский, 日本語, हिन्दी, ไทย, עברית", "e\u0301", "1\ufe0f\u20e3 🏳\ufe0f\u200d🌈 葛\U000e0100", "a\u00a0b", "✓ → ┌─┐ ⠋ €",
	} {
		if got := sanitize.Text(text); got != text || !sanitize.IsInert(text) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if !sanitize.IsInert("a\r\nb\xe9\n") || sanitize.IsInert("a\rb") || sanitize.IsInert("\x9b31m") {
		t.Error("line ends with a CR and letters of other encodings are inert, a lone CR and controls are not")
	}
}

// unsafeIn returns what of s is no mark on paper; s may hold newlines and tabs,
// and joiners where they join.
func unsafeIn(s string) string {
	for _, r := range s {
		if r != '\n' && r != '\t' && r != 0x200c && r != 0x200d && !unicode.IsGraphic(r) {
			return fmt.Sprintf("U+%04X", r)
		}
	}
	return ""
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"plain", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "\x1b]0;t", "\x1bP\x1b\\", "\u009b1m", "\xc2", "\xff\x9b", "a\r\nb\r", "\u202e\u2066",
		"\x1b\x1b[m[31m", "\x1b[\x1b[mm", strings.Repeat("\x1b]", 50),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, line := sanitize.Text(s), sanitize.Line(s)
		if bad := unsafeIn(text); bad != "" {
			t.Errorf("Text(%q) = %q has %q", s, text, bad)
		}
		if strings.ContainsAny(line, "\n\t") || unsafeIn(line) != "" {
			t.Errorf("Line(%q) = %q", s, line)
		}
		if again := sanitize.Text(text); again != text {
			t.Errorf("not stable: %q becomes %q", text, again)
		}
		if !sanitize.IsInert(text) {
			t.Errorf("Text(%q) = %q is not inert", s, text)
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := errors.Join(json.Unmarshal(quoted, &before), json.Unmarshal(sanitize.JSON(quoted), &after)); err != nil || before != after {
			t.Errorf("as JSON %q becomes %q: %v", before, after, err)
		}
		if bad := unsafeIn(string(sanitize.JSON(quoted))); bad != "" {
			t.Errorf("JSON(%q) has %q", quoted, bad)
		}
	})
}

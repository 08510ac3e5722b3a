package draw

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// TestWrap: lines are broken at blanks and nowhere else, keep their indentation, and
// lose nothing.
func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two", 10, "one two"},
		{"one two three", 8, "one two\nthree"},
		{"cut -10.00 off", 6, "cut\n-10.00\noff"},
		{"  in here it goes", 10, "  in here\n  it goes"},
		{"abcdefghij", 4, "abcd\nefgh\nij"},
		{"日本語 日本", 6, "日本語\n日本"},
	} {
		if got := strings.Join(wrap(c.text, c.width), "\n"); got != c.want {
			t.Errorf("%q in %d: %q", c.text, c.width, got)
		}
	}
	if got := wrap("\x1b[1mone two\x1b[m three", 5); len(got) != 3 || !strings.HasPrefix(got[1], "\x1b[1m") {
		t.Errorf("a colour ends with the line: %q", got)
	}
}

// TestMarkdown: what models write, as it is read.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	got := ansi.Strip(strings.Join(NewTheme().Markdown(strings.Join([]string{
		"# A title", "", "A paragraph with **bold**, *soft*, `co de` and snake_case_name,", "on two lines.",
		"- one", "  - under it, and this is long enough to be broken", "1. first", "- [x] done", "- [ ] open",
		"> said", "", "```go", "func a() {", "\treturn", "}", "```", "| a | bb |", "|---|---|", "| ccc | d |",
		"[name](http://x.y) 2*3*4 unclosed **bold", "---",
	}, "\n"), 40), "\n"))
	const want = `A title

A paragraph with bold, soft, co de and
snake_case_name, on two lines.
• one
  • under it, and this is long enough to
    be broken
1. first
☑ done
☐ open
│ said

│ func a() {
│     return
│ }
a    bb
───────
ccc  d
name (http://x.y) 2*3*4 unclosed **bold
────────────────────────────────────────`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestNothingIsTooWide: whatever a text is, no line of it is wider than it may be.
func TestNothingIsTooWide(t *testing.T) {
	t.Parallel()
	theme := NewTheme()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(12, 60).Draw(t, "width")
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{
			"a", "word", " ", "\n", "\t", "**", "`", "_", "[x](y)", "# ", "- ", "> ", "```", "|", "|-|", "日本", "é", "1. ", "+", "@@",
		})).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		for _, lines := range [][]string{theme.Markdown(text, width), theme.Diff(text, width), theme.Wrapped(text, width, 0)} {
			for _, line := range lines {
				if Width(line) > width && Width(strings.TrimSpace(line)) > width {
					t.Fatalf("%q has a line of %d columns for %d: %q", text, Width(line), width, line)
				}
			}
		}
	})
}

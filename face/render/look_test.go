package render

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What terminals draw, not how many bytes or letters there are.
func TestCellWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":                          0,
		"plain":                     5,
		"é":                         1,
		"e\u0301":                   1, // a letter and a mark
		"a\u0301\u0302\u0303\u0304": 1,
		"\u200b\u2060\ufeff":        0,
		"漢字":                        4,
		"한글":                        4,
		"\u1112\u1161\u11ab":        2, // 한 in parts
		"ひらがな":                      8,
		"ｶﾅ":                        2, // half
		"Ａ":                         2, // full
		"\u3000":                    2,
		"α§“”①±":                    6, // ambiguous
		"─│┌█·…→✓✗⊘↻■○•": 14,
		"⠋⠙⠹":                    3,
		"☀":                      1,
		"☀\ufe0f":                2, // as a picture
		"☺\ufe0e":                1, // as a sign
		"❌✅":                     4,
		"👍🏽":                     2,
		"👩\u200d🔬":               2,
		"👨\u200d👩\u200d👧\u200d👦": 2,
		"🏳\ufe0f\u200d🌈":         2,
		"🇩🇪🇯🇵":                   4,
		"1\ufe0f\u20e3":          2,
		"ก็":                     1,
	} {
		if got := cellWidth(text); got != want {
			t.Errorf("%q (%+q) takes %d columns, want %d", text, text, got, want)
		}
	}
}

func TestCutTo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		width   int
		keepEnd bool
		want    string
	}{
		"fits":                        {"漢字", 4, false, "漢字"},
		"nothing fits":                {"漢字", 0, true, ""},
		"too narrow for a mark":       {"漢字", 3, false, "漢"},
		"the same at the start":       {"漢字", 3, true, "字"},
		"half a character is none":    {"漢字漢字", 6, false, "漢字…"},
		"nor at the start":            {"漢字漢字", 6, true, "…漢字"},
		"a cluster stays whole":       {"abc👩\u200d🔬def", 5, false, "abc…"},
		"so it does at the start":     {"abcd👩\u200d🔬def", 5, true, "…def"},
		"a mark stays at its letter":  {"abcde\u0301fgh", 6, false, "abcde\u0301…"},
		"and is cut off with it":      {"abcde\u0301fgh", 4, true, "…fgh"},
		"a mark that is not cut away": {"abcde\u0301fgh", 5, true, "…e\u0301fgh"},
	}
	l := NewLook(Options{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := l.CutTo(test.text, test.width, test.keepEnd); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestWrapRows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in    string
		width int
		want  []string
	}{
		"nothing":           {"", 10, []string{""}},
		"fits":              {"ten chars.", 10, []string{"ten chars."}},
		"at a space":        {"one two three", 8, []string{"one two", "three"}},
		"exactly a space":   {"one two three", 7, []string{"one two", "three"}},
		"no space":          {"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		"indentation stays": {"  one two three", 8, []string{"  one", "  two", "  three"}},
		"too much of it":    {"      one", 8, []string{"one"}},
		"no room beside it": {" 漢字", 2, []string{"漢", "字"}},
		"wide characters":   {"漢字漢字", 5, []string{"漢字", "漢字"}},
		"wider than a row":  {"漢字", 1, []string{"漢", "字"}},
		"blanks at the end": {"abc    ", 3, []string{"abc", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, wrapRows(test.in, test.width)); diff != "" {
				t.Errorf("wrapRows(%q, %d) (-want +got):\n%s", test.in, test.width, diff)
			}
		})
	}
}

func TestWrapRowsBoundsMarksWithoutWidth(t *testing.T) {
	t.Parallel()
	rows := wrapRows("a"+strings.Repeat("\u0301", 100_000), 20)
	if len(rows) < 100 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		if len(row) > 16*20 || !utf8.ValidString(row) {
			t.Fatalf("a row of %d bytes", len(row))
		}
	}
}

// Text that comes in pieces is laid out as if it had come at once.
func TestTextFlowDoesNotDependOnPieces(t *testing.T) {
	t.Parallel()
	alphabet := rapid.SampledFrom([]rune("abc  \n\r\t漢é-👩\u200d"))
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOfN(alphabet, 0, 300).Draw(t, "text")
		width := rapid.IntRange(20, 60).Draw(t, "width")
		open := func() *textFlow { return newNarrator(Options{Width: fixedWidth(width)}).flow("") }
		flow := open()
		want := append(flow.add(string(runes)), flow.end()...)
		flow = open()
		var got []string
		for rest := runes; len(rest) > 0; {
			n := min(rapid.IntRange(1, 9).Draw(t, "size"), len(rest))
			got = append(got, flow.add(string(rest[:n]))...)
			rest = rest[n:]
		}
		got = append(got, flow.end()...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("pieces make a difference (-at once +in pieces):\n%s", diff)
		}
	})
}

// Nothing but white space is lost, and no row is too wide.
func TestTextFlowKeepsTheText(t *testing.T) {
	t.Parallel()
	text := rapid.StringOfN(rapid.SampledFrom([]rune("abc  \n\r\t漢é\u0301👩\u200d🔬\x1b\u202e-")), 0, 300, -1)
	rapid.Check(t, func(t *rapid.T) {
		text, width := text.Draw(t, "text"), rapid.IntRange(20, 60).Draw(t, "width")
		flow := newNarrator(Options{Width: fixedWidth(width)}).flow("")
		rows := append(flow.add(text), flow.end()...)
		if got, want := squeeze(strings.Join(rows, "")), squeeze(SafeText(text)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		for _, row := range rows {
			if cellWidth(row) > width {
				t.Fatalf("%q is wider than %d", row, width)
			}
		}
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

func TestFillFitsItsWidth(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.SampledFrom([]rune("ab c漢字é\u0301·👩\x1b\n")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		l := NewLook(Options{ASCII: rapid.Bool().Draw(t, "ascii")})
		width := rapid.IntRange(0, 60).Draw(t, "width")
		line := l.fill(width, []Span{{Text: word.Draw(t, "head")}},
			Span{Text: word.Draw(t, "flex"), keepEnd: rapid.Bool().Draw(t, "keep")},
			[]Span{{Text: word.Draw(t, "tail")}, {Text: word.Draw(t, "tail")}})
		if got := cellWidth(line); got > width {
			t.Fatalf("%q takes %d columns of %d", line, got, width)
		}
	})
}

func TestFill(t *testing.T) {
	t.Parallel()
	l := NewLook(Options{})
	head, tail := []Span{{Text: "> "}}, []Span{{Text: "  note"}, {Text: "  1s"}}
	tests := map[string]struct {
		width int
		flex  Span
		want  string
	}{
		"room":               {30, Span{Text: "some/path.go"}, "> some/path.go        note  1s"},
		"just enough":        {24, Span{Text: "some/path.go"}, "> some/path.go  note  1s"},
		"cut at the end":     {26, Span{Text: "some/longer/path.go"}, "> some/longer/p…  note  1s"},
		"cut at the start":   {26, Span{Text: "some/longer/path.go", keepEnd: true}, "> …onger/path.go  note  1s"},
		"the time goes":      {21, Span{Text: "some/path.go"}, "> some/path.go   note"},
		"the note goes":      {16, Span{Text: "some/path.go"}, "> some/path.go"},
		"nothing but a head": {1, Span{Text: "some/path.go"}, ">"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := l.fill(test.width, head, test.flex, tail); got != test.want {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
}

func TestTellingArgument(t *testing.T) {
	t.Parallel()
	patch := "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Delete File: b.go\n*** Add File: c.go\n+x\n*** End Patch\n"
	patched, err := json.Marshal(map[string]string{"patch": patch})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ name, args, want string }{
		"a whole file":      {"read", `{"path":"a.go"}`, "a.go"},
		"lines":             {"read", `{"path":"a.go","offset":10,"limit":50}`, "a.go:10-59"},
		"from a line on":    {"read", `{"path":"a.go","offset":10}`, "a.go:10-"},
		"the first lines":   {"read", `{"path":"a.go","limit":5}`, "a.go:1-5"},
		"a search":          {"grep", `{"pattern":"x.*","path":"cmd","glob":"*.go"}`, "x.* in cmd *.go"},
		"everywhere":        {"grep", `{"pattern":"x.*"}`, "x.*"},
		"a glob":            {"glob", `{"pattern":"**/*.md"}`, "**/*.md"},
		"a command":         {"bash", `{"command":"\n cd x\ngo test"}`, "cd x …"},
		"files of a patch":  {"apply_patch", string(patched), "a.go b.go c.go"},
		"the root":          {"list_dir", `{}`, "."},
		"a symbol":          {"symbols", `{"path":"a.go","query":"Run"}`, "a.go Run"},
		"a fact":            {"remember", `{"text":"tests need a tag"}`, "tests need a tag"},
		"tokens":            {"prune", `{"tokens":4000}`, "4000 tokens"},
		"an unknown tool":   {"fetch", `{"depth":1,"url":"http://x"}`, "http://x"},
		"unknown arguments": {"fetch", `{"depth":1}`, `{"depth":1}`},
		"wrong types":       {"read", `{"path":7}`, ""},
		"not an object":     {"bash", `"go test"`, `"go test"`},
		"no arguments":      {"fetch", `{}`, ""},
	}
	l := NewLook(Options{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := l.tellingArgument(test.name, json.RawMessage(test.args)).Text; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNumbersAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		Duration(0):                             "0ms",
		Duration(999 * time.Millisecond):        "999ms",
		Duration(8250 * time.Millisecond):       "8.2s",
		Duration(59990 * time.Millisecond):      "59.9s",
		Duration(3*time.Minute + 4*time.Second): "3m04s",
		Duration(2*time.Hour + 3*time.Minute):   "2h03m",
		Duration(7869*time.Hour + time.Minute):  "327d21h",
		clock(-time.Second):                     "0:00",
		clock(59*time.Minute + time.Second):     "59:01",
		clock(26*time.Hour + time.Second):       "26:00:01",
		Tokens(999):                             "999",
		Tokens(14_549):                          "14.5k",
		Tokens(999_949):                         "999.9k",
		Tokens(999_950):                         "1.0M",
		Cost(0.01234, true):                     "$0.0123",
		Cost(0, true):                           "$0.0000",
		Cost(0, false):                          "unpriced",
		Cost(2, false):                          "$2.0000 + unpriced calls",
		Count(1, "turn"):                        "1 turn",
		Count(0, "turn"):                        "0 turns",
		Count(2, "batch"):                       "2 batches",
	}
	for got, want := range tests {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

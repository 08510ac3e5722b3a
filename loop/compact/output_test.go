package compact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plan-engine/plan"
)

func TestCleanOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, safe, IsFull string }{
		"plain":              {in: "a\nb\n", safe: "a\nb\n"},
		"colours":            {in: "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[m", safe: "red x"},
		"titles and links":   {in: "\x1b]0;title\aa\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", safe: "alink"},
		"charsets":           {in: "\x1b(B\x1b7a\x1b=b", safe: "ab"},
		"cut sequences":      {in: "a\x1b[3\nb\x1b]0;t\nc\x1b", safe: "a\nb0;t\nc"},
		"one in another":     {in: "\x1b\x1b[31m[32mx", safe: "[32mx"},
		"progress":           {in: "10%\r50%\r100%\ndone\n", safe: "100%\ndone\n"},
		"progress with CRLF": {in: "10%\r100%\r\nnext\r\r\n", safe: "100%\nnext\n"},
		"wiped":              {in: "busy\r    \rdone", safe: "done"},
		"returned":           {in: "busy\r", safe: "busy"},
		"erased":             {in: "10%\r\x1b[K20%\r\x1b[K30%\n", safe: "30%\n"},
		"blanks":             {in: "a  \t\n\n\n \n\nb\n\n\n", safe: "a  \t\n\n\n \n\nb\n\n\n"},
		"indentation":        {in: "  a\n\tb", safe: "  a\n\tb"},
		"nothing":            {in: "", safe: ""},
		"a run": {
			in: "start\n   Compiling the crate serde v1.0.200\n   Compiling the crate rand v0.8.5\n   " +
				"Compiling the crate libc v0.2.1\n   Compiling the crate syn v2.0.1\nend\n",
			safe: "start\n   Compiling the crate serde v1.0.200\n   Compiling the crate rand v0.8.5\n   " +
				"Compiling the crate libc v0.2.1\n   Compiling the crate syn v2.0.1\nend\n",
			IsFull: "start\n   Compiling the crate serde v1.0.200\n[… 2 more like these]\n   Compiling the crate " +
				"syn v2.0.1\nend\n",
		},
		"files of tests that passed": {
			in: "PASS tests/a.test.js\nPASS tests/b.test.js (5.2 s)\n" + strings.Repeat("PASS tests/c.test.js\n", 7) +
				"FAIL tests/d.test.js\nPASS tests/e.test.js\n",
			safe: "PASS tests/a.test.js\n[… 7 more like these]\nPASS tests/c.test.js\nFAIL tests/d.test.js\n" +
				"PASS tests/e.test.js\n",
		},
		"tests that passed, in words of several runners": {
			in: strings.Repeat("=== RUN   TestA\n--- PASS: TestA (0.00s)\n", 5) + "    a_test.go:3: said\n" +
				strings.Repeat("test parse::empty ... ok\n", 8) + "tests/t.py::test_a PASSED [ 10%]\n\n" +
				strings.Repeat("ok 1 - a\n", 6),
			safe: "=== RUN   TestA\n[… 8 more like these]\n--- PASS: TestA (0.00s)\n    a_test.go:3: said\n" +
				"test parse::empty ... ok\n[… 7 more like these]\ntests/t.py::test_a PASSED [ 10%]\n\n" +
				strings.Repeat("ok 1 - a\n", 6),
			IsFull: "=== RUN   TestA\n[… 8 more like these]\n--- PASS: TestA (0.00s)\n    a_test.go:3: said\n" +
				"test parse::empty ... ok\n[… 7 more like these]\ntests/t.py::test_a PASSED [ 10%]\n\n" +
				"ok 1 - a\n[… 4 more like these]\nok 1 - a\n",
		},
		"the one that failed": {
			in: "test parse::empty ... ok\ntest parse::emphasis ... ok\ntest parse::emptied ... ok\ntest " +
				"parse::emptier ... FAILED\ntest parse::empties ... ok\ntest parse::empty_b ... ok\n",
			safe: "test parse::empty ... ok\ntest parse::emphasis ... ok\ntest parse::emptied ... ok\ntest " +
				"parse::emptier ... FAILED\ntest parse::empties ... ok\ntest parse::empty_b ... ok\n",
			IsFull: "test parse::empty ... ok\n[… 1 more like these]\ntest parse::emptied ... ok\ntest " +
				"parse::emptier ... FAILED\ntest parse::empties ... ok\ntest parse::empty_b ... ok\n",
		},
		"half alike": {
			in:   strings.Repeat("0123456789012345678901234567890123456789"+"abcdefghijabcdefghijabcdefghijabcdefghij\n"+"0123456789012345678901234567890123456789\n", 2),
			safe: strings.Repeat("0123456789012345678901234567890123456789"+"abcdefghijabcdefghijabcdefghijabcdefghij\n"+"0123456789012345678901234567890123456789\n", 2),
			IsFull: "0123456789012345678901234567890123456789abcdefghijabcdefghijabcdefghijabcdefghij\n[… 2 more " +
				"like these]\n0123456789012345678901234567890123456789\n",
		},
		"what was folded before": {
			in:   strings.Repeat("[… 8 more like these]\n", 9),
			safe: strings.Repeat("[… 8 more like these]\n", 9),
		},
		"too short a run": {in: strings.Repeat("warning: something is unused here\n", 2), safe: strings.Repeat("warning: something is unused here\n", 2)},
		"a fold that gains nothing": {
			in: "x\nx\nx\nx\n", safe: "x\nx\nx\nx\n",
		},
		"less than half alike": {
			in: "file a: something long that differs one\nfile a: entirely other words two\nfile a: and a third " +
				"kind of line\n",
			safe: "file a: something long that differs one\nfile a: entirely other words two\nfile a: and a third " +
				"kind of line\n",
		},
		"JSON": {
			in:     "{\n  \"b\": [1.0,   2],\n  \"a\": \"x  y\\n\"\n}\n",
			safe:   "{\n  \"b\": [1.0,   2],\n  \"a\": \"x  y\\n\"\n}\n",
			IsFull: `{"b":[1.0,2],"a":"x  y\n"}`,
		},
		"coloured JSON": {
			in:     "\x1b[1m[\n  \x1b[32m1\x1b[0m\n]\x1b[0m\n",
			safe:   "[\n  1\n]\n",
			IsFull: "[1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.IsFull == "" {
				c.IsFull = c.safe
			}
			for Level, want := range map[Level]string{Off: c.in, "unheard of": c.in, Safe: c.safe, Full: c.IsFull} {
				if got := cleanOutput(c.in, Level); got != want {
					t.Errorf("%s: got %q, want %q", Level, got, want)
				}
			}
		})
	}
}

func TestFoldKeepsEndsAndCounts(t *testing.T) {
	t.Parallel()
	var in bytes.Buffer
	for i := range 500 {
		in.WriteString("downloading part " + strings.Repeat("#", i%7) + "\n")
	}
	got := cleanOutput(in.String(), Full)
	if want := "downloading part \n[… 498 more like these]\ndownloading part ##\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func FuzzCleanOutput(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\r\n10%\r20%\n\n\n[1,\n2]")
	f.Add(strings.Repeat("abcdefghijklmnopqrstuvwxyz\n", 5) + strings.Repeat("abcdefghijklmzzz\n", 5) + "abcdefghijklm\n")
	f.Add("[… 3 more like these]\n[… 3 more like these]\n[… 3 more like these]")
	f.Add("{\"a\":\r1}")
	f.Add("\x1b\x1b[0m[0m\xc2\x1b[m\x9b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, Level := range []Level{Safe, Full} {
			once := cleanOutput(text, Level)
			if len(once) > len(text) {
				t.Errorf("%s: %q grew to %q", Level, text, once)
			}
			if twice := cleanOutput(once, Level); twice != once {
				t.Errorf("%s: %q becomes %q becomes %q", Level, text, once, twice)
			}
			if strings.ContainsAny(once, "\x1b") && !json.Valid([]byte(once)) {
				t.Errorf("%s: an escape is left in %q", Level, once)
			}
			if utf8.ValidString(text) && !utf8.ValidString(once) {
				t.Errorf("%s: %q is no longer text", Level, once)
			}
		}
	})
}

// TestFoldedOutputIsKept: folded lines are not lost, in whatever way the output
// is shortened besides.
func TestFoldedOutputIsKept(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("   Compiling the crate serde v1.0.200\n", 40)
	few := strings.Repeat("a line of some length\n", 4)
	colour := "\x1b[32m" + lines
	const folded = "[… 38 more like these]"
	passes := strings.Repeat("PASS tests/some.test.js\n", 40)
	pointer := "[to see all of it, read path \"blob:" + plan.NewBlob([]byte(passes)).Hash + "\"]\n"
	for name, c := range map[string]struct {
		in    string
		level Level
		kept  bool
		out   string
		whole string
	}{
		"off":         {colour, Off, false, colour, ""},
		"safe":        {colour, Safe, false, lines, ""},
		"passes":      {passes, Safe, false, "PASS tests/some.test.js\n" + folded + "\nPASS tests/some.test.js\n" + pointer, passes},
		"full":        {colour, Full, false, folded, lines},
		"little":      {few, Full, false, few, ""},
		"JSON":        {"{\n \"a\": 1\n}\n", Full, false, `{"a":1}`, ""},
		"cut already": {lines, Full, true, folded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, whole := Output(c.in, c.level, c.kept)
			if string(whole) != c.whole || !strings.Contains(got, c.out) || c.out != folded && got != c.out {
				t.Errorf("got %q and keeps %q", got, whole)
			}
			if kept := "blob:" + plan.NewBlob([]byte(c.whole)).Hash; strings.Contains(got, kept) != (c.whole != "") {
				t.Errorf("got %q", got)
			}
		})
	}
}

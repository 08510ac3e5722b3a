package sandbox_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox"
)

func TestCut(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text  string
		limit int
		want  string
		cut   bool
	}{
		"fits":             {"hello", 5, "hello", false},
		"empty":            {"", 0, "", false},
		"head and tail":    {"0123456789ABCDEFGHIJ", 10, "012345\n[… 10 bytes left out …]\nGHIJ", true},
		"at a line's end":  {"01234\n6789ABCDEFGHIJ", 10, "01234\n[… 10 bytes left out …]\nGHIJ", true},
		"between runes":    {strings.Repeat("é", 10), 10, "ééé\n[… 10 bytes left out …]\néé", true},
		"through runes":    {strings.Repeat("€", 10), 10, "€€\n[… 21 bytes left out …]\n€", true},
		"nothing may stay": {"abc", 0, "[… 3 bytes left out …]\n", true},
		"negative limit":   {"abc", -1, "[… 3 bytes left out …]\n", true},
		"invalid UTF-8":    {"a\xff\xfeb", 10, "a\uFFFDb", false},
		"NUL goes":         {"a\x00b\x00", 2, "ab", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, cut := sandbox.Cut([]byte(c.text), c.limit)
			if diff := cmp.Diff(c.want, got); diff != "" || cut != c.cut {
				t.Errorf("cut %v, want %v; text (-want +got):\n%s", cut, c.cut, diff)
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add([]byte("hello"), 3)
	f.Add([]byte("a\xff€\x00"), 2)
	f.Add([]byte(strings.Repeat("€\n", 50)), 17)
	marker := regexp.MustCompile(`\[… (\d+) bytes left out …\]\n`)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		got, cut := sandbox.Cut(text, limit)
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Fatalf("not clean: %q", got)
		}
		whole, wasCut := sandbox.Cut(text, 4*len(text))
		if wasCut {
			t.Fatalf("cut although it fits: %q", whole)
		}
		if !cut {
			if got != whole {
				t.Fatalf("changed without a cut: %q", got)
			}
			return
		}
		at := marker.FindAllStringSubmatchIndex(got, -1)
		if len(at) != 1 { // the text itself may hold such a line
			return
		}
		n, err := strconv.Atoi(got[at[0][2]:at[0][3]])
		head, tail := got[:at[0][0]], got[at[0][1]:]
		if !strings.HasPrefix(whole, head) {
			head = strings.TrimSuffix(head, "\n")
		}
		if err != nil || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
			t.Fatalf("not a head and a tail of the text: %q", got)
		}
		if missing := len(whole) - len(head) - len(tail); missing != n && missing != n-1 {
			t.Fatalf("says %d bytes are left out, but it is %d", n, missing)
		}
		if len(head)+len(tail) > max(limit, 0)+1 {
			t.Fatalf("keeps %d bytes of at most %d", len(head)+len(tail), limit)
		}
	})
}

func ExampleCut() {
	text, cut := sandbox.Cut([]byte("first\nmany lines in between\nlast\n"), 12)
	fmt.Println(text, cut)
	// Output:
	// first
	// m
	// [… 21 bytes left out …]
	// last
	//  true
}

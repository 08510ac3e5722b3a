package tools_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		file, old, new string
		all            bool
		want           string
	}{
		"a word":                {"one two three\n", "two", "2", false, "one 2 three\n"},
		"delete":                {"one\ntwo\nthree\n", "two\n", "", false, "one\nthree\n"},
		"everything":            {"x", "x", "y", false, "y"},
		"to nothing":            {"x\n", "x\n", "", false, ""},
		"no final newline":      {"one\ntwo", "two", "2", false, "one\n2"},
		"all":                   {"a b a b a\n", "a", "bb", true, "bb b bb b bb\n"},
		"all, not overlapping":  {"aaaa\n", "aa", "b", true, "bb\n"},
		"all, only once":        {"a\n", "a", "b", true, "b\n"},
		"CRLF":                  {"one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n1b\n2\n", false, "1\r\n1b\r\n2\r\nthree\r\n"},
		"CRLF, asked for":       {"one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", false, "1\r\n2\r\n"},
		"CRLF, one line to two": {"one\r\ntwo\r\n", "one", "1\n1b", false, "1\r\n1b\r\ntwo\r\n"},
		"CRLF, last line":       {"one\r\ntwo", "two", "2\n3", false, "one\r\n2\r\n3"},
		"CRLF, all":             {"a\r\nb\r\na\r\nb\r\n", "a\nb", "c\nd\ne", true, "c\r\nd\r\ne\r\nc\r\nd\r\ne\r\n"},
		"CRLF, join":            {"a\r\nb\r\n", "a\nb", "a b", false, "a b\r\n"},
		"CRLF, begin at its LF": {"a\r\nb\r\n", "\nb", "\nc", false, "a\r\nc\r\n"},
		"CRLF, end at its LF":   {"a\r\nb\r\n", "a\n", "", false, "b\r\n"},
		"LF, CRLF asked for":    {"one\ntwo\n", "one\r\ntwo", "1\r\n2", false, "1\n2\n"},
		"mixed, beside":         {"a\r\nb\nc\r\nd\n", "c", "C", false, "a\r\nb\nC\r\nd\n"},
		"mixed, within":         {"a\r\nb\nc\r\n", "a\nb\nc", "a\nx\nb\nc", false, "a\r\nx\nb\nc\r\n"},
		"mixed, unchanged ends": {"a\nb\r\nc\nd\r\n", "a\nb\nc\nd\n", "a\nB\nC\nd\n", false, "a\nB\r\nC\nd\r\n"},
		"mixed, more lines":     {"a\r\nb\n", "b\n", "x\ny\n", false, "a\r\nx\ny\n"},
		"lone CR":               {"a\rb\nc\n", "a\rb", "a\rB", false, "a\rB\nc\n"},
		"CR before LF":          {"a\nb\n", "a", "a\r", false, "a\r\nb\n"},
		"BOM":                   {"\uFEFFone\ntwo\n", "one", "1", false, "\uFEFF1\ntwo\n"},
		"BOM, asked for":        {"\uFEFFone\n", "\uFEFFone", "1", false, "\uFEFF1\n"},
		"BOM and CRLF":          {"\uFEFFone\r\ntwo\r\n", "one\ntwo", "1\n2", false, "\uFEFF1\r\n2\r\n"},
		"not UTF-8":             {"caf\xe9\none\n", "one", "1", false, "caf\xe9\n1\n"},
		"unicode":               {"äöü\n日本\n", "日", "月", false, "äöü\n月本\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t, map[string]string{"a.txt": c.file})
			d.read("a.txt")
			res := d.do("edit", args{"path": "a.txt", "old_string": c.old, "new_string": c.new, "replace_all": c.all})
			d.has("a.txt", c.want)
			if diff := cmp.Diff(map[string]string{"a.txt": sha(c.want)}, res.Files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	file := "package a\n\nfunc one() {\n\treturn 1\n}\n\nfunc two() {\n\treturn 2\n}\n\nfunc three() {\n\treturn 3\n}\n"
	cases := map[string]struct {
		old, new string
		words    []string
	}{
		"twice":           {"}\n", "};\n", []string{"3 times", "lines 5, 9, 13", "replace_all"}},
		"same":            {"one", "one", []string{"the same"}},
		"same but for CR": {"one\r\n", "one\n", []string{"line endings", "write"}},
		"empty":           {"", "x", []string{"empty", "use write"}},
		"indentation": {"func two() {\n    return 2\n}", "x", []string{
			"white space", "7\tfunc two() {\n8\t\treturn 2\n9\t}\n", "try again",
		}},
		"nearly": {"func threee() {\n\treturn 4\n}", "x", []string{"most similar", "11\tfunc three() {\n12\t\treturn 3\n"}},
		"one of several lines": {"// a comment that is nowhere\nfunc one() {\n\treturn 1\n", "x", []string{
			"most similar", "3\tfunc one() {\n4\t\treturn 1\n",
		}},
		"line numbers": {"3\tfunc one() {\n4\t\treturn 1\n", "x", []string{"line numbers", "leave them"}},
		"nothing like": {"zzzz qqqq wwww", "x", []string{"Nothing like it", "13 lines", "Read the file again"}},
		"blanks":       {" \n \n ", "x", []string{"Nothing like it"}},
		"made before":  {"func zero() {\n\treturn 0\n", "func one() {\n\treturn 1\n", []string{"already there, at line 3", "3\tfunc one() {"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t, map[string]string{"a.go": file})
			d.read("a.go")
			d.refused("edit", args{"path": "a.go", "old_string": c.old, "new_string": c.new}, c.words...)
			d.has("a.go", file)
		})
	}
}

func TestEditOverlappingIsAmbiguous(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "xaaax\n"})
	d.read("a.txt")
	d.refused("edit", args{"path": "a.txt", "old_string": "aa", "new_string": "b"}, "2 times")
}

func TestEditManyPlaces(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": strings.Repeat("same\n", 500)})
	d.read("a.txt")
	res := d.refused("edit", args{"path": "a.txt", "old_string": "same", "new_string": "x"}, "500 times", "lines 1, 2, 3", "…")
	if len(res.Output) > 500 {
		t.Errorf("%d bytes of answer", len(res.Output))
	}
	res = d.do("edit", args{"path": "a.txt", "old_string": "same", "new_string": "x", "replace_all": true})
	d.says(res, "500 replacements", "+500 -500 lines", "495 replacements are not shown")
	d.has("a.txt", strings.Repeat("x\n", 500))
}

// TestEditWithoutReading: text that is there once proves that the file is known.
func TestEditWithoutReading(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "old\n", "b.txt": "old\nold\n"})
	all := args{"path": "b.txt", "old_string": "old", "new_string": "new", "replace_all": true}
	d.refused("edit", all, "has not been read", "Read it first")
	d.has("b.txt", "old\nold\n")
	d.do("edit", args{"path": "a.txt", "old_string": "old", "new_string": "new"})
	d.has("a.txt", "new\n")
}

func TestEditMissingFile(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"src/main.go": "x"})
	d.refused("edit", args{"path": "src/mian.go", "old_string": "old", "new_string": "new"}, "does not exist", "src/main.go", "write")
	d.has("src/mian.go", "(gone)")
}

func TestEditFillsWhatIsEmpty(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"empty.txt": "", "bom.txt": "\uFEFF"})
	d.says(d.do("edit", args{"path": "empty.txt", "old_string": "", "new_string": "a\n"}), "filled empty.txt")
	d.has("empty.txt", "a\n")
	d.says(d.do("edit", args{"path": "dir/new.txt", "old_string": "", "new_string": "b\n"}), "created dir/new.txt")
	d.has("dir/new.txt", "b\n")
	d.do("edit", args{"path": "bom.txt", "old_string": "", "new_string": "c\n"})
	d.has("bom.txt", "\uFEFFc\n")
	// What it has written it knows.
	d.do("edit", args{"path": "dir/new.txt", "old_string": "b", "new_string": "c"})
}

func TestEditShowsTheChange(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"})
	d.read("a.txt")
	res := d.do("edit", args{"path": "a.txt", "old_string": "5\n", "new_string": "five\nand a half\n"})
	sameText(t, res.Output, "edited a.txt: 1 replacement (+2 -1 lines)\n"+
		"2\t2\n3\t3\n4\t4\n5\tfive\n6\tand a half\n7\t6\n8\t7\n9\t8\n10\t9")
	d.says(d.do("edit", args{"path": "a.txt", "old_string": "a half", "new_string": "a hal"}), "+1 -1 lines")
	d.do("edit", args{"path": "a.txt", "old_string": "a hal", "new_string": "a half"})
	res = d.do("edit", args{"path": "a.txt", "old_string": "1\n2\n", "new_string": "1\nnew\n2\n"})
	sameText(t, res.Output, "edited a.txt: 1 replacement (+1 -0 lines)\n1\t1\n2\tnew\n3\t2\n4\t3\n5\t4\n6\tfive\n7\tand a half")

	// Of a long one the ends are shown: the model has just written the rest.
	res = d.do("edit", args{"path": "a.txt", "old_string": "and a half\n", "new_string": strings.Repeat("more\n", 30)})
	sameText(t, res.Output, "edited a.txt: 1 replacement (+30 -1 lines)\n4\t3\n5\t4\n6\tfive\n7\tmore\n8\tmore\n"+
		"[lines 9-35 are as you gave them]\n36\tmore\n37\t6\n38\t7\n39\t8\n40\t9")
}

// An edit is seen through a change that another process made to another file,
// but not through one to this file.
func TestEditAfterAnotherProcess(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "one\n", "b.txt": "one\n"})
	d.read("a.txt", "b.txt")
	other := d.open(map[string]string{"a.txt": sha("one\n")})
	if res := d.callOn(other, "edit", args{"path": "a.txt", "old_string": "one", "new_string": "two"}); res.Error {
		t.Fatal(res.Output)
	}
	d.refused("edit", args{"path": "a.txt", "old_string": "two", "new_string": "three"}, "-one", "+two")
	d.do("edit", args{"path": "b.txt", "old_string": "one", "new_string": "two"})
}

func TestLongLinesAreCutInAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 50_000)
	d := newFixture(t, map[string]string{"a.txt": long + "x\n"})
	d.read("a.txt")
	res := d.do("edit", args{"path": "a.txt", "old_string": "x", "new_string": "y"})
	d.says(res, "éé…")
	if len(res.Output) > 1000 {
		t.Errorf("%d bytes of answer", len(res.Output))
	}
	d.has("a.txt", long+"y\n")
}

// In a large file that has nothing like it the answer still comes soon.
func TestEditLargeFile(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&b, "line %d of a large file\n", i)
	}
	d := newFixture(t, nil)
	d.do("write", args{"path": "big.txt", "content": b.String()})
	want := strings.Repeat("nothing of that kind\n", 300)
	d.refused("edit", args{"path": "big.txt", "old_string": want, "new_string": "x"}, "Nothing like it")
	d.do("edit", args{"path": "big.txt", "old_string": "line 49999 ", "new_string": "last "})
	if !strings.HasSuffix(d.content("big.txt"), "last of a large file\n") {
		t.Error("not edited")
	}
}

// FuzzEdit compares edits with a replacement worked out in the simplest way.
func FuzzEdit(f *testing.F) {
	f.Add("one\ntwo\n", "two", "2", false)
	f.Add("one\r\ntwo\r\n", "one\ntwo", "1\n2\n3", false)
	f.Add("\uFEFFa\r\nb\na\r\nb", "a\nb", "c", true)
	f.Add("a\rb\n\r\n", "\r", "\n", true)
	f.Add("", "", "x", false)
	f.Fuzz(func(t *testing.T, file, old, new string, all bool) {
		checkEdit(t, file, old, new, all)
	})
}

var crs = regexp.MustCompile(`\r+\n`)

func checkEdit(t *testing.T, file, old, new string, all bool) {
	t.Helper()
	// Arguments come as JSON, which has no invalid UTF-8.
	old, new = strings.ToValidUTF8(old, "\uFFFD"), strings.ToValidUTF8(new, "\uFFFD")
	d := newFixture(t, map[string]string{"a.txt": file})
	set := d.open(map[string]string{"a.txt": sha(file)})
	before := d.tree()
	res := d.callOn(set, "edit", args{"path": "a.txt", "old_string": old, "new_string": new, "replace_all": all})
	if res.Error {
		if diff := cmp.Diff(before, d.tree()); diff != "" {
			t.Fatalf("it failed (%s) and changed:\n%s", res.Output, diff)
		}
		return
	}
	got := d.content("a.txt")
	if res.Files["a.txt"] != sha(got) {
		t.Error("the hash is not that of the file")
	}
	lf := func(s string) string { return strings.ReplaceAll(strings.TrimPrefix(s, "\uFEFF"), "\r\n", "\n") }
	want := strings.Replace(lf(file), lf(old), lf(new), 1)
	if all {
		want = strings.ReplaceAll(lf(file), lf(old), lf(new))
	}
	if old == "" {
		want = new
	}
	// Where a CR has come to stand before a newline, an ending cannot be told
	// from a character.
	plain := func(s string) string { return crs.ReplaceAllString(strings.TrimPrefix(s, "\uFEFF"), "\n") }
	if plain(got) != plain(want) {
		t.Errorf("%q with %q for %q gave %q", file, new, old, got)
	}
	if strings.HasPrefix(file, "\uFEFF") != strings.HasPrefix(got, "\uFEFF") && old != "" && !strings.Contains(new, "\uFEFF") {
		t.Error("the byte order mark came or went")
	}
	if !strings.Contains(file, "\r\n") && !strings.Contains(new, "\r") && !strings.Contains(file, "\r") && strings.Contains(got, "\r\n") {
		t.Error("an LF file got CRLF")
	}
}

// Many random edits of small alphabets find what fuzzing takes long to find.
func TestRandomEdits(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(parts []string, n int) string {
		var b strings.Builder
		for range rng.IntN(n) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		return b.String()
	}
	for range 150 {
		file := text([]string{"a", "b", "\n", "\r\n", "\r", "é"}, 14)
		if rng.IntN(4) == 0 {
			file = "\uFEFF" + file
		}
		short := []string{"a", "b", "\n", "é", "\r"}
		checkEdit(t, file, text(short, 4), text(short, 5), rng.IntN(2) == 0)
	}
}

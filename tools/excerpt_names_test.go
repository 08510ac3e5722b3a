package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// TestAnExcerptShowsTheMemberThatIsMeant, and not those of the same name of other types.
func TestAnExcerptShowsTheMemberThatIsMeant(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for i := range 6 {
		fmt.Fprintf(&code, "class T%d:\n    def convert(self):\n        return %d\n\n    def only%d(self):\n        pass\n\n%s", i, i, i,
			strings.Repeat("# nothing\n", 10))
	}
	code.WriteString("class Painter:\n    def __init__(self, color):\n        self.color = color\n")
	set := openSet(t, tools.Config{Root: plant(t, files{"a.py": code.String()})})
	for names, want := range map[string]string{
		"color":                         "", // a parameter, as likely
		"Painter.color color":           "self.color = color",
		"T2.convert convert":            "return 2",
		"T1.convert T4.convert convert": "return 1 return 4",
		"convert":                       "", // which of six
		"only3":                         "pass",
	} {
		e, _ := set.Excerpt(t.Context(), tools.Wanted{Path: "a.py", Names: strings.Fields(names), Bytes: 4000})
		var got []string
		for _, r := range e.Regions {
			lines := strings.Split(strings.TrimSpace(r.Text), "\n")
			got = append(got, strings.TrimSpace(lines[len(lines)-1]))
		}
		sameText(t, strings.Join(got, " "), want)
	}
}

// TestAnExcerptOfADocument shows what is quoted of it, of a heading the end of its
// section too, and its beginning where nothing is found.
func TestAnExcerptOfADocument(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("filler\n", 400)
	text := "# Changes\n\n## Version 2\n\n### Added\n" + filler + "- the last of 2\n\n## Version 1\n" + filler + "often\n" +
		strings.Repeat("often\nfiller\n", 3) + filler + "key: value\n" + filler
	set := openSet(t, tools.Config{Root: plant(t, files{"CHANGES.md": text})})
	for name, tt := range map[string]struct {
		wanted tools.Wanted
		lines  string
	}{
		"a heading":       {tools.Wanted{Texts: []string{"Version 2"}}, "1-11 399-408"},
		"its last line":   {tools.Wanted{Texts: []string{"the last of 2"}}, "398-414"},
		"a key":           {tools.Wanted{Texts: []string{"key: value"}}, "1208-1224"},
		"too often":       {tools.Wanted{Texts: []string{"filler", "often"}}, ""},
		"nothing":         {tools.Wanted{Texts: []string{"Version 3"}}, ""},
		"nothing, meant":  {tools.Wanted{Texts: []string{"Version 3"}, Whole: true}, "1-16"},
		"named by a line": {tools.Wanted{Texts: []string{"Version 2"}, Lines: [][2]int{{1215, 1215}}}, "1207-1223"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.wanted.Path, tt.wanted.Bytes = "CHANGES.md", 8000
			e, _ := set.Excerpt(t.Context(), tt.wanted)
			var got []string
			for _, r := range e.Regions {
				got = append(got, fmt.Sprintf("%d-%d", r.First, r.Last))
			}
			sameText(t, strings.Join(got, " "), tt.lines)
		})
	}
}

// TestAnExcerptOfASmallFile is all of it, unless parts of it are named and it is not that
// small: then it is these, and what stands before the first definition.
func TestAnExcerptOfASmallFile(t *testing.T) {
	t.Parallel()
	code := func(filler int) string {
		return "// a licence\n\npackage a\n\nimport \"fmt\"\n\nfunc A() { fmt.Println() }\n" +
			strings.Repeat("// nothing, and more of it\n", filler) + "func B() {}\n"
	}
	document := "# Title\n" + strings.Repeat("filler, and more of it\n", 100) + "## Here\n" + strings.Repeat("filler\n", 30)
	set := openSet(t, tools.Config{Root: plant(t, files{"s.go": code(50), "m.go": code(200), "d.md": document, "t.md": "# A\n\ntext\n"})})
	for name, tt := range map[string]struct {
		wanted tools.Wanted
		lines  string
	}{
		"small code, a name":        {tools.Wanted{Path: "s.go", Names: []string{"B"}}, "1-58"},
		"code, a name":              {tools.Wanted{Path: "m.go", Names: []string{"B"}}, "1-6 208-208"},
		"code, nothing":             {tools.Wanted{Path: "m.go"}, "1-208"},
		"a document, a line":        {tools.Wanted{Path: "d.md", Lines: [][2]int{{102, 102}}}, "94-110"},
		"a document, a text":        {tools.Wanted{Path: "d.md", Texts: []string{"## Here"}}, "94-110 124-132"},
		"a document, nothing":       {tools.Wanted{Path: "d.md"}, "1-132"},
		"a small document, a line":  {tools.Wanted{Path: "t.md", Lines: [][2]int{{1, 1}}}, "1-3"},
		"code, a line past its end": {tools.Wanted{Path: "s.go", Lines: [][2]int{{500, 500}}}, "1-58"},
	} {
		tt.wanted.Whole, tt.wanted.Bytes = true, 8000
		e, _ := set.Excerpt(t.Context(), tt.wanted)
		var got []string
		for _, r := range e.Regions {
			got = append(got, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
		if shown := strings.Join(got, " "); shown != tt.lines {
			t.Errorf("%s: %s is shown, want %s", name, shown, tt.lines)
		}
	}
}

// TestAnOutlineBesideExcerpts lists the nearest definitions where something is shown,
// and the first ones where nothing is.
func TestAnOutlineBesideExcerpts(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for i := range 60 {
		fmt.Fprintf(&code, "def f%02d():\n    return %d\n%s", i, i, strings.Repeat("# nothing, and more of it\n", 8))
	}
	set := openSet(t, tools.Config{Root: plant(t, files{"a.py": code.String()})})
	for name, want := range map[string]string{
		"f30": "f25 f26 f27 f28 f29 f31 f32 f33 f34 f35 … 49 more",
		"f00": "f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 … 49 more",
		"no":  "f00 f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23 … 36 more",
	} {
		e, _ := set.Excerpt(t.Context(), tools.Wanted{Path: "a.py", Names: []string{name}, Whole: true, Bytes: 4000})
		var got []string
		for line := range strings.Lines(e.Outline) {
			_, what, _ := strings.Cut(strings.TrimSpace(line), " def ")
			if what == "" {
				what = strings.TrimSpace(line)
			}
			got = append(got, strings.TrimSuffix(what, "()"))
		}
		sameText(t, strings.Join(got, " "), want)
	}
}

// TestAnExcerptShowsWhatIsSaidOfADefinition: the comment and attributes right above it, unless
// that is as long as a text of its own; and of a small file too what is named, not all.
func TestAnExcerptShowsWhatIsSaidOfADefinition(t *testing.T) {
	t.Parallel()
	code := "package p\n\n// License.\n" + strings.Repeat("// More of it.\n", 60) + "func First() {}\n\n" +
		strings.Repeat("// A filler of some length.\n\n", 60) + "// Second is said.\n//\n// e.g. Second()\nfunc Second() {\n}\n\n" +
		strings.Repeat("// A filler of some length.\n\n", 10) + "func Third() {}\n"
	set := openSet(t, tools.Config{Root: plant(t, files{"a.go": code})})
	for names, want := range map[string]string{
		"First":  "52-64", // what stands before the first definition, and no license of sixty lines
		"Second": "52-63 186-190",
	} {
		e, _ := set.Excerpt(t.Context(), tools.Wanted{
			Path:  "a.go",
			Names: strings.Fields(names),
			Whole: true,
			Bytes: 8000,
		})
		var got []string
		for _, r := range e.Regions {
			got = append(got, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
		sameText(t, strings.Join(got, " "), want)
	}
}

package composer

import (
	"slices"
	"strings"
	"testing"
)

func (c *Composer) shownAt() string {
	return string(c.text[:c.at]) + "|" + string(c.text[c.at:])
}

// TestEditing: each key does what it does elsewhere.
func TestEditing(t *testing.T) {
	t.Parallel()
	var c Composer
	c.Insert("one two\nthree")
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"home", c.Home, "one two\n|three"},
		{"up", func() { c.Up() }, "|one two\nthree"},
		{"word right", c.WordRight, "one| two\nthree"},
		{"end", c.End, "one two|\nthree"},
		{"delete word", c.DeleteWord, "one |\nthree"},
		{"right", c.Right, "one \n|three"},
		{"backspace", c.Backspace, "one |three"},
		{"delete", c.Delete, "one |hree"},
		{"left", c.Left, "one| hree"},
		{"delete to end", c.DeleteToEnd, "one|"},
		{"insert", func() { c.Insert("\x1b[31mé\t") }, "oneé    |"},
		{"delete to start", c.DeleteToStart, "|"},
		{"a backslash", func() { c.Insert(`a\`); c.Continues(); c.Insert("b"); c.Continues() }, "a\nb|"},
		{"delete to end at the end of a line", func() { c.Up(); c.DeleteToEnd() }, "a|b"},
		{"delete word right", c.DeleteWordRight, "a|"},
	} {
		step.do()
		if got := c.shownAt(); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}

// TestClusters: what is seen as one character is moved over and removed as one.
func TestClusters(t *testing.T) {
	t.Parallel()
	var c Composer
	c.Insert("e\u0301👩‍👩‍👧日")
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"left", c.Left, "e\u0301👩‍👩‍👧|日"},
		{"left", c.Left, "e\u0301|👩‍👩‍👧日"},
		{"right", c.Right, "e\u0301👩‍👩‍👧|日"},
		{"backspace", c.Backspace, "e\u0301|日"},
		{"home", c.Home, "|e\u0301日"},
		{"delete", c.Delete, "|日"},
	} {
		step.do()
		if got := c.shownAt(); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}

// TestRows: the arrows move by what is seen as a row, and only then to what was written
// before.
func TestRows(t *testing.T) {
	t.Parallel()
	var c Composer
	c.Remember("before")
	c.Insert("abcdefgh\nij")
	c.Layout(5)
	for _, want := range []string{"abcdefg|h\nij", "ab|cdefgh\nij"} {
		if c.Up(); c.shownAt() != want {
			t.Errorf("%q, want %q", c.shownAt(), want)
		}
	}
	if c.Down(); c.shownAt() != "abcdefg|h\nij" {
		t.Errorf("%q", c.shownAt())
	}
	c.Up()
	if c.Up(); c.Text() != "before" {
		t.Errorf("%q", c.Text())
	}
}

// TestHistory: what was written before comes back, and so does what was new.
func TestHistory(t *testing.T) {
	t.Parallel()
	var c Composer
	for _, text := range []string{"first", "second", "second", " "} {
		c.Remember(text)
	}
	c.Insert("new")
	for _, want := range []string{"second", "first"} {
		if !c.Up() || c.Text() != want {
			t.Errorf("%q, want %q", c.Text(), want)
		}
	}
	if c.Up() {
		t.Error("there is more")
	}
	if c.Down(); c.Text() != "second" {
		t.Errorf("%q", c.Text())
	}
	if c.Down(); c.Text() != "new" || c.Down() {
		t.Errorf("%q", c.Text())
	}
}

// TestPaste: a long paste takes one word's room, is removed as one, and is sent whole.
func TestPaste(t *testing.T) {
	t.Parallel()
	var c Composer
	long := strings.Repeat("a line\r\n", 40)
	c.Insert("see ")
	c.Paste(long)
	c.Paste("short\r\nof two")
	if got := c.Shown(); got != "see [pasted text 1: 40 lines]short\nof two" {
		t.Errorf("%q", got)
	}
	if got := c.Text(); got != "see "+strings.Repeat("a line\n", 40)+"short\nof two" {
		t.Errorf("%q", got)
	}
	for range len("short\nof two") {
		c.Backspace()
	}
	if c.Backspace(); c.Shown() != "see " {
		t.Errorf("%q", c.Shown())
	}
	c.Paste(long)
	if c.DeleteWord(); c.Shown() != "see " {
		t.Errorf("%q", c.Shown())
	}
}

// TestLayout: rows are broken at the width, and the cursor stands where it writes.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text        string
		rows        []string
		row, column int
	}{
		{"", []string{""}, 0, 0},
		{"abc", []string{"abc"}, 0, 3},
		{"abcdef", []string{"abcdef", ""}, 1, 0},
		{"abcdefg", []string{"abcdef", "g"}, 1, 1},
		{"日本語x", []string{"日本語", "x"}, 1, 1},
		{"a\n\nb", []string{"a", "", "b"}, 2, 1},
	} {
		var w Composer
		w.Insert(c.text)
		rows, row, column := w.Layout(6)
		if !slices.Equal(rows, c.rows) || row != c.row || column != c.column {
			t.Errorf("%q: %q, cursor %d,%d", c.text, rows, row, column)
		}
	}
}

// TestMatch: the best files come first.
func TestMatch(t *testing.T) {
	t.Parallel()
	names := []string{"docs/split.md", "README.md", "cmd/split/main.go", "split.go", "internal/simplest/lit.go", "split_test.go"}
	for pattern, want := range map[string][]string{
		"split": {"split.go", "docs/split.md", "split_test.go", "cmd/split/main.go"},
		"rea":   {"README.md"},
		"cmain": {"cmd/split/main.go"},
		"zzz":   nil,
	} {
		if got := Match(pattern, names, 4); !slices.Equal(got, want) {
			t.Errorf("%q: %q", pattern, got)
		}
	}
}

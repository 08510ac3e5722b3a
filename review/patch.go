package review

import (
	"fmt"
	"strconv"
	"strings"
)

// fileChange is what a patch does to one file.
type fileChange struct {
	path    string // as it is now; of a deleted file, as it was
	old     string // as it was; "" for a new file
	created bool
	deleted bool
	added   []string
	removed []string
	// addedAt and removedAt number the blocks that these lines stand in: what is between
	// two lines that stay.
	addedAt   []int
	removedAt []int
	block     int
}

// readPatch reads a patch as git prints it. A line of content is never taken
// for a header, because the hunks say how long they are.
func readPatch(patch string) []fileChange {
	var out []fileChange
	minus, plus := 0, 0 // lines that are left in the hunk
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		if n := len(out); n > 0 && (minus > 0 || plus > 0) {
			f := &out[n-1]
			switch {
			case strings.HasPrefix(line, "+"):
				f.added, f.addedAt = append(f.added, line[1:]), append(f.addedAt, f.block)
				plus--
			case strings.HasPrefix(line, "-"):
				f.removed, f.removedAt = append(f.removed, line[1:]), append(f.removedAt, f.block)
				minus--
			case !strings.HasPrefix(line, `\`):
				minus, plus = minus-1, plus-1
				f.block++
			}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
			from, to := gitNames(rest)
			out = append(out, fileChange{path: to, old: from})
			continue
		}
		if len(out) > 0 {
			minus, plus = out[len(out)-1].header(line)
		}
	}
	return out
}

// Created lists the files that a patch adds, also by giving them another name.
func Created(patch string) []string {
	var out []string
	for _, f := range readPatch(patch) {
		if f.created || !f.deleted && f.old != f.path {
			out = append(out, f.path)
		}
	}
	return out
}

// Summary tells what a patch does in a line for each file.
func Summary(patch string) string {
	var b strings.Builder
	for _, f := range readPatch(patch) {
		verb := "changed"
		switch {
		case f.created:
			verb = "created"
		case f.deleted:
			verb = "deleted"
		case f.old != f.path:
			verb = "renamed from " + f.old
		}
		fmt.Fprintf(&b, "%s: %s, +%d -%d\n", f.path, verb, len(f.added), len(f.removed))
	}
	return b.String()
}

// header reads a line before or between hunks; of a hunk's own header it
// returns how many lines follow on either side.
func (f *fileChange) header(line string) (minus, plus int) {
	switch {
	case strings.HasPrefix(line, "new file mode"):
		f.created, f.old = true, ""
	case strings.HasPrefix(line, "deleted file mode"):
		f.deleted = true
	case strings.HasPrefix(line, "rename from "):
		f.old = unquote(line[len("rename from "):])
	case strings.HasPrefix(line, "rename to "):
		f.path = unquote(line[len("rename to "):])
	case strings.HasPrefix(line, "@@ "):
		ranges := strings.Fields(line)
		if len(ranges) > 2 {
			return spanOf(ranges[1]), spanOf(ranges[2])
		}
	}
	return 0, 0
}

// spanOf is the number of lines in "-3,7"; "-3" is one line.
func spanOf(text string) int {
	_, n, ok := strings.Cut(text, ",")
	if !ok {
		return 1
	}
	lines, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return lines
}

// gitNames reads "a/x b/x"; names with spaces are the same on both sides, or a
// rename that says them again.
func gitNames(text string) (from, to string) {
	if strings.HasPrefix(text, `"`) {
		if end := strings.Index(text[1:], `" `); end >= 0 {
			from, to = text[:end+2], text[end+3:]
		}
	} else if half := len(text) / 2; len(text)%2 == 1 && text[half] == ' ' &&
		strings.TrimPrefix(text[:half], "a/") == strings.TrimPrefix(text[half+1:], "b/") {
		from, to = text[:half], text[half+1:]
	} else {
		from, to, _ = strings.Cut(text, " ")
	}
	return strings.TrimPrefix(unquote(from), "a/"), strings.TrimPrefix(unquote(to), "b/")
}

// unquote reads a name as git quotes it.
func unquote(name string) string {
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

package patch

import (
	"io/fs"
	"strconv"
	"strings"
)

const devNull = "/dev/null"

// header is what stands before the hunks of a file in a unified diff.
type header struct {
	git            string // the names of the diff --git line
	old, new       string // from --- and +++, or from rename and copy lines
	named          bool   // by --- and +++, so that hunks must follow
	added, deleted bool
	moved, copied  bool
	mode           fs.FileMode
	refused        string // why such a change is not made
}

// unified reads a unified diff.
func (p *parser) unified() ([]Change, error) {
	var changes []Change
	for !p.done() {
		line := p.line(0)
		switch {
		case strings.HasPrefix(line, "diff --git ") || p.namesFile():
			c, err := p.file()
			if err != nil {
				return nil, err
			}
			changes = append(changes, c)
		case strings.HasPrefix(line, "@@ -"):
			return nil, p.errorf("a hunk without a file; put --- a/FILE and +++ b/FILE before it")
		case len(changes) > 0 && line != "-- " && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")):
			return nil, p.errorf(
				"%q belongs to no hunk; the line before it begins with none of blank, + and -",
				brief(line),
			)
		default:
			p.i++ // what people write around a diff
		}
	}
	return changes, nil
}

// file reads what is said about one file.
func (p *parser) file() (Change, error) {
	p.crlf = strings.HasSuffix(p.lines[p.i], "\r")
	start := p.i
	var h header
	for !p.done() && !strings.HasPrefix(p.line(0), "@@") && p.extended(&h) {
		p.i++
	}
	c, ok := h.change()
	c.Line, c.Header = start+1, p.lines[start:p.i]
	fail := func(format string, args ...any) (Change, error) {
		at := parser{i: start}
		return c, at.errorf(format, args...)
	}
	if !ok && h.refused == "" {
		return fail("cannot tell which file is meant; put --- a/FILE and +++ b/FILE before the hunks")
	}
	hunks, err := p.hunks()
	c.Hunks = hunks
	if err == nil && len(hunks) == 0 && h.named && h.refused == "" {
		return fail("%s has no hunk", c.Path)
	}
	return c, err
}

// extended reads one line before the hunks. It reports false for a line that
// is not of the header any more.
func (p *parser) extended(h *header) bool {
	line := p.line(0)
	key, value := line, ""
	for _, k := range headerKeys {
		if rest, ok := strings.CutPrefix(line, k); ok {
			key, value = k, rest
			break
		}
	}
	switch key {
	case "diff --git ":
		if h.git != "" || h.named {
			return false // the next file
		}
		h.git = value
	case "--- ":
		if h.named || !strings.HasPrefix(p.line(1), "+++ ") {
			return false
		}
		h.old, h.new, h.named = headerName(value), headerName(p.line(1)[4:]), true
		h.added, h.deleted = h.added || h.old == devNull, h.deleted || h.new == devNull
		p.i++
	case "rename from ", "copy from ":
		h.old, h.moved, h.copied = "a/"+unquoted(value), true, key == "copy from "
	case "rename to ", "copy to ":
		h.new = "b/" + unquoted(value)
	case "new file mode ", "deleted file mode ", "new mode ":
		h.added, h.deleted = h.added || key == "new file mode ", h.deleted || key == "deleted file mode "
		h.setMode(value)
	case "GIT binary patch", "Binary files ":
		h.refused = "the change is binary, and a patch changes text only; use a command"
	case "old mode ", "similarity index ", "dissimilarity index ", "index ":
	default:
		return false
	}
	return true
}

// headerKeys are the beginnings of lines before the hunks of a file.
var headerKeys = []string{
	"diff --git ", "--- ", "rename from ", "rename to ", "copy from ", "copy to ",
	"new file mode ", "deleted file mode ", "old mode ", "new mode ",
	"similarity index ", "dissimilarity index ", "index ", "GIT binary patch", "Binary files ",
}

// setMode reads a mode as git writes it.
func (h *header) setMode(value string) {
	mode, err := strconv.ParseUint(strings.TrimSpace(value), 8, 32)
	switch {
	case err != nil:
		h.refused = "the file mode " + strconv.Quote(value) + " is not one that git writes"
	case mode == 0o120000:
		h.refused = "a patch does not change symbolic links; use a command (ln -s)"
	case mode == 0o160000:
		h.refused = "a patch does not change submodules; use a git command"
	default:
		h.mode = fs.FileMode(mode) & 0o777
	}
}

// headerName reads the name in a --- or +++ line, which a tab and a time may
// follow.
func headerName(value string) string {
	if quoted, err := strconv.QuotedPrefix(value); err == nil && strings.HasPrefix(value, `"`) {
		return unquoted(quoted)
	}
	value, _, _ = strings.Cut(value, "\t")
	return strings.TrimRight(value, " ")
}

// unquoted undoes the quoting that git gives to unusual names.
func unquoted(name string) string {
	if strings.HasPrefix(name, `"`) {
		if plain, err := strconv.Unquote(name); err == nil {
			return plain
		}
	}
	return name
}

// change makes a change of a header; false if it names no file.
func (h *header) change() (Change, bool) {
	if h.old == "" && h.new == "" {
		h.old, h.new = gitNames(h.git)
	}
	from, to := h.names()
	c := Change{
		Op:    Update,
		Path:  from,
		To:    to,
		Mode:  h.mode,
		Loose: from != to && !h.moved,

		Refused: h.refused,
	}
	switch {
	case h.added:
		c.Op, c.Path = Add, to
	case h.deleted:
		c.Op, c.To = Delete, from
	case h.copied:
		c.Op = Copy
	}
	return c, c.Path != "" && c.Path != devNull && c.To != "" && c.To != devNull
}

// names returns the paths without the a/ and b/ that git puts before them.
func (h *header) names() (from, to string) {
	a, isA := strings.CutPrefix(h.old, "a/")
	b, isB := strings.CutPrefix(h.new, "b/")
	if (isA || h.old == devNull) && (isB || h.new == devNull) {
		return a, b
	}
	return h.old, h.new
}

// gitNames reads the names in a diff --git line. Only equal ones can be told
// apart for sure; others are said again in lines that follow.
func gitNames(names string) (old, new string) {
	if strings.HasPrefix(names, `"`) {
		if quoted, err := strconv.QuotedPrefix(names); err == nil {
			return unquoted(quoted), unquoted(strings.TrimSpace(names[len(quoted):]))
		}
	}
	half := len(names) / 2
	if len(names)%2 == 1 && names[half] == ' ' &&
		strings.TrimPrefix(names[:half], "a/") == strings.TrimPrefix(names[half+1:], "b/") {
		return names[:half], names[half+1:]
	}
	return "", ""
}

package phases

import (
	"iter"
	"path"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

var (
	heading  = lazy.Regexp(`^#{1,6}\s+(.*?)\s*#*$`)
	bullet   = lazy.Regexp(`^\s*(?:[-*+]|\d+[.)])\s+(.*)$`)
	codeSpan = lazy.Regexp("^`([^`]+)`")
	fencing  = lazy.Regexp("^\\s*(```+|~~~+)")
)

// ParsePlan reads what the workflow itself needs from a plan's text: the files
// that it names and the commands that verify it. A plan without them is still
// a plan.
func ParsePlan(text string) plan.PlanDoc {
	doc := plan.PlanDoc{Text: text, Files: map[string]string{}}
	for l := range planLines(text) {
		switch {
		case strings.HasPrefix(l.section, "files"):
			if f := plannedFile(l.text); f != "" {
				doc.Files[f] = ""
			}
		case strings.HasPrefix(l.section, "verify") || strings.HasPrefix(l.section, "verification"):
			doc.Verify = appendCommand(doc.Verify, verifyCommand(l.text, l.fenced))
		}
	}
	return doc
}

// planLine is a line of a plan, below which heading it stands, in small letters, and
// whether in a fenced block.
type planLine struct {
	section, text string
	fenced        bool
}

// planLines are the lines of a plan without its headings and fences.
func planLines(text string) iter.Seq[planLine] {
	return func(yield func(planLine) bool) {
		section, fence := "", ""
		for line := range strings.Lines(unwrap(text)) {
			line = strings.TrimRight(line, "\r\n")
			if m := fencing().FindStringSubmatch(line); m != nil {
				switch {
				case fence == "":
					fence = m[1]
				case strings.HasPrefix(m[1], fence):
					fence = ""
				}
				continue
			}
			if m := heading().FindStringSubmatch(line); m != nil && fence == "" {
				section = strings.ToLower(strings.TrimRight(m[1], ":"))
				continue
			}
			if !yield(planLine{section, line, fence != ""}) {
				return
			}
		}
	}
}

// toChange is what of a plan says what is changed and where: all but what is only
// watched and how it is verified.
func toChange(text string) string {
	var b strings.Builder
	for l := range planLines(text) {
		if !strings.HasPrefix(l.section, "watched") && !strings.HasPrefix(l.section, "verif") {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

// codeBeside is what a plan writes as code in the lines that name a file.
func codeBeside(text, file string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, file) {
			out = append(out, codeIn(line)...)
		}
	}
	return out
}

// unwrap takes a plan out of the fence that a model may have put around all of
// it, because the form that it was shown stands in one.
func unwrap(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	body, last := rest, ""
	if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
		body, last = rest[:i], rest[i+1:]
	}
	m := fencing().FindStringSubmatch(first)
	if m == nil || strings.TrimSpace(last) != m[1] {
		return text
	}
	return body
}

// plannedFile reads "- path — modified: …".
func plannedFile(line string) string {
	m := bullet().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	item := strings.TrimLeft(m[1], "* ")
	name, coded := "", false
	if c := codeSpan().FindStringSubmatch(item); c != nil {
		name, coded = c[1], true
	} else {
		name, _, _ = strings.Cut(item, " ")
		name = strings.TrimRight(name, ":,;*")
	}
	if !coded && !strings.ContainsAny(name, "./") {
		return "" // a word of prose
	}
	name = path.Clean(name)
	if name == "." || name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) {
		return ""
	}
	return name
}

// verifyCommand reads one command: a line of a fenced block, or a code span
// that makes up a bullet.
func verifyCommand(line string, fenced bool) string {
	line = strings.TrimSpace(line)
	if fenced {
		line = strings.TrimPrefix(line, "$ ")
		if strings.HasPrefix(line, "#") {
			return ""
		}
		return line
	}
	if m := bullet().FindStringSubmatch(line); m != nil {
		line = m[1]
	}
	if c := codeSpan().FindStringSubmatch(line); c != nil {
		return strings.TrimSpace(c[1])
	}
	return ""
}

// appendCommand adds a command, or continues the one before if that ends in a
// backslash.
func appendCommand(commands []string, c string) []string {
	if n := len(commands); n > 0 && strings.HasSuffix(commands[n-1], "\\") {
		commands[n-1] = strings.TrimSpace(strings.TrimRight(commands[n-1], " \\") + " " + c)
		return commands
	}
	if c == "" {
		return commands
	}
	return append(commands, c)
}

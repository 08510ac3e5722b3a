package checks

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// assignment is what stands behind the colon of a variable that is set for one
// target only, which makes no rule: "test: export CGO_ENABLED = 1".
var assignment = lazy.Regexp(`^\s*((export|override|private|unexport)\s+)*[^\s:=#]+\s*([:?+!]|::|:::)?=`)

// hasTarget reports whether a makefile has an explicit rule for the target. It
// knows rules of every kind, continued lines, comments, variables and define
// blocks; it follows no includes and takes both branches of a condition.
func hasTarget(text, target string) bool {
	define := 0
	for _, line := range logicalLines(text) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "define":
			define++
			continue
		case word == "endef":
			define = max(define-1, 0)
			continue
		case define > 0 || strings.HasPrefix(line, "\t"): // text, or a recipe
			continue
		}
		if slices.Contains(targets(line), target) {
			return true
		}
	}
	return false
}

// logicalLines joins lines that end in a backslash and takes comments off.
func logicalLines(text string) []string {
	var lines []string
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		more := strings.HasSuffix(line, `\`) && !strings.HasSuffix(line, `\\`)
		line = strings.TrimSuffix(line, `\`)
		if open {
			lines[len(lines)-1] += " " + line
		} else {
			lines = append(lines, line)
		}
		open = more
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, "\t") {
			lines[i], _, _ = strings.Cut(line, "#")
		}
	}
	return lines
}

// targets lists what a line is a rule for; most lines are none.
func targets(line string) []string {
	line = dropReferences(line)
	colon := strings.IndexByte(line, ':')
	if equals := strings.IndexByte(line, '='); colon < 0 || equals >= 0 && equals < colon {
		return nil
	}
	head, tail := line[:colon], strings.TrimLeft(line[colon:], ":")
	if strings.HasPrefix(tail, "=") { // := ::= :::=
		return nil
	}
	tail, _, _ = strings.Cut(tail, ";")
	if assignment().MatchString(tail) {
		return nil
	}
	return strings.Fields(strings.TrimSuffix(head, "&")) // &: makes all of them at once
}

// dropReferences takes $(…) and ${…} out of a line, nested ones too, because
// the colons and equals signs in them mean something else.
func dropReferences(line string) string {
	var out strings.Builder
	var closers []byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '$' && i+1 < len(line) && line[i+1] == '(':
			closers = append(closers, ')')
			i++
		case c == '$' && i+1 < len(line) && line[i+1] == '{':
			closers = append(closers, '}')
			i++
		case len(closers) == 0:
			out.WriteByte(c)
		case c == '(' && closers[len(closers)-1] == ')':
			closers = append(closers, ')')
		case c == closers[len(closers)-1]:
			closers = closers[:len(closers)-1]
			if len(closers) == 0 {
				out.WriteByte('$') // so that what it stood in is no plain name
			}
		}
	}
	return out.String()
}

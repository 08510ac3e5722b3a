package checks

import (
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

var (
	goTurn = lazy.Regexp(`^=== (RUN|CONT|NAME|PAUSE)\s+(\S.*)$`)
	goEnd  = lazy.Regexp(`^(.*?)(\s*--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\))$`)
)

// quiet takes out of the output of go test what -v adds to it, line by line:
// tests that passed are not named, and what they printed is left out. What a
// test that failed printed follows the line that says so, as without -v. A test
// that never ended keeps all that it said.
type quiet struct {
	// output is what each test has printed that has not ended, order the tests as
	// they began, and current the one that prints.
	output  map[string][]string
	order   []string
	current string
	// named says that the package has named its tests, whose PASS adds nothing.
	named bool
}

// line takes one line with its end, and returns what can be shown now.
func (q *quiet) line(line string) string {
	text := strings.TrimRight(line, "\r\n")
	if m := goTurn().FindStringSubmatch(text); m != nil {
		q.turn(m[1], m[2])
		return ""
	}
	if m := goEnd().FindStringSubmatch(text); m != nil && q.named {
		return q.end(m[1], m[2], m[3], m[4])
	}
	if q.named && (text == "PASS" || text == "FAIL" || goPackage().MatchString(text)) {
		rest := q.unfinished()
		q.named = text == "PASS" || text == "FAIL"
		if text == "PASS" {
			line = ""
		}
		return rest + line
	}
	if q.current != "" {
		q.output[q.current] = append(q.output[q.current], line)
		return ""
	}
	return line
}

// turn notes which test prints from here on.
func (q *quiet) turn(how, name string) {
	if q.output == nil {
		q.output = map[string][]string{}
	}
	if _, known := q.output[name]; !known {
		q.output[name] = nil
		q.order = append(q.order, name)
	}
	q.named = true
	if q.current = name; how == "PAUSE" {
		q.current = ""
	}
}

// end takes the line that says how a test ended. What stands before it was
// printed without an end of the line.
func (q *quiet) end(before, mark, how, name string) string {
	lines := q.output[name]
	if before != "" {
		lines = append(lines, before+"\n")
	}
	delete(q.output, name)
	q.current = ""
	if how != "FAIL" {
		return ""
	}
	return mark + "\n" + strings.Join(lines, "")
}

// unfinished is what tests said that have not ended, under their names.
func (q *quiet) unfinished() string {
	var b strings.Builder
	for _, name := range q.order {
		if lines, open := q.output[name]; open {
			b.WriteString("=== RUN   " + name + "\n" + strings.Join(lines, ""))
		}
	}
	clear(q.output)
	q.order, q.current = nil, ""
	return b.String()
}

// lines takes whole lines, as line does.
func (q *quiet) lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(q.line(line))
	}
	return b.String()
}

// withoutVerbose is a whole output as quiet has it.
func withoutVerbose(output string) string {
	var q quiet
	return q.lines(output) + q.unfinished()
}

// asksForAll reports whether a command line itself has go name every test.
func asksForAll(command string) bool {
	for _, word := range strings.Fields(command) {
		if word == "-v" || word == "-test.v" || strings.HasPrefix(word, "-v=") || word == "-json" {
			return true
		}
	}
	return false
}

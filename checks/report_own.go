package checks

import (
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

var (
	pytestBegin = lazy.Regexp(`^=+ test session starts =+$|^collected \d+ items?\b|^collecting \.\.\.`)
	pytestSum   = lazy.Regexp(
		`^=*\s*(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|` +
			`subtests passed|subtests failed)(?:, )?)+ in [\d.]+s\b`,
	)
	pytestNone = lazy.Regexp(
		`^=*\s*(?:no tests ran|no tests collected|\d+(?:/\d+)? tests? collected)\b.* in [\d.]+s\b`,
	)
	pytestTests  = lazy.Regexp(`\d+ (?:passed|failed)\b`)
	pytestErrors = lazy.Regexp(`, \d+ errors?\b`)
	pytestDots   = lazy.Regexp(`^(?:\S+ )?([.FEsxX]+)\s+\[ *\d+%\]$`)
)

// readPytest reads the last line of pytest; where it is told to leave that out
// (-qq), the marks of its progress. A session that has begun and was ended
// before it summed itself up has run nothing by its own report.
func readPytest(lines []string) *count {
	var summed, marked *count
	begun := false
	for _, line := range lines {
		line = strings.TrimSpace(line)
		switch {
		case pytestBegin().MatchString(line):
			begun = true
		case pytestSum().MatchString(line), pytestNone().MatchString(line):
			if summed == nil {
				summed = &count{names: true}
			}
			if pytestTests().MatchString(line) { // errors come on top: of what a test needs, before it and after
				line = pytestErrors().ReplaceAllString(line, "")
			}
			if pytestSum().MatchString(line) {
				summed.addLine(numberWord(), line)
			}
		default:
			if m := pytestDots().FindStringSubmatch(line); m != nil {
				marked = addMarks(marked, m[1])
			}
		}
	}
	switch {
	case summed != nil:
		return summed
	case begun:
		return &count{}
	}
	return marked
}

// addMarks counts pytest's letters for how tests ended.
func addMarks(c *count, marks string) *count {
	if c == nil {
		c = &count{names: true}
	}
	for _, mark := range marks {
		switch mark {
		case '.', 'X':
			c.passed++
		case 'F', 'E':
			c.failed++
		case 's', 'x':
			c.skipped++
		}
	}
	return c
}

var (
	tapPlan  = lazy.Regexp(`^1\.\.\d+\b`)
	tapPoint = lazy.Regexp(`^(not )?ok\b(?: \d+)?(.*)$`)
	tapSum   = lazy.Regexp(`^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) +(\d+)$`)
	tapSkip  = lazy.Regexp(`(?i)# (?:skip|todo)`)
	// fileEntry is a file that node runs and in which no test was declared: it
	// counts as one.
	fileEntry = lazy.Regexp(`^(?:ok \d+ - |✔ )/\S.*\.[cm]?[jt]sx?(?: \([\d.]+ms\))?$`)
)

// readTAP reads the test anything protocol, and what node's own runner says of
// itself. Files that say nothing of their tests are counted apart: a file
// whose process is ended by the work looks like that.
func readTAP(lines []string) (own, files *count) {
	var points, summed count
	planned, totals := false, false
	for _, line := range lines {
		switch {
		case fileEntry().MatchString(line):
			if files == nil {
				files = &count{names: true}
			}
			files.passed++
		case tapPlan().MatchString(line):
			planned = true
		}
		if tapSum().MatchString(line) {
			totals = true
			summed.addLine(tapSum(), line)
		} else if m := tapPoint().FindStringSubmatch(line); m != nil {
			points.addPoint(m[1] != "", m[2])
		}
	}
	switch {
	case totals:
		own = &summed
	case planned:
		own, files = &points, nil
	default:
		return nil, nil
	}
	own.names = true
	if files != nil {
		if own.passed -= files.passed; own.passed+own.failed+own.skipped == 0 {
			own = nil
		}
	}
	return own, files
}

// addPoint takes one line of the protocol.
func (c *count) addPoint(failed bool, rest string) {
	switch {
	case tapSkip().MatchString(rest):
		c.skipped++
	case failed:
		c.failed++
	default:
		c.passed++
	}
}

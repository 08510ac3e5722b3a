package checks

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// colour is an escape sequence that paints text or moves the cursor.
var colour = lazy.Regexp(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// Report is what the test runners in an output say of the tests that they ran,
// added up; nil where none is recognised. A package of Go without test files
// counts as a runner that ran nothing.
func Report(output string) *plan.TestReport {
	lines := strings.FieldsFunc(colour().ReplaceAllString(output, ""), func(r rune) bool {
		return r == '\n' || r == '\r'
	})
	var report *plan.TestReport
	add := func(name string, c *count) {
		if c == nil {
			return
		}
		if report == nil {
			report = &plan.TestReport{}
		}
		report.Runners = append(report.Runners, name)
		report.Passed = sum(report.Passed, c.ran())
		report.Failed = sum(report.Failed, c.failed)
		report.Skipped = sum(report.Skipped, c.notRun())
		report.Silent += c.quiet
	}
	add("go", readGo(lines))
	for _, r := range runners {
		add(r.name, r.read(lines))
	}
	add("pytest", readPytest(lines))
	own, files := readTAP(lines)
	add("tap", own)
	add("node files", files)
	return report
}

// sum adds two counts, of which -1 is one that is not known.
func sum(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// count is what one runner said.
type count struct {
	total, passed, failed, skipped int
	// names says that it told how many passed, and not only how many there were.
	names bool
	// unsaid says that it ran tests and did not tell how many.
	unsaid bool
	// quiet is how many packages passed and named no test, where others do.
	quiet int
}

// ran is how many tests passed, -1 if that is not known.
func (c *count) ran() int {
	switch {
	case c.unsaid:
		return -1
	case c.names:
		return c.passed
	}
	return max(c.total-c.failed-c.skipped, 0)
}

// notRun is how many tests were skipped, -1 if that is not known.
func (c *count) notRun() int {
	if c.unsaid {
		return -1
	}
	return c.skipped
}

// words are the runners' own words for what became of a test.
var words = map[string]func(*count) *int{
	"passed": (*count).good, "pass": (*count).good, "passing": (*count).good, "xpassed": (*count).good,
	"succeeded": (*count).good, "tests successful": (*count).good,

	"failed": (*count).failures, "fail": (*count).failures, "failing": (*count).failures, "failure": (*count).failures,
	"failures": (*count).failures, "error": (*count).failures, "errors": (*count).failures,
	"cancelled": (*count).failures, "tests failed": (*count).failures, "flaky": (*count).failures,
	"unexpected successes": (*count).failures,

	"skipped": (*count).skips, "skip": (*count).skips, "skips": (*count).skips, "ignored": (*count).skips,
	"pending": (*count).skips, "pendings": (*count).skips, "todo": (*count).skips, "omissions": (*count).skips,
	"incomplete": (*count).skips, "xfailed": (*count).skips, "expected failures": (*count).skips,
	"tests skipped": (*count).skips, "tests aborted": (*count).skips, "did not run": (*count).skips,
	"excluded": (*count).skips,

	"test": (*count).all, "tests": (*count).all, "total": (*count).all, "total tests": (*count).all, "of": (*count).all,
	"run": (*count).all, "runs": (*count).all, "example": (*count).all, "examples": (*count).all,
	"spec": (*count).all, "specs": (*count).all, "doctest": (*count).all, "doctests": (*count).all,
	"property": (*count).all, "properties": (*count).all,
}

func (c *count) good() *int {
	c.names = true
	return &c.passed
}

func (c *count) failures() *int { return &c.failed }
func (c *count) skips() *int    { return &c.skipped }
func (c *count) all() *int      { return &c.total }

// add takes a number under a runner's words for it, of which the last ones may
// be something else: "3 passed in 2s". Words about anything but tests are
// passed over.
func (c *count) add(phrase string, n int) {
	for phrase = strings.ToLower(phrase); phrase != ""; {
		if kind, ok := words[phrase]; ok {
			*kind(c) += n
			return
		}
		phrase = phrase[:max(strings.LastIndexByte(phrase, ' '), 0)]
	}
}

// runner is a program that runs tests, known by the lines that sum them up.
type runner struct {
	name string
	// sums are such lines, and pairs the numbers and words in them, in either
	// order; a word without a number counts once. The default is a number before
	// its word.
	sums, pairs func() *regexp.Regexp
	// none is a line that says that there was nothing to run, silent one that
	// says that tests ran and not how many. Nil for a runner without.
	none, silent func() *regexp.Regexp
}

var (
	numberWord = lazy.Regexp(`(\d+)\s+([A-Za-z]+(?: [A-Za-z]+)*)`)
	wordNumber = lazy.Regexp(`([A-Za-z]+(?: [A-Za-z]+)*)\s*[:=]\s*(\d+)`)
	eitherWay  = lazy.Regexp(`([A-Za-z]+(?: [A-Za-z]+)*)\s*[:=]\s*(\d+)|(\d+)\s+([A-Za-z]+(?: [A-Za-z]+)*)`)
)

// read adds up what the lines of a runner say, nil where there are none.
func (r runner) read(lines []string) *count {
	pairs := numberWord
	if r.pairs != nil {
		pairs = r.pairs
	}
	var out count
	found := false
	for _, line := range lines {
		line = strings.TrimRight(line, " \t")
		sums, silent := r.sums().MatchString(line), r.silent != nil && r.silent().MatchString(line)
		if sums {
			out.addLine(pairs(), line)
		}
		out.unsaid = out.unsaid || silent
		found = found || sums || silent || r.none != nil && r.none().MatchString(line)
	}
	if !found {
		return nil
	}
	return &out
}

// addLine takes the numbers of a line.
func (c *count) addLine(pairs *regexp.Regexp, line string) {
	for _, m := range pairs.FindAllStringSubmatch(line, -1) {
		word, n := "", 1
		for _, part := range m[1:] {
			if digits, err := strconv.Atoi(part); err == nil {
				n = digits
			} else if part != "" {
				word = part
			}
		}
		c.add(word, n)
	}
}

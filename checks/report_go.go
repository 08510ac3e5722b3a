package checks

import (
	"encoding/json"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

var (
	goResult  = lazy.Regexp(`--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$`)
	goRun     = lazy.Regexp(`^=== RUN   (\S.*)$`)
	goPackage = lazy.Regexp(`^(ok  |FAIL|\?   )\t\S+(?:\t| \[)|^\t\S+\t\tcoverage: 0\.0% of statements$`)
	goNone    = lazy.Regexp(`\[no test(?:s to run| files)\]|^testing: warning: no tests to run`)
)

// goReader counts the tests of go test, package by package: a package's line
// comes behind those of its tests.
type goReader struct {
	count
	found bool
	// results are the outcomes in the package that is being read. A test with
	// tests below it is not one itself.
	results map[string]string
	// empty says that the package has said that there was nothing to run.
	empty bool
	// named says that packages name their tests here, silent how many ran and
	// named none: under -v they ran none, else it is not known.
	named  bool
	silent int
}

// readGo reads what go test prints, with -v, without and with -json.
func readGo(lines []string) *count {
	r := goReader{results: map[string]string{}}
	for _, line := range lines {
		r.read(line)
	}
	if r.named || len(r.results) > 0 {
		r.addUpPackage() // of a test program that was run by itself, or was stopped
	}
	if !r.found {
		return nil
	}
	r.names = true
	if r.named {
		r.quiet = r.silent
	} else {
		r.unsaid = r.silent > 0
	}
	return &r.count
}

func (r *goReader) read(line string) {
	if strings.HasPrefix(line, `{"`) {
		r.readJSON(line)
		return
	}
	r.empty = r.empty || goNone().MatchString(line)
	switch m := goPackage().FindStringSubmatch(line); {
	case m != nil:
		r.found = true
		if m[1] == "ok  " && len(r.results) == 0 && !r.empty {
			r.silent++
		}
		r.addUpPackage()
	case goRun().MatchString(line):
		r.found, r.named = true, true
	default:
		if m := goResult().FindStringSubmatch(line); m != nil {
			r.results[m[2]] = m[1]
		}
	}
}

// readJSON takes a line of go test -json.
func (r *goReader) readJSON(line string) {
	var event struct{ Action, Package, Test string }
	if json.Unmarshal([]byte(line), &event) != nil || event.Package == "" {
		return
	}
	switch event.Action {
	case "pass", "fail", "skip":
		r.found, r.named = true, true
		if event.Test != "" {
			r.results[event.Package+" "+event.Test] = strings.ToUpper(event.Action)
		}
	}
}

// addUpPackage adds up the package that was read.
func (r *goReader) addUpPackage() {
	parents := map[string]bool{}
	for name := range r.results {
		for i, c := range name {
			if c == '/' {
				parents[name[:i]] = true
			}
		}
	}
	for name, result := range r.results {
		switch {
		case parents[name]:
		case result == "PASS":
			r.passed++
		case result == "FAIL":
			r.failed++
		default:
			r.skipped++
		}
	}
	clear(r.results)
	r.empty = false
}

package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

const (
	mostLines = 5   // lines of a test that are shown
	lineLimit = 160 // bytes of each
)

// noteRemovedLines notes lines that a change takes out of tests and puts nowhere else: a
// test that is there and runs may still test less. Where a file says less often what has
// to hold than before, that has to be answered.
func noteRemovedLines(f fileChange, files []fileChange, declared map[string]bool) []plan.Finding {
	inCode := path.Ext(f.path) == ".rs" && !isTest(f.path) && !isTest(f.old) // rust keeps tests beside the code
	if !inCode && !isTest(f.path) && !isTest(f.old) {
		return nil
	}
	if f.deleted && len(noteRemovedTests(f, declared)) > 0 {
		return nil // told as a whole
	}
	removed := linesLost(f, files, declared)
	if inCode {
		removed = slices.DeleteFunc(removed, func(l lostLine) bool { return !rustAssertion().MatchString(l.text) })
	}
	lost := make([]string, len(removed))
	for i, l := range removed {
		lost[i] = l.text
	}
	if len(lost) == 0 {
		return nil
	}
	quoted := make([]string, 0, mostLines)
	for _, line := range lost[:min(len(lost), mostLines)] {
		quoted = append(quoted, "`"+cut(line, lineLimit)+"`")
	}
	text := fmt.Sprintf("%s lost %s of its tests, or has other ones in their place: %s", f.path,
		count(len(lost), "line", "lines"), strings.Join(quoted, ", "))
	if more := len(lost) - len(quoted); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	fewer := trues(f.removedDemands) - trues(f.addedDemands)
	if fewer > 0 {
		text += fmt.Sprintf(". It has %s fewer than before", count(fewer, "assertion", "assertions"))
	}
	weaker := weakened(f, removed)
	if weaker > 0 && fewer <= 0 {
		text += fmt.Sprintf(". %s less where it stood; what is new elsewhere does not make up for it",
			count(weaker, "assertion is gone or demands", "assertions are each gone or demand"))
	}
	values := otherValues(f, removed)
	if values > 0 {
		text += fmt.Sprintf(". %s that the lines in their place do not give",
			count(values, "of them has a value", "of them have values"))
	}
	asserted := slices.ContainsFunc(removed, func(l lostLine) bool { return l.demands })
	return []plan.Finding{{
		Kind:   plan.FindEdited,
		Path:   f.path,
		Answer: fewer > 0 && asserted || weaker > 0 || values > 0,
		Text:   text + ".",
	}}
}

// lostLine is a line that is gone, the block that it stood in, and whether it demanded
// something.
type lostLine struct {
	text    string
	block   int
	demands bool
}

// linesLost are the lines that a change takes out of a file and adds to none, without
// those that say nothing of what is tested, and those of tests that are gone as a whole.
func linesLost(f fileChange, files []fileChange, declared map[string]bool) []lostLine {
	added := map[string]int{}
	for _, other := range files {
		for _, line := range other.added {
			added[squeezed(line)]++
		}
	}
	lost := lostNames(f, declared)
	var out []lostLine
	gone := false
	for i, line := range f.removed {
		if names := testNames([]string{line}); len(names) > 0 {
			gone = slices.Contains(lost, names[0])
			continue // tests that are gone are told of by name
		}
		key := squeezed(line)
		if added[key] > 0 {
			added[key]--
			continue
		}
		if !gone && saysSomething(line, path.Ext(f.path)) {
			out = append(out, lostLine{strings.TrimSpace(line), f.removedAt[i], f.removedDemands[i]})
		}
	}
	return out
}

// squeezed is a line without what formatters change.
func squeezed(line string) string {
	line = strings.NewReplacer("'", `"`, ";", "", ",", "").Replace(line)
	return strings.Join(strings.Fields(line), "")
}

// saysSomething reports whether a line of a test can be missed.
func saysSomething(line, ending string) bool {
	line = strings.TrimSpace(line)
	if strings.Trim(line, "(){}[];,:") == "" || comment().MatchString(line) || imports().MatchString(line) {
		return false
	}
	if other := sameLanguage[ending]; other != "" {
		ending = other
	}
	skip := skips[ending]
	return skip == nil || !skip().MatchString(line)
}

var (
	comment = lazy.Regexp(`^(?://|#(?:[^\[]|$)|/?\*|--\s|"""|''')`)
	imports = lazy.Regexp(`^(?:import|from|use|using|require|package|#include|export)\b|` +
		`^(?:const|let|var)\b.*\brequire\(|^"[\w./-]+"$`)
	rustAssertion = lazy.Regexp(`\b(?:debug_)?assert(?:_\w+)?!|#\[should_panic`)
)

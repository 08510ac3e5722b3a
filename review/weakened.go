package review

import (
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/patch"
)

// weakened counts the assertions of a test that are gone from where they stood, or stand
// there as one that demands less. Assertions that a change adds at another place test
// something else and make up for none.
func weakened(f fileChange, lost []lostLine) int {
	added := map[int][]string{}
	for i, line := range f.added {
		if f.addedDemands[i] {
			added[f.addedAt[i]] = append(added[f.addedAt[i]], line)
		}
	}
	removed := map[int][]string{}
	for _, l := range lost {
		if l.demands {
			removed[l.block] = append(removed[l.block], l.text)
		}
	}
	n := 0
	for block, lines := range removed {
		instead := added[block]
		less := max(0, len(lines)-len(instead))
		for _, line := range instead {
			if loosens(line, lines) {
				less++
			}
		}
		n += min(less, len(lines))
	}
	return n
}

// loosens reports whether an assertion is one of these without its end, or only demands
// that there is something, or something of a kind, where one of these said what; or whether
// it is without a part that has to hold as well, or takes an alternative. Of a
// condition behind which a test fails it is the other way round.
func loosens(line string, lost []string) bool {
	now := trimmed(line)
	for _, old := range lost {
		old := trimmed(old)
		ands, ors := len(and().FindAllString(now, -1))-len(and().FindAllString(old, -1)),
			len(or().FindAllString(now, -1))-len(or().FindAllString(old, -1))
		fails := condition().MatchString(now)
		if fails {
			ands, ors = -ands, -ors
		}
		switch {
		case ands < 0 || ors > 0,
			!fails && begins(old, now),
			anything().MatchString(line) && !anything().MatchString(old):
			return true
		}
		if equality().MatchString(old) && !named().MatchString(old) &&
			(!equality().MatchString(line) || named().MatchString(line)) {
			return true
		}
	}
	return false
}

// begins reports whether a line goes on where an assertion ends.
func begins(line, assertion string) bool {
	rest, ok := strings.CutPrefix(line, assertion)
	return ok && rest != "" && strings.ContainsAny(rest[:1], " .,=!<>[(")
}

// trimmed is a line without its indentation and what ends it.
func trimmed(line string) string {
	return strings.TrimRight(oneline.Of(line), "; {:")
}

// otherValues counts the lines of a test that gave a number or a text which the lines in
// their place do not give: it is asked for something else now, or asked something else.
// What a test says when it fails is no such text.
func otherValues(f fileChange, lost []lostLine) int {
	ending := path.Ext(f.path)
	if other := sameLanguage[ending]; other != "" {
		ending = other
	}
	if skips[ending] == nil { // data in files of its own changes as a whole
		return 0
	}
	remaining := map[int][]string{}
	for i, line := range f.added {
		remaining[f.addedAt[i]] = append(remaining[f.addedAt[i]], literals(line)...)
	}
	n := 0
	for _, l := range lost {
		if failsHere().MatchString(l.text) {
			continue
		}
		gone := false
		for _, value := range literals(l.text) {
			i := slices.Index(remaining[l.block], value)
			if gone = gone || i < 0; i >= 0 {
				remaining[l.block] = slices.Delete(remaining[l.block], i, i+1)
			}
		}
		if gone {
			n++
		}
	}
	return n
}

// literals are the numbers and texts in a line, in whichever quotes.
func literals(line string) []string {
	literals := literal().FindAllString(line, -1)
	for i, text := range literals {
		literals[i] = strings.Trim(text, "\"'`")
	}
	return literals
}

// demands reports whether a line of a patch says what has to hold: it is an assertion, or
// a condition behind which the test fails. That failing by itself is then none.
func demands(lines []patch.Line, i int) bool {
	text := strings.TrimSpace(lines[i].Text)
	if comment().MatchString(text) {
		return false
	}
	if guards(lines, i) >= 0 {
		return true
	}
	if !assertion().MatchString(text) {
		return false
	}
	for j := max(0, i-near); j < i; j++ {
		if lines[j].Kind == lines[i].Kind && guards(lines, j) == i {
			return false
		}
	}
	return true
}

// near is how many lines behind its condition a test fails at most.
const near = 3

// guards is where a test fails if the condition in a line holds; -1 if it does not there.
func guards(lines []patch.Line, i int) int {
	if !condition().MatchString(lines[i].Text) {
		return -1
	}
	looked := 0
	for j := i + 1; j < len(lines) && looked < near; j++ {
		if lines[j].Kind != ' ' && lines[j].Kind != lines[i].Kind {
			continue // it belongs to the other side
		}
		if indent(lines[j].Text) <= indent(lines[i].Text) {
			return -1
		}
		if looked++; failsHere().MatchString(lines[j].Text) {
			return j
		}
	}
	return -1
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func trues(list []bool) int {
	n := 0
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

var (
	// assertion finds what the common libraries of tests call a demand.
	assertion = lazy.Regexp(`(?i)\bassert\w*|\bexpect\w*\(|\bexpect(?:\.\w| *\{| do\b)|\bshould\b|\brequire\.\w+\(|` +
		`\bt\.(?:error|fatal|fail|ok|is|not|same|match|throws|rejects|truthy|falsy)\w*\(|` +
		`\b(?:deep|not|strict)?equals?\w*\(|\bpytest\.raises\b|\bcheck\w*\(|\bverify\w*\(|\bcmp\.diff\(|\bis_\w+\(`)
	and = lazy.Regexp(`&&|\band\b`)
	or  = lazy.Regexp(`\|\||\bor\b`)
	// condition finds what may stand before the failing of a test.
	condition = lazy.Regexp(`^\W*(?:else +)?(?:if|elif|elsif|unless)\b`)
	// failsHere finds where a test fails by itself.
	failsHere = lazy.Regexp(`^\s*(?:[\w.]+\.(?:Error|Fatal|Fail)(?:f|Now)?\(|[\w.]*\bfail(?:ed|ure)?\(|` +
		`(?:raise|throw|die|panic!?|abort|exit|os\.Exit|process\.exit|sys\.exit|return 1)\b)`)
	// literal finds numbers and texts.
	literal = lazy.Regexp("\\b\\d[\\w.]*|\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`")
)

// anything finds assertions that nearly every value meets.
var anything = lazy.Regexp(`(?i)\btobe(?:defined|truthy)\(|\bnot_?(?:nil|empty|none|null|zero)\(|` +
	`\bis_?not_?(?:nil|none|null)\(|\bis not none\b|\bto\.exist\b|\bassert(?:\.true|true)?[ (]+(?:t, *)?true\b|` +
	`\b(?:assert|t)\.(?:ok|truthy|pass)\(|\.is_(?:ok|some)\(\)|\bexpect\.anything\(`)

var (
	// equality finds assertions that say which value it has to be.
	equality = lazy.Regexp(`(?i)equal|\beq\b|_eq\b|\beq_|\btobe\(|==|!=|\bis_deeply\b|\bsame\(|\bcmp\.diff\(|\bis\(`)
	// named finds values that an assertion of its own is for, such as that of no error.
	named = lazy.Regexp(
		`(?i)\b(?:none|nil|null|undefined|true|false|len|length|err|error)\b|[(,] *(?:0|\[\]|\{\}|""|'')[,)]`,
	)
)

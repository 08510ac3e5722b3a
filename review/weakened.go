package review

import (
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// weakened counts the assertions of a test that are gone from where they stood, or stand
// there as one that demands less. Assertions that a change adds at another place test
// something else and make up for none.
func weakened(f fileChange, lost []lostLine) int {
	added := map[int][]string{}
	for i, line := range f.added {
		if assertions([]string{line}) > 0 {
			added[f.addedAt[i]] = append(added[f.addedAt[i]], line)
		}
	}
	gone := map[int][]string{}
	for _, l := range lost {
		if assertions([]string{l.text}) > 0 {
			gone[l.block] = append(gone[l.block], l.text)
		}
	}
	n := 0
	for block, lines := range gone {
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
// that there is something, or something of a kind, where one of these said what.
func loosens(line string, lost []string) bool {
	now := trimmed(line)
	for _, was := range lost {
		rest, begins := strings.CutPrefix(trimmed(was), now)
		if begins && rest != "" && strings.ContainsAny(rest[:1], " .,=!<>[(") {
			return true
		}
		if anything().MatchString(line) && !anything().MatchString(was) {
			return true
		}
		if equality().MatchString(was) && !named().MatchString(was) && !equality().MatchString(line) {
			return true
		}
	}
	return false
}

func trimmed(line string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(line), " "), ";")
}

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

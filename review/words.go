package review

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// maxNothing is how long a text may be that only says that there is nothing, in
// bytes.
const maxNothing = 120

// emptyMarks are the characters in which an empty list or value is written.
const emptyMarks = " \t\r\n[]{}()<>\"'`*_-–—/.,;:|~∅"

// A text says nothing if all its clauses do. One clause is a word for an empty
// list, with at most the words around it that count and name gaps; another may
// say that all is well.
var (
	clauseEnd = lazy.Regexp(`[.;,:!()\[\]|–—\n]+|\s-+\s`)

	emptyClause = lazy.Regexp(`^(?:(?:there|here) (?:is|are|was|were) |i (?:see|saw|find|found|have|know of) )?` +
		`(?:no|none|nothing|not any|not applicable|nil|null|na|zero|0|empty|nope)` +
		`(?: (?:known|new|open|other|further|more|additional|remaining|outstanding|real|actual|must|should|or|and|must-fix|` +
		`blocking|critical|major|minor|serious|significant|obvious|` + gapNoun + `|missing|identified|found|seen|noted|` +
		`detected|observed|reported|left|remains?|over|is|are|was|were|has|have|been|at|all|so|far|here|` +
		`to (?:do|add|fix|change|report|note|mention)|` +
		`(?:changes?|actions?|fix(?:es)?|work) (?:is |are )?(?:needed|required|necessary)))*$`)
	emptyPlace = lazy.Regexp(`^no (?:\w+ )?` + gapNoun + `(?: found)? (?:in|with) (?:the|this) \w+$`)

	wellClause = lazy.Regexp(`^(?:all|everything|every)(?: (?:of|the|is|are|was|were|has|have|been|as|well|good|fine|ok|` +
		`in|order|there|requirements?|items?|criteria|gaps|tests?|checks?|met|done|closed|complete|completed|satisfied|` +
		`fulfilled|covered|works?|pass|passes|asked|planned|requested|expected))*$`)

	labelClause = lazy.Regexp(`^(?:missing|open|` + gapNoun + `|open ` + gapNoun + `)$`)
)

const gapNoun = `(?:gaps?|issues?|problems?|defects?|bugs?|concerns?|findings?)`

// clauses are the parts of a text in small letters, without punctuation and
// Markdown around them.
func clauses(text string) []string {
	var out []string
	text = strings.ReplaceAll(strings.ToLower(text), "/", "")
	for _, c := range clauseEnd().Split(text, -1) {
		if c = strings.Join(strings.Fields(strings.Trim(c, emptyMarks)), " "); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// saysNothing reports whether a text is a way to write an empty list or value.
// An ellipsis is none: it stands for something.
func saysNothing(text string) bool {
	if len(text) > maxNothing {
		return strings.TrimSpace(text) == ""
	}
	if strings.Trim(text, emptyMarks) == "" {
		return !strings.Contains(text, "..")
	}
	parts := clauses(text)
	return slices.ContainsFunc(parts, isEmpty) && !slices.ContainsFunc(parts, func(c string) bool {
		return !isEmpty(c) && !wellClause().MatchString(c) && !labelClause().MatchString(c)
	})
}

// namesNoGap reports whether a text in the place of a gap says that there is
// none.
func namesNoGap(text string) bool {
	if saysNothing(text) {
		return true
	}
	parts := clauses(text)
	return len(text) <= maxNothing && len(parts) > 0 && !slices.ContainsFunc(parts, func(c string) bool {
		return !wellClause().MatchString(c)
	})
}

func isEmpty(clause string) bool {
	return emptyClause().MatchString(clause) || emptyPlace().MatchString(clause)
}

// The words in which a requirement is said to be met or not. A negation counts
// only where it denies one of the states, so that "does not crash" stays a
// requirement.
const (
	state = `(?:done|met|completed?|finished|implemented?|tested|verif(?:y|ied)|confirm(?:ed)?|satisf(?:y|ied)|fulfilled|` +
		`work(?:s|ing)?|pass(?:es|ed|ing)?|resolved|fixed|addressed|covered|prove[dn]?|checked|ran|run|test|check|achieved|` +
		`delivered|handled|correct|ok|okay)`
	adverb = `(?:yet|been|be|being|is|are|was|were|has|have|had|fully|really|still|completely|entirely|properly|` +
		`correctly|actually|currently|quite|all|it|this|that|to|able)`
	denying = `(?:not|never|cannot|unable|hardly|barely|partly|partial|partially|half|almost|nearly|mostly|largely|` +
		`yet|remains?|\w+n't)`
	failing = `(?:fails?|failed|failing|failure|missing|incomplete|partial|partially|partly|todo|tbd|wip|pending|open|` +
		`broken|wrong|no|none|skipped|absent|blocked|unclear|unknown|remaining|remains?|outstanding|insufficient|` +
		`deferred|omitted|lacking|false|un` + state + `)`
	between = "[\\s*_`]+"
)

var (
	denial  = lazy.Regexp(`(?i)\b` + denying + `(?:` + between + adverb + `)*` + between + state + `\b`)
	noEnd   = lazy.Regexp(`(?i)\b(?:not|never|\w+n't)(?:` + between + adverb + `)*\W*$`)
	failEnd = lazy.Regexp(`(?i)\b` + failing + `(?:` + between + adverb + `)*\W*$`)
	failTop = lazy.Regexp(`(?i)^\W*` + failing + `(?:` + between + `(?:` + adverb + `|` + state + `))*\s*(?:[:;()\[\]|–—→=]|\s-+\s)`)
)

// denies reports whether a requirement is said, in its own words, not to be met:
// "NOT done", "could not be verified", "not yet".
func denies(text string) bool {
	text = strings.ReplaceAll(text, "’", "'")
	return denial().MatchString(text) || noEnd().MatchString(text)
}

// fails reports whether a requirement begins or ends with a word for a bad
// state, as in "TODO: docs" and "the tests fail".
func fails(text string) bool {
	return failEnd().MatchString(text) || failTop().MatchString(text)
}

package review

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
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

	emptyClause = lazy.Regexp(`^` + thereIs +
		`(?:no|none|nothing|not any|not applicable|nil|null|undefined|na|zero|0|empty|nope)` +
		`(?: (?:known|new|open|other|else|further|more|additional|remaining|outstanding|real|actual|must|should|or|` +
		`and|` +
		`must-fix|blocking|critical|major|minor|serious|significant|obvious|` + gapNoun + `|missing|identified|found|` +
		`seen|noted|detected|observed|reported|left|remains?|is|are|was|were|has|have|been|at|all|so|far|here|` +
		`at this time|at present|for now|currently|to (?:do|add|fix|change|report|note|mention)|` +
		`(?:missing|open|outstanding|remaining|unmet) (?:requirements?|items?|pieces?|parts?|work|tasks?)|` +
		`(?:(?:changes?|actions?|fix(?:es)?|work) )?(?:is |are )?(?:needed|required|necessary)))*$`)

	emptyPlace = lazy.Regexp(`^` + thereIs + `(?:no|not find any|not see any|nt find any|nt see any) ` +
		`(?:[a-z-]+ )?` + gapNoun + `(?: found)?(?: (?:in|with|during|by|for) (?:(?:the|this|my) )?[a-z]+)?$`)

	wellClause = lazy.Regexp(`^(?:all|everything|every|the (?:work|implementation|change|patch))` +
		`(?: (?:of|the|is|are|was|were|has|have|been|in|requirements?|items?|criteria|gaps|tests?|checks?|asked|` +
		`planned|requested))* (?:well|good|fine|ok|order|met|done|closed|complete|completed|satisfied|fulfilled|` +
		`covered|works?|pass|passes)(?: as (?:asked|planned|requested|expected))?$`)

	labelClause = lazy.Regexp(`^(?:missing|open|` + gapNoun + `|open ` + gapNoun + `)$`)
)

const (
	gapNoun = `(?:gaps?|issues?|problems?|defects?|bugs?|concerns?|findings?)`
	thereIs = `(?:(?:there|here) (?:is|are|was|were) |i (?:see|saw|find|found|have|know of|could|can|did) ?)?`
)

// clauses are the parts of a text in small letters, without punctuation and
// Markdown around them.
func clauses(text string) []string {
	var out []string
	text = strings.ToLower(text)
	for _, inWords := range []string{"/", "'", "’"} {
		text = strings.ReplaceAll(text, inWords, "")
	}
	for _, c := range clauseEnd().Split(text, -1) {
		if c = oneline.Of(strings.Trim(c, emptyMarks)); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// saysNothing reports whether a text is a way to write an empty list or value.
// An ellipsis is none: it stands for something.
func saysNothing(text string) bool { return onlySays(text, isEmpty) }

// namesNoGap reports whether a text in the place of a gap says that there is
// none, also by saying that all is well.
func namesNoGap(text string) bool {
	return onlySays(text, func(clause string) bool { return isEmpty(clause) || wellClause().MatchString(clause) })
}

// onlySays reports whether a text says a certain thing, and nothing else but
// that there is nothing.
func onlySays(text string, says func(clause string) bool) bool {
	if len(text) > maxNothing {
		return strings.TrimSpace(text) == ""
	}
	if strings.Trim(text, emptyMarks) == "" {
		return !strings.Contains(text, "..")
	}
	parts := clauses(text)
	return slices.ContainsFunc(parts, says) && !slices.ContainsFunc(parts, func(c string) bool {
		return !isEmpty(c) && !wellClause().MatchString(c) && !labelClause().MatchString(c)
	})
}

func isEmpty(clause string) bool {
	return emptyClause().MatchString(clause) || emptyPlace().MatchString(clause)
}

// The words in which a requirement is said to be met or not. A negation counts
// only where it denies one of the states, so that "does not crash" stays a
// requirement; or where the reviewer speaks of itself.
const (
	state = `(?:done|met|completed?|finished|implemented?|tested|verif(?:y|ied)|confirm(?:ed)?|satisf(?:y|ied)|` +
		`fulfilled|work(?:s|ing)?|pass(?:es|ed|ing)?|resolved|fixed|addressed|covered|prove[dn]?|checked|ran|run|` +
		`test|` +
		`check|achieved|delivered|handled|correct|ok|okay)`
	adverb = `(?:yet|been|be|being|is|are|was|were|has|have|had|fully|really|still|completely|entirely|properly|` +
		`correctly|actually|currently|quite|all|it|this|that|to|able)`
	negation = `(?:not|never|cannot|\w+n't)`
	denying  = `(?:` + negation + `|unable|hardly|barely|partly|partial|partially|half|almost|nearly|mostly|` +
		`largely|yet|remains?)`
	failing = `(?:fails?|failed|failing|failure|missing|incomplete|partial|partially|partly|todo|to do|tbd|wip|` +
		`pending|open|broken|wrong|no|none|skipped|absent|blocked|unclear|unknown|remaining|remains?|outstanding|` +
		`insufficient|deferred|omitted|lacking|left out|later|false|un` + state + `)`
	between = "[\\s*_`]+"
	setOff  = `(?:[:;()\[\]|–—→=]|\s-+\s)`
	adverbs = `(?:` + between + adverb + `)*`
)

var (
	denial  = lazy.Regexp(`(?i)\b` + denying + adverbs + between + state + `\b`)
	selfNo  = lazy.Regexp(`(?i)\b(?:i|we)` + between + `(?:\w+` + between + `)?` + negation + `\b`)
	noEnd   = lazy.Regexp(`(?i)\b(?:not|never|\w+n't)` + adverbs + `\W*$`)
	failTop = lazy.Regexp(`(?i)^\W*` + failing + `(?:` + between + `(?:` + adverb + `|` + state + `))*\s*` + setOff)
	failOff = lazy.Regexp(`(?i)` + setOff + `\W*(?:` + adverb + between + `)*` + failing + adverbs + `\W*$`)
	failEnd = lazy.Regexp(`(?i)\b` + failing + adverbs + `\W*$`)

	// noneBad is a count of bad things that ends well, as "regressions: none".
	noneBad = lazy.Regexp(`(?i)(?:` + gapNoun + `|regressions?|failures?|errors?|warnings?|panics?|races?|leaks?)` +
		`\W+(?:no|none)\W*$`)
	// badNone is one as well, and a state in a condition is none of the work's.
	badNone = lazy.Regexp(`(?i)\b(?:0|no|zero|without|if|when|while|after|before)\s+(?:[\w']+\s+){0,3}\w+\W*$`)
	// endsInValue is one of a program's words for nothing, behind others.
	endsInValue = lazy.Regexp(`(?i)\w\W+(?:no|none|false)\W*$`)
	// inlineCode is code, which says nothing of the state of the work.
	inlineCode = lazy.Regexp("`[^`\n]+`")
)

// denies reports whether a requirement is said, in its own words, not to be met:
// "NOT done", "could not be verified", "not yet".
func denies(text string) bool {
	return noEnd().MatchString(straight(text)) || deniesState(text)
}

func deniesState(text string) bool {
	text = straight(text)
	return denial().MatchString(text) || selfNo().MatchString(text)
}

func straight(text string) string { return strings.ReplaceAll(text, "’", "'") }

// deniesMet is denies for a requirement that is said to be met beside its words. There a
// denial at the end may be part of what is required: "a is taken, b is not", "also where it
// is not".
func deniesMet(text string) bool {
	return deniesState(text) || noEnd().MatchString(straight(text)) && !requiresDenial(straight(text))
}

var (
	// lastDenial is a verb that denies what was said before it, and orNot leaves it open.
	lastDenial = lazy.Regexp(`(?is)^(.*\S)\s+(is|are|was|were|can|could|may|might|must|should|will|would|has|have|had|` +
		`does|do|did)\s*(?:not|n't)\W*$`)
	orNot      = lazy.Regexp(`(?is)^(.*\b(?:whether|if)\b.*)\bor\s+not\W*$`)
	ofACase    = lazy.Regexp(`(?i)\b(?:if|when|where|unless|that|which|who|what|ones?|those)(?:\s+[^\s,;:]+){0,3}$`)
	clauseJoin = lazy.Regexp(`(?i)[,;:()–—]|\b(?:and|but|while|whereas|or)\b`)
	anyState   = lazy.Regexp(`(?i)\b` + state + `\b`)
)

// requiresDenial reports whether a denial at the end of a text is said of a case, or of another
// thing than what the text affirms. With a word for the state of the work it is said of that.
func requiresDenial(text string) bool {
	if m := orNot().FindStringSubmatch(text); m != nil {
		return !anyState().MatchString(m[1])
	}
	m := lastDenial().FindStringSubmatch(text)
	if m == nil || anyState().MatchString(m[1]) {
		return false
	}
	if ofACase().MatchString(m[1]) {
		return true
	}
	joins := clauseJoin().FindAllStringIndex(m[1], -1)
	return len(joins) > 0 && affirms(m[1][:joins[len(joins)-1][0]], strings.ToLower(m[2]))
}

// affirms reports whether a clause says what another one denies with this verb.
func affirms(clause, verb string) bool {
	words := strings.Fields(strings.ToLower(clause))
	like := []string{verb}
	switch verb {
	case "is", "are", "was", "were":
		like = []string{"is", "are", "was", "were"}
	case "does", "do", "did": // stand for any verb
		const fewest = 3 // words of a clause with a subject, a verb and what it says
		return len(words) >= fewest
	}
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(like, w) })
}

// fails reports whether a word for a bad state is set off at the beginning or
// the end of a requirement, as in "TODO: docs" and "docs (missing)".
func fails(text string) bool {
	return failTop().MatchString(text) || failOff().MatchString(text) && !noneBad().MatchString(text)
}

// endsBadly reports whether a text ends with a word for a bad state.
func endsBadly(text string) bool {
	return failEnd().MatchString(text) && !noneBad().MatchString(text) && !badNone().MatchString(text)
}

// withoutCode is a text with a word in the place of what it quotes as code.
func withoutCode(text string) string { return inlineCode().ReplaceAllString(text, "code") }

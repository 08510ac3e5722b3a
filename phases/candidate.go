package phases

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/plan-engine/plan"
)

// Candidacy says whether a request warrants the four phases, and why.
type Candidacy struct {
	Phased bool
	// Score is what the signs add up to: 2 for a strong one, 1 for a weak one.
	Score int
	// Confidence is Score over 4, at most 1; 0 for a request that does not.
	Confidence float64
	Signs      []string // the words that counted
}

// Why says in half a sentence what decided.
func (c Candidacy) Why() string {
	switch {
	case c.Phased:
		return fmt.Sprintf("the request speaks of broad work (%s)", quoteList(c.Signs))
	case len(c.Signs) > 0:
		return fmt.Sprintf("%s alone does not make broad work", quoteList(c.Signs))
	}
	return "nothing in the request speaks of broad work"
}

// DirectPlan is the plan of the direct way, which has none: the request itself
// is what is carried out and reviewed.
func DirectPlan() plan.PlanDoc {
	return ParsePlan("# Plan: the request as it stands\n\n## Why\nNo plan was made, because the request does not speak of broad work. Look at the code first, then do what the request says, no more and no less. The review goes by the request.\n")
}

func quoteList(signs []string) string {
	return `"` + strings.Join(signs, `", "`) + `"`
}

// phasedFrom is the score from which on a request gets the four phases.
const phasedFrom = 2

// Candidate decides whether a request warrants Explore and Plan before
// Implement. Each word counts once, in the strongest sign that it is part of;
// code, and questions that ask for no work, are passed over.
func Candidate(request string) Candidacy {
	text := withoutQuestions(withoutCode(request))
	var c Candidacy
	count := func(re *regexp.Regexp, worth int) {
		text = re.ReplaceAllStringFunc(text, func(m string) string {
			c.Score += worth
			c.Signs = append(c.Signs, strings.Join(strings.Fields(m), " "))
			return strings.Repeat("\x00", len(m)) // counted: nothing may match here again
		})
	}
	count(strong(), 2)
	count(weak(), 1)
	if sign := enumeration(text); sign != "" {
		c.Score++
		c.Signs = append(c.Signs, sign)
	}
	if c.Phased = c.Score >= phasedFrom; c.Phased {
		c.Confidence = min(1, float64(c.Score)/4)
	}
	return c
}

// lazily is an expression that is compiled when it is first asked for: most
// runs never ask for these.
func lazily(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// The signs of broad work. all is what makes a thing many; things are what a
// repository has many of.
const (
	all    = `(?:all|every|each|the\s+(?:entire|whole)|entire|whole)`
	things = `(?:files?|modules?|packages?|services?|directories|directory|folders?|tests?|handlers?|endpoints?|components?|classes|class|functions?|repositories|repository|repos?|projects?|codebase|code\s*base|tree|workspace|monorepo|crates?|callers?|usages?|call\s+sites?)`
	looks  = `(?:audit|scan|review|check|sweep|search|migrate|port|rewrite|refactor|analy[sz]e|inspect|examine)`
)

var strong = lazily(`(?i)\b(?:` + strings.Join([]string{
	`across\s+(?:all|every|the\s+(?:entire|whole)|multiple|many)(?:\s+of)?(?:\s+the)?(?:\s+` + things + `)?`,
	looks + `(?:s|ing)?\s+(?:all|every|each|the\s+(?:entire|whole))(?:\s+of)?(?:\s+the)?(?:\s+` + things + `)?`,
	`(?:entire|whole)[\s-]+` + things + `(?:\s+` + looks + `)?`,
	`(?:entire|whole)[\s-]+(?:` + looks + `)`,
	`for\s+(?:each|every)(?:\s+` + things + `)?`,
	`every(?:\s+single)?\s+` + things,
	`everything\s+in`,
	`migrate\s+all`,
	`in\s+parallel`,
	`one\s+by\s+one`,
	`fan\s*-?\s*out`,
	`each\s+of\s+(?:the|these|those)`,
}, "|") + `)\b`)

var weak = lazily(`(?i)\b(?:audit(?:s|ed|ing)?|migrat(?:e|es|ing|ions?)|comprehensive(?:ly)?|thorough(?:ly)?|exhaustive(?:ly)?)\b`)

var (
	markers   = lazily(`(?:^|[\s(])([1-9])[.)](?:\s|$)`)
	sequences = lazily(`(?is)\bfirst\b.*\b(?:second|then)\b`)
)

// enumeration is a list of things to do: at least the markers 1 and 2, or
// first and what follows. Versions like 1.2 are none.
func enumeration(text string) string {
	var seen []string
	for _, m := range markers().FindAllStringSubmatch(text, -1) {
		seen = append(seen, m[1])
	}
	switch {
	case slices.Contains(seen, "1") && slices.Contains(seen, "2"):
		return "1. … 2. …"
	case sequences().MatchString(text):
		return "first … then"
	}
	return ""
}

var anyCode = lazily("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)|`[^`\n]*`")

func withoutCode(text string) string { return anyCode().ReplaceAllString(text, " ") }

var (
	sentenceEnd = lazily(`[^.!?\n]*[.!?\n]*`)
	// asks begins a sentence that wants an answer and no work. "Can you …?" and
	// "Please …?" are polite ways to ask for work.
	asks = lazily(`(?i)^(?:and\s+|so\s+|but\s+)?(?:what|why|how|when|where|which|who|whose|is|are|was|were|does|do|did|has|have|should)\b`)
)

// withoutQuestions drops the sentences that only ask something.
func withoutQuestions(text string) string {
	return sentenceEnd().ReplaceAllStringFunc(text, func(s string) string {
		words := strings.TrimLeftFunc(s, unicode.IsSpace)
		if strings.Contains(s, "?") && asks().MatchString(words) {
			return strings.Repeat(" ", len(s))
		}
		return s
	})
}

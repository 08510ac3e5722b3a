package phases

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
)

// Candidacy says whether a request warrants the four phases, and why.
type Candidacy struct {
	Phased bool // it does
	// Certain says that it does not: it has no sign, and is short enough that nothing
	// else can be meant.
	Certain bool
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
	if !c.Certain {
		return "the request is too long to be certain that it is small"
	}
	return "nothing in the request speaks of broad work"
}

// DirectPlan is the plan of the direct way, which has none: the request itself
// is what is carried out and reviewed. Words tell little of how far a change reaches, so
// the implementer, who looks at the code first, can ask for a plan.
func DirectPlan() plan.PlanDoc {
	return ParsePlan(
		"# Plan: the request as it stands\n\n## Why\nNo plan was made, because the request does not speak of " +
			"broad work. Look at the code first, then do what the request says, no more and no less. Where that " +
			"shows that the change reaches far, or leaves open what the code does not settle, ask for a plan with " +
			"`replan` before anything is changed. The review goes by the request.\n",
	)
}

func quoteList(signs []string) string {
	return `"` + strings.Join(signs, `", "`) + `"`
}

// certainWords is how long a request may be that is certain to be small.
const certainWords = 25

// phasedFrom is the score from which on a request gets the four phases.
const phasedFrom = 2

// Candidate decides whether a request warrants Explore and Plan before
// Implement. Each sign counts once, however often it is there, and each word
// only in the strongest sign that it is part of; code, and questions that ask
// for no work, are passed over.
func Candidate(request string) Candidacy {
	text := withoutQuestions(withoutCode(strings.Map(plainSpace, request)))
	var c Candidacy
	count := func(signs []expression, worth int) {
		for _, sign := range signs {
			words, rest := take(text, sign())
			if words == "" {
				continue
			}
			text = rest
			c.Score += worth
			c.Signs = append(c.Signs, words)
		}
	}
	count(strong, 2)
	count(weak, 1)
	if sign := enumeration(text); sign != "" {
		c.Score++
		c.Signs = append(c.Signs, sign)
	}
	if c.Phased = c.Score >= phasedFrom; c.Phased {
		c.Confidence = min(1, float64(c.Score)/4)
	}
	c.Certain = c.Score == 0 && len(strings.Fields(request)) <= certainWords
	return c
}

// plainSpace makes every kind of space within a line the plain one.
func plainSpace(r rune) rune {
	if r != '\n' && unicode.IsSpace(r) {
		return ' '
	}
	return r
}

// take finds a sign and returns its first words, "" if it is not there, and
// the text in which nothing can match any more where the sign stands.
func take(text string, sign *regexp.Regexp) (words, rest string) {
	var left strings.Builder
	from := 0
	for _, at := range sign.FindAllStringIndex(text, -1) {
		if !wholeWords(text, at[0], at[1]) {
			continue
		}
		if words == "" {
			words = oneline.Of(text[at[0]:at[1]])
		}
		left.WriteString(text[from:at[0]])
		left.WriteString(strings.Repeat("\x00", at[1]-at[0]))
		from = at[1]
	}
	left.WriteString(text[from:])
	return words, left.String()
}

// wholeWords reports whether text[start:end] is no part of a longer word, also
// of one in letters that \b does not know.
func wholeWords(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !inWord(before) && !inWord(after)
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// The signs of broad work. all is what makes a thing many; things are what a
// repository has many of, and places those of them that stand for a breadth by
// themselves.
const (
	all    = `(?:all|every|each|(?:the\s+)?(?:entire|whole))`
	the    = `(?:\s+of)?(?:\s+the)?`
	things = `(?:files?|modules?|packages?|services?|directories|directory|folders?|tests?|handlers?|endpoints?|` +
		`components?|classes|class|functions?|repositories|repository|repos?|projects?|codebase|code\s*base|tree|` +
		`workspace|monorepo|crates?|callers?|usages?|call\s+sites?)`
	places = `(?:files|modules|packages|services|directories|folders|handlers|endpoints|components|repositories|` +
		`repos|projects|crates|callers|usages|call\s+sites)`
	looks = `(?:audit|scan|review|check|sweep|search|migrat|port|rewrit|refactor|convert|analy[sz]|inspect|` +
		`examin)(?:e|es|s|n?ing)?`
)

// Signs that contain others stand before them.
var strong = signs(
	`across\s+(?:`+all+`|multiple|many)`+the+`(?:\s+`+things+`)?`,
	looks+`\s+`+all+the+`(?:\s+`+things+`)?`,
	`(?:entire|whole)[\s-]+(?:`+things+`(?:[\s-]+`+looks+`)?|`+looks+`)`,
	`(?:repo|repository|project|codebase|workspace)-?wide`,
	`for\s+(?:each|every)(?:\s+`+things+`)?`,
	`(?:each|every)\s+(?:single\s+)?of\s+(?:the|these|those)`,
	`every(?:\s+single)?\s+`+things,
	`all`+the+`(?:\s+\w+)?\s+`+places,
	`everything\s+in`,
	`in\s+parallel`,
	`one[\s-]+(?:by[\s-]+one|at[\s-]+a[\s-]+time)`,
	`fan(?:s|ned|ning)?(?:[\s-]*|\s+(?:it|them|this|these|the\s+\w+)\s+)out`,
)

var weak = signs(
	`audit(?:s|ed|ing)?`,
	`migrat(?:e|es|ed|ing|ions?)`,
	`comprehensive(?:ly)?`,
	`thorough(?:ly)?`,
	`exhaustive(?:ly)?`,
)

func signs(patterns ...string) []expression {
	var out []expression
	for _, p := range patterns {
		out = append(out, lazy.Regexp(`(?i)\b(?:`+p+`)\b`))
	}
	return out
}

// expression is compiled when it is first asked for: most runs never ask.
type expression = func() *regexp.Regexp

var (
	markers   = lazy.Regexp(`(?:^|[\s(])([1-9])[.)]`)
	sequences = lazy.Regexp(`(?is)\bfirst\b.*\b(?:second|then)\b`)
)

// enumeration is a list of things to do: at least the markers 1 and 2, or
// first and what follows. Versions like 1.2 are none.
func enumeration(text string) string {
	seen := map[string]bool{}
	for _, at := range markers().FindAllStringSubmatchIndex(text, -1) {
		if rest := text[at[1]:]; rest == "" || strings.TrimLeft(rest, " \n") != rest {
			seen[text[at[2]:at[3]]] = true
		}
	}
	switch {
	case seen["1"] && seen["2"]:
		return "1. … 2. …"
	case sequences().MatchString(text):
		return "first … then"
	}
	return ""
}

// Code: what is fenced or quoted as such, paths, flags, and names with dots,
// colons or parentheses in them.
var code = []expression{
	lazy.Regexp("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)|``[^\n]*?``|`[^`\n]*`"),
	lazy.Regexp(`(?:^|[\s("'])(?:~|\.\.?)?/[^\s"')]+`),
	lazy.Regexp(`[\w.*-]+(?:/[\w.*-]+){2,}/?|[\w.*-]+(?:/[\w.*-]+)*\.\w+`),
	lazy.Regexp(`(?:^|\s)--?[A-Za-z][\w-]*`),
	lazy.Regexp(`\w[\w:.]*(?:::|\(\))[\w:.()]*`),
}

func withoutCode(text string) string {
	for _, re := range code {
		text = re().ReplaceAllString(text, " ")
	}
	return text
}

var (
	sentenceEnd = lazy.Regexp(`[.!?]+(?:\s+|$)|\n+`)
	// asks begins a sentence that wants an answer and no work. "Can you …?" and
	// "Please …?" are polite ways to ask for work.
	asks = lazy.Regexp(`(?i)^(?:and\s+|so\s+|but\s+)?(?:` +
		`(?:what|why|how|when|where|which|who|whose|is|are|was|were|does|do|did|has|have|had|should)(?:n['’]t)?\b` +
		`|(?:will|would|can|could)(?:n['’]t)?\s+(?:it|this|that|these|those|there|they|the|a|an)\b)`)
	// asksPlainly begins one that is a question without its mark too.
	asksPlainly = lazy.Regexp(
		`(?i)^(?:and\s+|so\s+|but\s+)?(?:what|why|how|where|who|whose)\s+(?:is|are|was|were|do|does|did|can|could|` +
			`should|would|will)\b`,
	)
)

// withoutQuestions drops the sentences that only ask something.
func withoutQuestions(text string) string {
	var statements strings.Builder
	for text != "" {
		end := len(text)
		if at := sentenceEnd().FindStringIndex(text); at != nil {
			end = at[1]
		}
		words := strings.TrimSpace(text[:end])
		question := asksPlainly().MatchString(words) || strings.Contains(words, "?") && asks().MatchString(words)
		if !question {
			statements.WriteString(text[:end])
		}
		text = text[end:]
	}
	return statements.String()
}

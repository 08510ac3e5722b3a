package phases

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// product is what a phase hands over in words.
type product struct {
	phase, noun string
	// lacks says what a text that is no such product lacks, form how one looks.
	lacks, form string
	fits        func(ctx context.Context, text string) bool
	// most is how many words it may have, 0 for any number.
	most int
}

const (
	// cutAgain is how often a product that the output limit cut off is asked
	// for again, formAgain how often one is that is none.
	cutAgain  = 2
	formAgain = 1
	// briefWords bounds a short plan, some above what is asked for. One that is longer
	// is asked for again once, and then taken as it is.
	briefWords, briefAgain = 350, 1
	// quoted is how much of what was handed over is shown again, in bytes.
	quoted = 2000
)

// handOver asks for a product until it is whole and is one, and returns it. A
// product that stays cut off parks the phase as limit, and one that stays none
// as refused. The prompts that the journal holds are not repeated: the last of
// them and its answer say how it goes on.
func (s *session) handOver(ctx context.Context, p product, first ...plan.Message) (string, error) {
	prompt := first
	for n := max(s.recorded-1, 0); ; n++ {
		if err := s.ask(ctx, n, prompt...); err != nil {
			return "", err
		}
		text, again := strings.TrimSpace(s.end.Text), n-s.judged
		switch {
		case s.end.Cut && again >= cutAgain:
			return "", s.park(plan.ParkLimit, p.cutDetail())
		case s.end.Cut:
			prompt = []plan.Message{plan.UserText(p.askWhole())}
		case text == "":
			return "", errEmpty(p.phase, p.noun)
		case !declines().MatchString(text) || p.fits(ctx, text):
			if p.most == 0 || again >= briefAgain || len(strings.Fields(text)) <= p.most {
				return text, nil
			}
			prompt = []plan.Message{plan.UserText(p.askShorter(text))}
		case again >= formAgain:
			return "", s.park(plan.ParkRefused, p.noneDetail(text, s.phase))
		default:
			prompt = []plan.Message{plan.UserText(p.askProper(text))}
		}
	}
}

// declines finds where a text says of its writer that it cannot or will not do
// something. What was done all the same has the form of a product, or names what
// it is about; a text that has neither is a refusal.
var declines = lazy.Regexp(`(?i)\b(?:I|we)(?:['’]m|\s+am|['’]re|\s+are)?\s+(?:\w+ly\s+)?` +
	`(?:sorry|afraid|unable|cannot|can\s+not|can['’]?t|won['’]?t|will\s+not|(?:must|have\s+to)\s+(?:decline|` +
	`refuse)|decline|refuse|not\s+(?:able|allowed|permitted|going))` +
	`|^\W*(?:sorry|apologies|my\s+apologies)\b|\bas\s+an?\s+(?:AI|language\s+model)\b|\bagainst\s+(?:my|our|` +
	`the)\s+(?:\w+\s+)?(?:policy|policies|guidelines)\b`)

// askWhole asks for the product again because it was cut off.
func (p product) askWhole() string {
	return fmt.Sprintf("The %s was cut off by the output limit. "+
		"Hand it over again, whole and shorter, in the same form.", p.noun)
}

// askShorter asks for the product again because it is longer than a person wants it.
func (p product) askShorter(text string) string {
	return fmt.Sprintf("The %s has %d words, and the person wants at most about %d. Hand it over again, whole and "+
		"shorter, in the same form: leave out what the code itself says.", p.noun, len(strings.Fields(text)), p.most)
}

// askProper asks for the product again because what was handed over is none.
func (p product) askProper(text string) string {
	return fmt.Sprintf("This is no %s: %s.\n\n%s\n\n%s\n\nIf you will not do this, say so in one sentence.",
		p.noun, p.lacks, fence("handed-over", "", cut(text, quoted, "the rest is above")), p.form)
}

// cutDetail says why a phase parks whose product stays cut off.
func (p product) cutDetail() string {
	return fmt.Sprintf("the %s was cut off by the output limit each time it was asked for; go on with another model "+
		"(--model NAME), or start a run with a higher max_output_tokens; going on as it is asks again", p.noun)
}

// noneDetail says why a phase parks that handed over no product.
func (p product) noneDetail(text string, phase plan.Phase) string {
	return fmt.Sprintf("%s handed over no %s, though asked again, but: %s; %s",
		p.phase, p.noun, quote(text), refusedAdvice(phase))
}

// report is what Explore hands over: something with the parts of a report, that
// names something of the repository, or that rests on something looked at.
func (ph *Phases) report(b plan.Brief, s *session) product {
	return product{
		phase: "Explore",
		noun:  "report",
		lacks: "it names no file of this repository, rests on nothing that was looked at, " +
			"and has none of the parts that were asked for",
		form: "Look at the repository, and hand over the report in the form that was asked for: **What is asked**, " +
			"**Where it happens** (files and functions, as `path:line`), **What to reuse**, **How it is checked**, " +
			"**What to watch**, **Not looked at**.",
		fits: func(ctx context.Context, text string) bool {
			return s.hasRead("") || labels(text) > 1 || ph.names(ctx, b, text)
		},
	}
}

// planText is what Plan hands over: something with a heading of a plan, or that
// names something of the repository. What was looked at is no plan.
func (ph *Phases) planText(b plan.Brief, s *session) product {
	most := 0
	if ph.cfg.PlanSize == plan.PlanShort {
		most = briefWords
	}
	return product{
		most:  most,
		phase: "Plan",
		noun:  "plan",
		lacks: "it has no file, no step and no command in it",
		form: "Hand over the whole plan in the form that was asked for: `# Plan: …` with `## Why`, `## Files`, " +
			"`## Steps` and `## Verify`.",
		fits: func(ctx context.Context, text string) bool {
			return planHeading().MatchString(text) || ph.names(ctx, b, text) ||
				slices.ContainsFunc(codeIn(text), s.hasRead)
		},
	}
}

// label begins a part of a report: a heading, or bold words at the beginning of
// a line or an item.
var label = lazy.Regexp(`(?m)^\s*(?:#{1,6}\s+\S|(?:(?:[-*+]|\d+[.)])\s+)?\*\*[^*\n]+\*\*)`)

func labels(text string) int { return len(label().FindAllString(text, -1)) }

// planHeading is a heading of the form that a plan is asked for in.
var planHeading = lazy.Regexp(`(?im)^\s*#{1,6}\s+(?:plan|why|files|steps|verify|verification)\b`)

// names reports whether a text names a file that is in the tree, or that the
// request names.
func (ph *Phases) names(ctx context.Context, b plan.Brief, text string) bool {
	paths := pathsIn(text)
	for _, p := range pathsIn(b.Request) {
		if slices.Contains(paths, p) {
			return true
		}
	}
	// A file that cannot be read is there, but proves nothing.
	if hashes, err := ph.cfg.Hashes(ctx, paths); err == nil {
		for _, h := range hashes {
			if h != "" {
				return true
			}
		}
	}
	return false
}

// codeSpans are words that are written as code.
var codeSpans = lazy.Regexp("`([^`\n]{2,200})`")

func codeIn(text string) []string {
	var out []string
	for _, m := range codeSpans().FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// hasRead reports whether words stand in a result that the conversation has read.
func (s *session) hasRead(words string) bool {
	for _, m := range s.loop.Messages() {
		for _, b := range m.Blocks {
			if b.Type == plan.BlockToolResult && !b.Error && strings.Contains(b.Text, words) {
				return true
			}
		}
	}
	return false
}

// pathsIn are the words of a text that can be the name of a file: those with a
// dot or a slash in them, and those that begin with a capital, as README does.
// The line that stands behind a path is left out.
func pathsIn(text string) []string {
	var out []string
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, "`'\"()[]<>{}*,;:.!?…“”‘’")
		word, _, _ = strings.Cut(word, ":")
		first := []rune(word)
		if len(first) < 3 || !strings.ContainsAny(word, "./") && !unicode.IsUpper(first[0]) {
			continue
		}
		if name := path.Clean(word); !path.IsAbs(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

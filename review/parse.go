package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// Answer is what a reviewer said last.
type Answer struct {
	// Text is the answer. Reasoning that a server left in it, between tags such
	// as <think>, does not count.
	Text string
	// Truncated says that the output limit ended it. Such an answer is no verdict,
	// whatever it named before that.
	Truncated bool
	// FormatRetry says that it answers a question about its form, so that prose around
	// the object was asked about already.
	FormatRetry bool
}

// ParseError says why an answer could not be read as a verdict.
type ParseError struct {
	// Why is a clause without a full stop, fit for a person and for the
	// reviewer.
	Why string
	// Excerpt is the part of the answer that stands in the way, at most 500
	// bytes; "" where it is what the answer lacks.
	Excerpt string
}

// maxExcerpt bounds what is quoted of an answer or kept of it as a note, in bytes.
const maxExcerpt = 500

// Error is the reason with what it is about.
func (e *ParseError) Error() string {
	if e.Excerpt == "" {
		return "read the verdict: " + e.Why
	}
	return fmt.Sprintf("read the verdict: %s: %q", e.Why, e.Excerpt)
}

func refuse(format string, args ...any) *ParseError {
	return &ParseError{Why: fmt.Sprintf(format, args...)}
}

// at says what of the answer the error is about.
func (e *ParseError) at(part string) *ParseError {
	e.Excerpt = cut(strings.TrimSpace(part), maxExcerpt)
	return e
}

// Parse reads the verdict in a reviewer's answer: the JSON object with the key
// "verdict" at its top level that no other brackets enclose. Several such
// objects count only if they give the same word, checklist and gaps; the last
// is taken then. Words are compared without regard to case, and "-" and " "
// count as "_".
//
// The checklist, missing, commands and notes may be lists of objects, lists of
// strings, or one string of lines or Markdown bullets.
//
// A DONE is read with caution, since a wrong one ships broken work. It is an
// error if prose or another verdict stands in its way, if it fills a key that
// is none of a verdict's, if a requirement is not said to be met, or if a part
// cannot be read or is given twice with different values. In a second answer
// (FormatRetry) prose around one single object, and a word or number under an unknown
// key, become notes, and a requirement that is clearly not met is returned so.
//
// Beside any other verdict a part that cannot be read counts as absent, the last
// of several values counts, and prose and unknown keys are passed over.
//
// Every error is a *ParseError. The slices of a returned verdict are not nil.
func Parse(a Answer) (plan.Verdict, error) {
	if a.Truncated {
		return plan.Verdict{}, refuse("the output limit cut it off before its end")
	}
	a.Text = strings.TrimPrefix(withoutReasoning(a.Text), "\ufeff")
	if strings.TrimSpace(a.Text) == "" {
		return plan.Verdict{}, refuse("it is empty")
	}
	objects, err := findVerdicts(a.Text)
	if err != nil {
		return plan.Verdict{}, err
	}
	v, err := a.mergeVerdicts(objects.verdicts)
	if err != nil || v.Verdict != plan.Done {
		return v, err
	}
	notes, err := a.checkProse(objects)
	if err != nil {
		return plan.Verdict{}, err
	}
	v.Notes = append(v.Notes, notes...)
	return v, nil
}

// mergeVerdicts is what all verdict objects of an answer say.
func (a Answer) mergeVerdicts(verdicts []locatedObject) (plan.Verdict, error) {
	kind, err := readKind(verdicts[0].obj["verdict"])
	if err != nil {
		return plan.Verdict{}, err
	}
	for _, other := range verdicts[1:] {
		k, err := readKind(other.obj["verdict"])
		if err != nil {
			return plan.Verdict{}, err
		}
		if k != kind {
			return plan.Verdict{}, refuse("it holds two verdicts, %s and %s", kind, k).at(other.text(a.Text))
		}
	}
	var v plan.Verdict
	for i, s := range verdicts {
		before := v
		if v, err = a.readVerdict(s.obj, kind); err != nil {
			return plan.Verdict{}, err
		}
		same := slices.Equal(before.Checklist, v.Checklist) && slices.Equal(before.Missing, v.Missing)
		if i > 0 && !same {
			return plan.Verdict{}, refuse(
				"it holds two objects that say %s and differ in the rest",
				kind,
			).at(
				s.text(a.Text),
			)
		}
	}
	return v, nil
}

// readVerdict reads one verdict object.
func (a Answer) readVerdict(obj object, kind plan.VerdictKind) (plan.Verdict, error) {
	done := kind == plan.Done
	if key := misspelled(obj); done && key != "" {
		return plan.Verdict{}, refuse("the key %q must be written %q", key, normalKey(key))
	}
	v := plan.Verdict{Verdict: kind}
	var errs [6]error
	v.Checklist, errs[0] = readField(obj, "checklist", readRequirement(done, a.FormatRetry))
	v.Missing, errs[1] = readField(obj, "missing", readGap)
	v.Commands, errs[2] = readField(obj, "commands", readClaim(done))
	v.Notes, errs[3] = readField(obj, "notes", readNote)
	v.NoChange, errs[4] = readWhy(obj, "no_change")
	v.Unchanged, errs[5] = readWhy(obj, "unchanged")
	if !done {
		return v, nil
	}
	for _, err := range errs {
		if err != nil {
			return plan.Verdict{}, err
		}
	}
	more, err := a.checkUnknownKeys(obj)
	v.Notes = append(v.Notes, more...)
	return v, err
}

// verdictKeys are the keys of a verdict.
var verdictKeys = []string{"verdict", "checklist", "missing", "commands", "notes", "no_change", "unchanged"}

// remarkKeys are keys that reviewers add to say more, and under which a word
// stands in the way of no other.
var remarkKeys = []string{
	"summary", "reason", "reasons", "reasoning", "rationale", "explanation", "justification",
	"comment", "comments", "note", "confidence", "score",
}

// normalKey is a key in small letters, without blanks around it.
func normalKey(key string) string { return strings.ToLower(strings.TrimSpace(key)) }

// misspelled is a key that would be one of the verdict's if it were written in
// small letters, or "". What stands under it may speak against a DONE.
func misspelled(obj object) string {
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if lower := normalKey(key); key != lower && slices.Contains(verdictKeys, lower) {
			return key
		}
	}
	return ""
}

// checkUnknownKeys looks at what a DONE says under keys that no verdict has. A filled
// list may be one of gaps, so it is refused; anything else that says something
// is asked about once and then kept as a note.
func (a Answer) checkUnknownKeys(obj object) ([]string, error) {
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if slices.Contains(verdictKeys, key) {
			continue
		}
		for _, raw := range obj[key] {
			list := isList(raw)
			text := fmt.Sprintf("%s: %s", key, raw)
			switch {
			case !hasContent(raw), !list && slices.Contains(remarkKeys, normalKey(key)):
			case list || !a.FormatRetry:
				return nil, refuse("it says DONE and something under %q, which is no key of a verdict", key).at(text)
			default:
				notes = append(notes, cut(text, maxExcerpt))
			}
		}
	}
	return notes, nil
}

// statedVerdict finds a verdict that a sentence or a line of prose states and
// that is not DONE.
var statedVerdict = lazy.Regexp(`(?im:(?:^|[.!?]\s)[^\w\n]*(?:(?:so|my|the|final|overall)\s+)*` +
	`verdict\b[^\w\n]{1,8}(?:is\b[^\w\n]{1,4})?(?:needs[_ -]?fix|blocked|not[_ -]done)\b)` +
	`|(?m:^[^\w\n]*(?:NEEDS[_ -]FIX|BLOCKED)[^\w\n]*$)`)

// checkProse looks at what stands around a DONE. Prose before it explains it; behind
// it, it may take something back. The notes that are returned hold the prose of
// a second answer.
func (a Answer) checkProse(objects verdictObjects) ([]string, error) {
	verdicts := objects.verdicts
	prose := textOutside(a.Text, 0, verdicts)
	if stated := statedVerdict().FindString(prose); stated != "" {
		return nil, refuse("the object says DONE and the text another verdict").at(stated)
	}
	last := verdicts[len(verdicts)-1]
	for _, other := range objects.others {
		behind := a.FormatRetry && other.start > last.start
		if behind || hasContent(other.obj["checklist"].effective()) || hasContent(other.obj["missing"].effective()) {
			return nil, refuse("another object stands beside the DONE").at(other.text(a.Text))
		}
	}
	after := withoutMarkup(a.Text[last.end:])
	if after != "" && (!a.FormatRetry || len(verdicts) > 1) {
		return nil, refuse("text follows the object").at(a.Text[last.end:])
	}
	if !a.FormatRetry {
		return nil, nil
	}
	var notes []string
	for _, text := range []string{withoutMarkup(a.Text[:verdicts[0].start]), after} {
		if text != "" {
			notes = append(notes, cut(text, maxExcerpt))
		}
	}
	return notes, nil
}

// fenceMark is a code fence around an object.
var fenceMark = lazy.Regexp("(?:`{3,}|~{3,})(?i:json\\w*)?")

// withoutMarkup is a text without the fences, quote marks and brackets in which
// an object may stand. What is left of it is prose.
func withoutMarkup(text string) string {
	return strings.Trim(fenceMark().ReplaceAllString(text, ""), " \t\r\n`~>[](){}*_-.\ufeff\u200b")
}

// readKind reads the verdict word.
func readKind(f field) (plan.VerdictKind, error) {
	var kind plan.VerdictKind
	for i, raw := range f {
		word, ok := stringOf(raw)
		if !ok {
			return "", refuse("the verdict is not a string; it must be DONE, NEEDS_FIX or BLOCKED")
		}
		got, ok := kindOf(word)
		if !ok {
			return "", refuse("the verdict is %q; it must be DONE, NEEDS_FIX or BLOCKED", cut(word, 60))
		}
		if i > 0 && got != kind {
			return "", refuse("the verdict is given twice, as %s and as %s", kind, got)
		}
		kind = got
	}
	return kind, nil
}

func kindOf(word string) (plan.VerdictKind, bool) {
	word = strings.ToUpper(strings.ReplaceAll(strings.Join(strings.Fields(word), "_"), "-", "_"))
	switch kind := plan.VerdictKind(word); kind {
	case plan.Done, plan.NeedsFix, plan.CannotSay:
		return kind, true
	}
	return "", false
}

package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// ParseError says why a review could not be read as a verdict.
type ParseError struct {
	// Why is a clause without a full stop, fit for a person and for the
	// reviewer.
	Why string
}

// Error is the reason with what it is about.
func (e *ParseError) Error() string { return "read the verdict: " + e.Why }

func refuse(format string, args ...any) *ParseError {
	return &ParseError{Why: fmt.Sprintf(format, args...)}
}

// Parse reads the verdict in a reviewer's text: the last balanced JSON object
// with the key "verdict" at its top level, whatever stands around it. Words
// are compared without regard to case, and "-" and " " count as "_".
//
// The checklist, missing and commands may be lists of objects, lists of
// strings, or one string of lines or Markdown bullets. A part that cannot be
// read, or is given twice with different values, or under a key in other letters,
// makes a DONE an error; beside any other verdict it counts as absent, or the
// last one counts.
//
// Every error is a *ParseError. The slices of a returned verdict are not nil.
func Parse(text string) (plan.Verdict, error) {
	if strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")) == "" {
		return plan.Verdict{}, refuse("it is empty")
	}
	obj, err := findVerdict(text)
	if err != nil {
		return plan.Verdict{}, err
	}
	kind, err := readKind(obj["verdict"])
	if err != nil {
		return plan.Verdict{}, err
	}
	done := kind == plan.Done
	if key := misspelled(obj); done && key != "" {
		return plan.Verdict{}, refuse("the key %q must be written %q", key, strings.ToLower(key))
	}
	v := plan.Verdict{Verdict: kind}
	var errs [3]error
	v.Checklist, errs[0] = readField(obj, "checklist", checklistFrom(done))
	v.Missing, errs[1] = readField(obj, "missing", missingFrom)
	v.Commands, errs[2] = readField(obj, "commands", commandFrom)
	for _, err := range errs {
		if err != nil && done {
			return plan.Verdict{}, err
		}
	}
	return v, nil
}

// misspelled is a key that would be one of the verdict's if it were written in
// small letters, or "". What stands under it may speak against a DONE.
func misspelled(obj object) string {
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		switch lower := strings.ToLower(key); lower {
		case "verdict", "checklist", "missing", "commands":
			if key != lower {
				return key
			}
		}
	}
	return ""
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

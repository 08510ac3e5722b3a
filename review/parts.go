package review

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// readRequirement reads requirements. One given in words counts as met when the
// reviewer says DONE, unless a mark or its own words say that it is not. A DONE
// over a requirement that is not met is an error; in a second answer it is what
// the reviewer means.
func readRequirement(done, again bool) func(element) (plan.ListItem, bool, error) {
	return func(el element) (plan.ListItem, bool, error) {
		switch {
		case el.obj == nil && saysNothing(el.text), el.obj != nil && len(el.obj) == 0:
			return plan.ListItem{}, false, nil
		case el.obj == nil:
			return proseItem(el.text, done, again)
		}
		s, err := el.obj.stringFields("item", "evidence")
		if err != nil {
			return plan.ListItem{}, false, err
		}
		item := plan.ListItem{Item: s[0], Evidence: s[1]}
		if item.Item == "" {
			return item, false, errors.New(`has no "item"`)
		}
		met, err := el.obj.isMet()
		item.Met = met && err == nil
		switch {
		case !done:
			return item, true, nil
		case err != nil:
			return item, false, err
		case again:
			item.Met = met && !deniesMet(withoutCode(item.Item))
		case !met:
			return item, false, errors.New("is not met")
		}
		if words := contradiction(el.obj, item); words != "" && !again {
			return item, false, fmt.Errorf("says that it is met and that it is not (%s)", words)
		}
		return item, true, refuseListUnder(el.obj, "item", "met", "evidence")
	}
}

// proseItem is a requirement given in words.
func proseItem(text string, done, again bool) (plan.ListItem, bool, error) {
	text, met := checkMark(text, done)
	if done && (denies(text) || fails(text) || endsBadly(text)) {
		met = false
	}
	if done && !met && !again {
		return plan.ListItem{}, false, errors.New("says that it is not met")
	}
	return plan.ListItem{
		Item:  text,
		Met:   met,
		Prose: true,
	}, text != "", nil
}

// isMet reads the word on a requirement, which must be true or false.
func (o object) isMet() (bool, error) {
	f := o["met"]
	if len(f) > 1 {
		return false, errors.New(`gives "met" twice with different values`)
	}
	if len(f) == 0 || !slices.Contains([]string{"true", "false"}, string(f[0])) {
		return false, errors.New(`does not say whether it is "met" with true or false`)
	}
	return string(f[0]) == "true", nil
}

// maxState is how many words a text may have that only names a state.
const maxState = 3

// contradiction is what denies a requirement that is said to be met: its own text,
// or a word on its state beside it. "" if nothing does.
func contradiction(obj object, item plan.ListItem) string {
	if text := withoutCode(item.Item); deniesMet(text) || fails(text) {
		return fmt.Sprintf("%q", item.Item)
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if key == "item" {
			continue
		}
		for _, raw := range obj[key] {
			word, _ := stringOf(raw)
			kind, isKind := kindOf(word)
			if isKind && kind != plan.Done || namesBadState(withoutCode(word), key == "evidence") {
				return fmt.Sprintf("%q: %q", key, word)
			}
		}
	}
	return ""
}

// namesBadState reports whether a text of a few words is one on a state that is not
// that of something met. What stands as evidence may quote what a program said: there
// "no", "none" and "false" behind other words are a value, as in "b3: [] None".
func namesBadState(word string, evidence bool) bool {
	if len(strings.Fields(word)) > maxState {
		return false
	}
	return denies(word) || endsBadly(word) && (!evidence || !endsInValue().MatchString(word))
}

// refuseListUnder refuses a filled list under a key that an object should not have.
func refuseListUnder(obj object, known ...string) error {
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		for _, raw := range obj[key] {
			if !slices.Contains(known, key) && isList(raw) && hasContent(raw) {
				return fmt.Errorf("says something under %q, which is none of its keys", key)
			}
		}
	}
	return nil
}

// The marks that reviewers put in front of a requirement. One that is neither
// clearly met nor clearly not is not met.
var (
	metMarks  = []string{"[x]", "[X]", "✅", "✓", "✔", "☑", "🗹"}
	openMarks = []string{
		"[ ]", "[]", "[-]", "[~]", "[?]", "❌", "✗", "✘", "✖", "☒", "☐", "⬜", "❎", "🚫", "⛔", "⚠", "❓",
	}
)

// checkMark takes a check mark off the front of a text and says what it means. A
// mark for what is open counts at the end as well.
func checkMark(text string, met bool) (string, bool) {
	bare := strings.TrimRight(text, " .)\ufe0f")
	if slices.ContainsFunc(openMarks, func(mark string) bool { return strings.HasSuffix(bare, mark) }) {
		met = false
	}
	for i, marks := range [][]string{openMarks, metMarks} {
		for _, mark := range marks {
			if rest, ok := strings.CutPrefix(text, mark); ok {
				return strings.TrimSpace(strings.TrimPrefix(rest, "\ufe0f")), i == 1
			}
		}
	}
	return text, met
}

// leadingID is how a reviewer names a known gap in a line of text.
var leadingID = lazy.Regexp(`^(?:[\[(*]+([Gg][0-9]{1,9}):?[\])*]+\s*[:.–—-]?|` +
	`([Gg][0-9]{1,9})(?:\s*[:.)]|\s+[–—-]|$))(?:\s+|$)`)

// readGap reads gaps. What does not say how much it matters must be fixed.
// An object that does not say its gap in the words asked for is kept as it
// stands: a gap that is hard to read is still a gap. A way of saying that there
// is none is none, unless it is said of a known gap.
func readGap(el element) (plan.Missing, bool, error) {
	if el.obj == nil {
		m := plan.Missing{Gap: el.text, Severity: plan.SeverityMust}
		if id := leadingID().FindStringSubmatch(el.text); id != nil {
			m.ID, m.Gap = strings.ToUpper(id[1]+id[2]), el.text[len(id[0]):]
		}
		return m, m.ID != "" || !namesNoGap(m.Gap), nil
	}
	s, err := el.obj.stringFields("id", "gap", "severity")
	if err != nil {
		return plan.Missing{}, false, err
	}
	m := plan.Missing{
		ID:       s[0],
		Gap:      s[1],
		Severity: severityOf(s[2]),
	}
	if saysNothing(m.ID) {
		m.ID = ""
	}
	if m.ID == "" && namesNoGap(m.Gap) {
		m.Gap = ""
		if saysMore(el.obj, "id", "gap", "severity") {
			m.Gap = string(el.raw)
		}
	}
	return m, m.ID != "" || m.Gap != "", nil
}

func severityOf(s string) string {
	if strings.EqualFold(s, plan.SeverityShould) {
		return plan.SeverityShould
	}
	return plan.SeverityMust
}

// saysMore reports whether an object says something under other keys than
// those known.
func saysMore(obj object, known ...string) bool {
	for key, values := range obj {
		if !slices.Contains(known, key) && slices.ContainsFunc(values, hasContent) {
			return true
		}
	}
	return false
}

// readClaim reads claimed commands, each by its line or by the id of its call.
// One without an exit code is claimed to have succeeded.
func readClaim(done bool) func(element) (plan.RanCommand, bool, error) {
	return func(el element) (plan.RanCommand, bool, error) {
		if el.obj == nil {
			c := plan.RanCommand{Command: strings.TrimSpace(strings.Trim(el.text, "`"))}
			return c, !saysNothing(c.Command), nil
		}
		s, err := el.obj.stringFields("command", "call")
		if err != nil {
			return plan.RanCommand{}, false, err
		}
		c := plan.RanCommand{Command: s[0], Call: s[1]}
		if c.ExitCode, err = el.obj.exitCode(); err != nil {
			return c, false, err
		}
		if c == (plan.RanCommand{ExitCode: c.ExitCode}) {
			if len(el.obj) > 0 {
				err = errors.New(`has neither "command" nor "call"`)
			}
			return c, false, err
		}
		if done {
			err = refuseListUnder(el.obj)
		}
		return c, true, err
	}
}

// exitCode reads the exit code of a claim; 0 where there is none.
func (o object) exitCode() (int, error) {
	f := o["exit_code"]
	if len(f) > 1 {
		return 0, errors.New(`gives "exit_code" twice with different values`)
	}
	if k := kindOfJSON(f.effective()); k == 0 || k == 'n' {
		return 0, nil
	}
	code, err := strconv.Atoi(strings.Trim(string(f[0]), `"`))
	if err != nil {
		return 0, errors.New(`has an "exit_code" that is not a whole number`)
	}
	return code, nil
}

// readNote reads remarks. An object is one by its "note", or as it stands.
func readNote(el element) (string, bool, error) {
	text := el.text
	if el.obj != nil {
		text, _ = el.obj.stringField("note")
		if text == "" && saysMore(el.obj) {
			text = string(el.raw)
		}
	}
	return text, !saysNothing(text), nil
}

// readWhy reads a reason that is only given where there is one. "" stands for
// none, as does a text whose first clause says that there is none.
func readWhy(obj object, key string) (string, error) {
	if string(obj[key].effective()) == "false" && len(obj[key]) == 1 {
		return "", nil
	}
	why, err := obj.stringField(key)
	if err != nil {
		return "", refuse("the verdict %v", err)
	}
	if parts := clauses(why); len(parts) == 0 || isEmpty(parts[0]) {
		return "", nil
	}
	return why, nil
}

package arguments

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
)

// The kinds of repair.
const (
	mendClosed = "cut_closed"            // JSON that broke off was closed
	mendNull   = "null_dropped"          // null for a field that may be left out
	mendLink   = "link_unwrapped"        // a path that was dressed up as a link
	mendArray  = "json_string_to_array"  // a list written as JSON in a string
	mendObject = "json_string_to_object" // an object written as JSON in a string
	mendEmpty  = "object_to_array"       // {} for an empty list
	mendWrap   = "bare_string_to_array"  // one string for a list of strings
	mendItem   = "item_to_array"         // one thing that is no string for a list of them
	mendNumber = "string_to_number"      // a number written in a string
	mendBool   = "string_to_boolean"     // true or false written in a string
	mendFence  = "fence_removed"         // JSON inside a Markdown code block
	mendComma  = "comma_removed"         // a comma behind the last element
	mendWhole  = "number_to_digits"      // a whole number written with a point or an exponent
	mendPair   = "pair_completed"        // a field that another one needs
)

// Note is one thing that was changed in a model's arguments.
type Note struct {
	kind string
	text string // for the model
}

// Mend reads the arguments of a call as the model wrote them and repairs what
// can be meant in one way only. Arguments that fit keep their bytes, and a
// repair counts only if the result fits: it is validated once, and if it does
// not, what comes back is what the model wrote, and the problem with that.
//
// Text that broke off is closed for tools that may be run again and again. For
// any other tool it is refused: half of a change must not be made.
//
// The arguments are always valid JSON. The problem is "" or what to tell the
// model.
func (c *Checker) Mend(text string) (json.RawMessage, []Note, string) {
	args, problem := Parse(text)
	source, whole := string(args), problem == ""
	m := mender{safe: c.safe}
	if tidy, ok := m.tidied(text); !whole && ok {
		source, whole = tidy, true
	}
	if !whole {
		closed, ok := closeJSON(text)
		if !ok {
			return args, nil, problem
		}
		if !m.safe {
			return args, nil, fmt.Sprintf(
				"The arguments of %s broke off before their end. The call was not run, because half of it must "+
					"not be done. Send the whole call again; if it is long, split the work over several calls.",
				c.tool,
			)
		}
		source = closed
		m.note(
			mendClosed,
			"the arguments broke off and were closed where they ended, so the last value may be incomplete",
		)
	}
	value, err := Decode(source)
	if err != nil {
		return args, nil, cmp.Or(problem, fmt.Sprintf("The arguments cannot be read: %v.", err))
	}
	if key := repeated(source); key != "" && !m.safe {
		return args, nil, c.saysTwice(key)
	}
	if whole {
		problem = c.validateValue(value)
	}
	if m.rules, err = c.readRules(); err != nil {
		return args, nil, problem
	}
	value = m.value(m.rules.root, value, "", false)
	if m.twice != "" && !m.safe {
		return args, nil, c.saysTwice(m.twice)
	}
	if len(m.notes) == 0 {
		return args, nil, problem
	}
	fixed, err := plan.MarshalCompact(value)
	if err != nil || c.Validate(fixed) != "" {
		return args, nil, problem
	}
	return fixed, m.notes, ""
}

// saysTwice refuses a call that names a field more than once.
func (c *Checker) saysTwice(key string) string {
	return fmt.Sprintf("The arguments of %s name %q more than once, so it cannot be told which value was meant. The "+
		"call was not run; send it again with each field once.", c.tool, key)
}

// mostNotes is how many repairs a model is told of one by one.
const mostNotes = 8

// Tell is what a model reads before the result of a call whose arguments were
// repaired; "" for none.
func Tell(notes []Note) string {
	if len(notes) == 0 {
		return ""
	}
	lines := make([]string, 0, mostNotes+1)
	for i, n := range notes {
		if i == mostNotes {
			lines = append(lines, fmt.Sprintf("- %d more of the same kind", len(notes)-i))
			break
		}
		lines = append(lines, "- "+n.text)
	}
	return "The arguments were repaired before the call ran:\n" + strings.Join(lines, "\n") + "\n\n"
}

package catalog

import "testing"

// What a person does not see of a description is found, whichever character it is, and what
// they do see is not taken for it.
func TestSuspicious(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Sets it.\n\tIn German: für 1 €.":           false,
		"Sets it for a \U0001F468\u200d\U0001F469.": false, // joined to one picture
		"Sets\u200b it.":                            true,
		"Sets \u3164it.":                            true, // a filler that is wide and blank
		"Sets it.\U000e0041\U000e0042":              true, // tags
		"Sets \u202eit.":                            true,
	} {
		if got := suspicious(text); (got != "") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

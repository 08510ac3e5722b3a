package story

import (
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// diffOf is what a call that changes files does, from its arguments alone: the file as
// it was then is not known any more.
func diffOf(args json.RawMessage) string {
	var a struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
		Old     string  `json:"old_string"`
		New     string  `json:"new_string"`
		Patch   string  `json:"patch"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	switch {
	case a.Patch != "":
		return a.Patch
	case a.Content != nil:
		var b strings.Builder
		for line := range strings.Lines(*a.Content) {
			b.WriteString("+" + line)
		}
		return b.String()
	case a.Old == a.New:
		return ""
	}
	old, now := ended(a.Old), ended(a.New)
	text, err := udiff.ToUnified("a", "b", old, udiff.Lines(old, now), udiff.DefaultContextLines)
	if err != nil {
		return ""
	}
	_, text, _ = strings.Cut(text, "\n") // --- a
	_, text, _ = strings.Cut(text, "\n") // +++ b
	return withoutPlaces(text)
}

// withoutPlaces takes the line numbers out of a diff that was made of pieces of a file:
// where they stand in it is not known.
func withoutPlaces(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		switch {
		case !strings.HasPrefix(line, "@@ "):
			b.WriteString(line)
		case b.Len() > 0:
			b.WriteString("…\n")
		}
	}
	return b.String()
}

func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

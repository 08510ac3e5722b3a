package wire

import (
	"strings"

	"github.com/plan-engine/plan/loop"
)

// checkHeader says what is wrong with a header, or returns nil. It does not repeat
// the value, which may be a key. The transport would refuse the same, in words
// that look like those of a network that failed.
func checkHeader(name, value string) error {
	problem := ""
	switch {
	case name == "" || strings.ContainsFunc(name, notInName):
		problem = "its name may have letters, digits and - only"
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		problem = "its value has a line break or another control character in it: check where it is read from"
	default:
		return nil
	}
	return Failure{ModelError: &loop.ModelError{
		Kind:    loop.ErrRefused,
		Message: "the header " + oneLine(name) + " cannot be sent: " + problem,
	}}
}

// notInName reports whether a sign cannot stand in the name of a header.
func notInName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

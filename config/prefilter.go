package config

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// gramLength is how many bytes of a literal are looked for at once.
	gramLength = 3
	gramBits   = 5
	// maxLiterals bounds how many literals stand for one rule.
	maxLiterals = 64
	// maxGuarded is how many rules have a bit; others look at every text themselves.
	maxGuarded = 32
)

// prefilter says with one look at a text which rules cannot match in it: those of which
// no literal is there that each match has. Upper and lower case are one to it.
type prefilter struct {
	codes  [256]uint16
	grams  [1 << (gramLength * gramBits)]uint32 // which rules have a literal that begins so
	rules  [][]string                           // literals, in lower case; none where nothing is known of a rule
	always uint32
}

func newPrefilter(patterns []string) (*prefilter, error) {
	f := &prefilter{}
	for c := range f.codes {
		switch {
		case c >= 'a' && c <= 'z':
			f.codes[c] = uint16(c - 'a' + 1)
		case c >= 'A' && c <= 'Z':
			f.codes[c] = uint16(c - 'A' + 1)
		default:
			f.codes[c] = uint16(27 + c%5)
		}
	}
	for i, p := range patterns {
		re, err := syntax.Parse(p, syntax.Perl)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the rule
		}
		literals := required(re.Simplify())
		if i >= maxGuarded || minLength(literals) < gramLength {
			literals = nil
		}
		f.rules = append(f.rules, literals)
		if literals == nil && i < maxGuarded {
			f.always |= 1 << i
		}
		for _, l := range literals {
			var gram uint16
			for _, c := range []byte(l[:gramLength]) {
				gram = gram<<gramBits | f.codes[c]
			}
			f.grams[gram] |= 1 << i
		}
	}
	return f, nil
}

// candidates are the rules that may match, a bit each.
func (f *prefilter) candidates(text string) uint32 {
	candidates := f.always
	var gram uint16
	for i := range len(text) {
		gram = (gram<<gramBits | f.codes[text[i]]) & (1<<(gramLength*gramBits) - 1)
		if begun := f.grams[gram] &^ candidates; begun != 0 && i >= gramLength-1 {
			candidates |= f.verify(text[i-gramLength+1:], begun)
		}
	}
	return candidates
}

func (f *prefilter) verify(text string, rules uint32) (candidates uint32) {
	for i, literals := range f.rules[:min(len(f.rules), maxGuarded)] {
		if rules&(1<<i) != 0 && slices.ContainsFunc(literals, func(l string) bool { return beginsWith(text, l) }) {
			candidates |= 1 << i
		}
	}
	return candidates
}

// beginsWith reports whether text begins with a literal in lower case.
func beginsWith(text, literal string) bool {
	if len(text) < len(literal) {
		return false
	}
	for i := range len(literal) {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != literal[i] {
			return false
		}
	}
	return true
}

// required are literals, in lower case, one of which every match of a regular expression
// has; none where that is not known.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpAlternate:
		var words []string
		for _, sub := range re.Sub {
			part := required(sub)
			if part == nil {
				return nil
			}
			words = append(words, part...)
		}
		return words
	case syntax.OpConcat:
		return requiredInTurn(re.Sub)
	default:
		return exact(re)
	}
	return nil
}

// requiredInTurn chooses the part of a concatenation whose literals are longest: what is
// exact in a row, or what one part requires.
func requiredInTurn(subs []*syntax.Regexp) (best []string) {
	choose := func(other []string) {
		if minLength(other) > minLength(best) {
			best = other
		}
	}
	row := []string{""}
	for _, sub := range subs {
		next := product(row, exact(sub))
		if next == nil {
			choose(row)
			choose(required(sub))
			row = []string{""}
			continue
		}
		row = next
	}
	choose(row)
	return best
}

// exact are all texts that a regular expression matches, in lower case; none where they
// are too many or not known.
func exact(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []string{""}
	case syntax.OpLiteral:
		return exactLiteral(re)
	case syntax.OpCharClass:
		var out []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if out = append(out, asciiLower(string(r))); len(out) > maxLiterals {
					return nil
				}
			}
		}
		return out
	case syntax.OpCapture:
		return exact(re.Sub[0])
	case syntax.OpQuest:
		if part := exact(re.Sub[0]); part != nil {
			return append([]string{""}, part...)
		}
	case syntax.OpConcat:
		words := []string{""}
		for _, sub := range re.Sub {
			words = product(words, exact(sub))
		}
		return words
	case syntax.OpAlternate:
		var words []string
		for _, sub := range re.Sub {
			part := exact(sub)
			if part == nil {
				return nil
			}
			words = append(words, part...)
		}
		return words
	}
	return nil
}

// exactLiteral knows nothing of a literal in any case that has letters with a third
// form, which is not ASCII: the Kelvin sign is a k, and the long s an s.
func exactLiteral(re *syntax.Regexp) []string {
	text := asciiLower(string(re.Rune))
	ascii := !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	if re.Flags&syntax.FoldCase != 0 && (!ascii || strings.ContainsAny(text, "ks")) {
		return nil
	}
	return []string{text}
}

// asciiLower changes the letters of ASCII alone.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// product are all texts of the one followed by all of the other.
func product(first, second []string) []string {
	if len(second) == 0 || len(first)*len(second) > maxLiterals {
		return nil
	}
	var out []string
	for _, a := range first {
		for _, b := range second {
			out = append(out, a+b)
		}
	}
	return out
}

// minLength is the length of the shortest, 0 for none.
func minLength(literals []string) int {
	if len(literals) == 0 {
		return 0
	}
	shortest := len(literals[0])
	for _, l := range literals {
		shortest = min(shortest, len(l))
	}
	return shortest
}

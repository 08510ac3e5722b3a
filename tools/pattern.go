package tools

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// linePattern is a pattern for single lines that can be run over a whole text
// at once, where searching is fast: whatever could match or look past a newline
// is rewritten not to.
type linePattern struct {
	*regexp.Regexp
	// need is a text that is in every match, in lower case if fold is set; ""
	// if none is known.
	need []byte
	fold bool
}

// newLinePattern compiles a pattern. The second result is what to tell the
// model about a bad one.
func newLinePattern(pattern string) (*linePattern, string) {
	if pattern == "" {
		return nil, "the pattern is empty; give a regular expression, such as func \\w+Error"
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, badPattern(pattern, err)
	}
	if hasNewline(tree) {
		return nil, "the pattern has a newline in it, but grep looks at one line at a time; search for one of its lines"
	}
	withinLine(tree)
	re, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, badPattern(pattern, err)
	}
	need, fold := required(tree)
	if fold {
		need = strings.ToLower(need)
	}
	return &linePattern{re, []byte(need), fold}, ""
}

// possible reports whether a text may have a match, which is much faster to
// find out than whether it has. The scratch space may be grown.
func (p *linePattern) possible(text []byte, scratch *[]byte) bool {
	if !p.fold {
		return bytes.Contains(text, p.need)
	}
	// The only letters beyond ASCII that fold to one within.
	if bytes.Contains(text, []byte("\u017F")) || bytes.Contains(text, []byte("\u212A")) {
		return true
	}
	lower := append((*scratch)[:0], text...)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	*scratch = lower
	return bytes.Contains(lower, p.need)
}

// required finds the longest text that is in every match, and whether its case
// does not matter.
func required(re *syntax.Regexp) (string, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		text, fold := string(re.Rune), re.Flags&syntax.FoldCase != 0
		ascii := !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
		// Bytes that are not UTF-8 match U+FFFD, but are not found as it.
		if fold && !ascii || strings.ContainsRune(text, utf8.RuneError) {
			return "", false
		}
		return text, fold
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best string
		var fold bool
		for _, sub := range re.Sub {
			if text, f := required(sub); len(text) > len(best) {
				best, fold = text, f
			}
		}
		return best, fold
	}
	return "", false
}

// badPattern says what is wrong with a pattern.
func badPattern(pattern string, err error) string {
	why := err.Error()
	var se *syntax.Error
	if errors.As(err, &se) {
		why = fmt.Sprintf("%s in `%s`", se.Code, se.Expr)
	}
	text := fmt.Sprintf("the pattern `%s` is not a valid regular expression: %s", pattern, why)
	switch {
	case strings.Contains(pattern, "(?=") || strings.Contains(pattern, "(?!") || strings.Contains(pattern, "(?<"):
		text += "; the syntax is RE2: lookahead and lookbehind are not supported, so match more and filter what " +
			"you read"
	case backreference(pattern):
		text += "; the syntax is RE2: backreferences are not supported"
	default:
		text += `; escape special characters with \ to search for them as they are`
	}
	return text
}

// backreference reports whether a pattern has one, such as \1.
func backreference(pattern string) bool {
	for i := 0; i+1 < len(pattern); i++ {
		if pattern[i] != '\\' {
			continue
		}
		i++
		if '1' <= pattern[i] && pattern[i] <= '9' {
			return true
		}
	}
	return false
}

// hasNewline reports whether a pattern asks for a newline by name.
func hasNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\n') {
		return true
	}
	for _, sub := range re.Sub {
		if hasNewline(sub) {
			return true
		}
	}
	return false
}

// withinLine rewrites a pattern so that it matches in a text what it matches in
// that text's lines, one by one.
func withinLine(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
		re.Flags &^= syntax.WasDollar
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		re.Rune = withoutNewline(re.Rune)
		if len(re.Rune) == 0 {
			re.Op = syntax.OpNoMatch
		}
	}
	for _, sub := range re.Sub {
		withinLine(sub)
	}
}

// withoutNewline takes the newline out of the ranges of a character class.
func withoutNewline(ranges []rune) []rune {
	out := make([]rune, 0, len(ranges)+2)
	add := func(lo, hi rune) {
		if lo <= hi {
			out = append(out, lo, hi)
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if lo <= '\n' && '\n' <= hi {
			add(lo, '\n'-1)
			add('\n'+1, min(hi, unicode.MaxRune))
			continue
		}
		add(lo, hi)
	}
	return out
}

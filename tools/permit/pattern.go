package permit

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/subpath"
)

// abs is a path as the tools understand it, absolute.
func (p Place) abs(dir, name string) string {
	if dir == "" {
		dir = p.Root
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// show is an absolute path as rules name it: relative to the tree, if it is
// inside.
func (p Place) show(abs string) string {
	if rel, ok := subpath.Of(p.Root, abs); ok {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(abs)
}

// pattern writes the home directory out.
func (p Place) pattern(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok && p.Home != "" {
		return quoteGlob(filepath.ToSlash(p.Home)) + "/" + rest
	}
	return pattern
}

// fits matches an absolute path. A pattern that begins with "./" starts at the
// tree, also if it has no other slash.
func (p Place) fits(pattern, abs string) bool {
	name := filepath.ToSlash(abs)
	if !path.IsAbs(pattern) {
		name = p.show(abs)
		if path.IsAbs(name) {
			return false // it is about the tree, and this is outside
		}
	}
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = rest
	} else if !strings.Contains(pattern, "/") {
		return doublestar.MatchUnvalidated(pattern, path.Base(name))
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

func validGlob(pattern string) bool { return doublestar.ValidatePattern(pattern) }

func fitsName(pattern, name string) bool { return doublestar.MatchUnvalidated(pattern, name) }

// quoteGlob is the pattern that fits nothing but the path.
func quoteGlob(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`*?[]{}\,`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// quoteCommand is the pattern that fits nothing but the command.
func quoteCommand(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`).Replace(text)
}

// unquoteCommand is what a pattern fits, if that is one text alone.
func unquoteCommand(pattern string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
		case pattern[i] == '*':
			return "", false
		}
		b.WriteByte(pattern[i])
	}
	return b.String(), true
}

// fitsText matches a command with a pattern in which * stands for any text. A
// blank and a star at its end may stand for nothing. With begins, a command
// that goes on after a blank fits, too.
func fitsText(pattern, text string, begins bool) bool {
	pattern = strings.TrimSpace(pattern)
	if head, ok := strings.CutSuffix(pattern, " *"); ok && !strings.HasSuffix(head, `\`) && matchText(head, text) {
		return true
	}
	return matchText(pattern, text) || (begins && matchText(pattern+" *", text))
}

// matchText is fitsText without either: the whole pattern, the whole text. It
// goes back to the last star only, so its time is bounded by the product of
// both lengths.
func matchText(pattern, text string) bool {
	star, mark, i, j := -1, 0, 0, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == '\\' && i+1 < len(pattern) && pattern[i+1] == text[j]:
			i, j = i+2, j+1
		case i < len(pattern) && pattern[i] != '\\' && pattern[i] == text[j]:
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// short is a text for a sentence.
func short(text string) string {
	const most = 120
	return oneline.Cut(oneline.Of(text), most)
}

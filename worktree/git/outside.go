package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// filterTools are programs that repositories name in their own settings when they
// are set up. They run nothing of the tree, whatever words come behind them.
var filterTools = []string{"git-lfs", "git-crypt", "git-annex"}

// plainWords is a command without anything that only a shell could say the meaning of.
var plainWords = lazy.Regexp(`^[-A-Za-z0-9_./%=:+@ '"]*$`)

// unknown are the parts of a command that a shell puts something else in the
// place of: it cannot be said what they name.
const unknown = "$`*?[{<\n"

// outside reports whether a setting names nothing of the tree. What is no command
// at all, such as an address, names nothing either.
func (g *guard) outside(s setting) bool {
	words := wordsOf(s.value)
	if len(words) == 0 {
		return true
	}
	if toolOf(words) && plainWords().MatchString(s.value) {
		return !g.names(words[0])
	}
	if strings.ContainsAny(unquoted(s.value), unknown) {
		return false
	}
	return !slices.ContainsFunc(words, func(word string) bool { return g.names(word) || interprets(word) })
}

// leadsInside reports whether a part of a setting is a path in the tree.
func (g *guard) leadsInside(s setting) bool {
	return slices.ContainsFunc(wordsOf(s.value), func(word string) bool {
		return strings.Contains(word, "/") && g.names(word)
	})
}

// toolOf reports whether a command is one of the filterTools, or git's own name for it.
func toolOf(words []string) bool {
	name := filepath.Base(words[0])
	if words[0] == "git" && len(words) > 1 {
		name = "git-" + words[1]
	}
	return slices.Contains(filterTools, name)
}

// variable is a variable that is a word by itself, which is no part of a path then.
var variable = lazy.Regexp(`\$\w+(["'\s]|$)`)

// unquoted is a command without the parts in single quotes, in which a shell
// changes nothing, and without variables.
func unquoted(command string) string {
	var out strings.Builder
	for i, part := range strings.Split(command, "'") {
		if i%2 == 0 {
			out.WriteString(part)
		}
	}
	return variable().ReplaceAllString(out.String(), "")
}

// wordsOf are the parts of a command that could be names of files.
func wordsOf(command string) []string {
	return strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`|&;()<>=,!", r) })
}

// names reports whether a word is a path in the tree, or the name of a file at its
// top. A word alone that names a folder there is taken for a word.
func (g *guard) names(word string) bool {
	path := word
	if below, ok := strings.CutPrefix(word, "~/"); ok {
		word = filepath.Join(os.Getenv("HOME"), below)
		path = word
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(g.root, path)
	}
	info, err := os.Stat(path) //nolint:gosec // only looked at
	switch {
	case filepath.IsAbs(word), strings.HasPrefix(word, "."):
		return Inside(path, append(g.trees(), g.dirs...)...)
	case err != nil:
		return strings.Contains(word, "/") && isThere(path)
	}
	return strings.Contains(word, "/") || info.Mode().IsRegular() || info.Mode().Type()&fs.ModeNamedPipe != 0
}

// interpreter are programs that run what they read, or what lies where they stand:
// as a filter they would run the files.
var interpreter = lazy.Regexp(`^(([a-z]*sh)|busybox|env|xargs|make|((python|ruby|perl|php|lua|node|deno|bun)[0-9.]*)|` +
	`np[mx]|yarn|pnpm|cargo|go|find|eval|exec|source)$`)

func interprets(word string) bool { return interpreter().MatchString(filepath.Base(word)) }

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
	if fed(s.name) && !g.filters(s.value) {
		return false
	}
	return !g.startsProgram(s) &&
		!slices.ContainsFunc(words, func(word string) bool { return g.names(word) || interprets(word) })
}

// leadsInside reports whether a part of a setting of the user's is a path in the tree.
// A word without a slash is looked at in what is run on files, behind the program, which
// is looked for elsewhere.
func (g *guard) leadsInside(s setting) bool {
	words := wordsOf(s.value)
	if len(words) > 0 && toolOf(words) && plainWords().MatchString(s.value) {
		words = words[:1]
	}
	section, _, _ := strings.Cut(s.name, ".")
	onFiles := slices.Contains([]string{"filter", "merge", "diff"}, section)
	for i, word := range words {
		if (strings.Contains(word, "/") || i > 0 && onFiles) && g.names(word) {
			return true
		}
	}
	return g.startsProgram(s)
}

var (
	// program is a path at the start of a command, behind variables that are set for it.
	program = lazy.Regexp("(?:^|[|&;(\\n`])\\s*(?:\\w+=\\S*\\s+)*[\"']?([\\w.@+-]+/[^\\s\"';&|()]*)")
	// pathList is a variable that is given a list of folders.
	pathList = lazy.Regexp(`\w*PATH=["']?([^\s"';&|]*)`)
)

// startsProgram reports whether a setting is a command whose programs lie in the tree, there yet
// or not, or are looked for in it.
func (g *guard) startsProgram(s setting) bool {
	if !runs(s.name) {
		return false
	}
	named := func(path []string) bool { return Inside(filepath.Join(g.root, path[1]), g.trees()...) }
	return slices.ContainsFunc(program().FindAllStringSubmatch(s.value, -1), named) ||
		slices.ContainsFunc(pathList().FindAllStringSubmatch(s.value, -1), func(list []string) bool {
			return slices.ContainsFunc(strings.Split(list[1], ":"), func(dir string) bool {
				return !strings.HasPrefix(dir, "$") && !strings.HasPrefix(dir, "~") &&
					(!filepath.IsAbs(dir) || Inside(dir, g.trees()...))
			})
		})
}

// runs reports whether a setting of that name is a command for a shell, which runs at
// the top of the tree.
func runs(name string) bool {
	section, rest, _ := strings.Cut(name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	return slices.Contains([]string{"alias", "hook", "pager"}, section) || slices.Contains(commands, last)
}

// commands are the last parts of the names of settings that are commands. One that is not
// among them is no way out: what it names counts until it is there, and is judged then.
var commands = strings.Fields(
	"alternaterefscommand askpass clean cmd command defaultkeycommand difffilter driver editor " +
		"external fsmonitor gitproxy helper packobjectshook pager path process program receivepack smudge sshcommand " +
		"textconv uploadpack",
)

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
// top. A word alone that names a folder there is taken for a word. What is not there
// yet is noted.
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
	case strings.Contains(word, "/") && (err == nil || isThere(path)):
		return true
	case err == nil && (info.Mode().IsRegular() || info.Mode().Type()&fs.ModeNamedPipe != 0):
		return true
	}
	if !strings.HasPrefix(word, "-") && !slices.Contains(g.awaited, path) {
		g.awaited = append(g.awaited, path)
	}
	return false
}

// arrived reports whether a word of a setting has become the name of a file.
func (g *guard) arrived() bool {
	return slices.ContainsFunc(g.awaited, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir() || err != nil && isThere(path)
	})
}

// interpreter are programs that run what they read, or what lies where they stand:
// as a filter they would run the files. ssh, which ends like shells, does not.
var interpreter = lazy.Regexp(
	`^(([a-z]*[a-rt-z])?sh|busybox|env|xargs|make|((python|ruby|perl|php|lua|node|deno|bun)[0-9.]*)|` +
		`np[mx]|yarn|pnpm|cargo|go|find|eval|exec|source)$`,
)

func interprets(word string) bool { return interpreter().MatchString(filepath.Base(word)) }

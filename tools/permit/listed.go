package permit

import (
	"path/filepath"
	"slices"
	"strings"
)

// listing is the files that a command prints the names of: those below a folder, and
// of them those whose names fit a pattern, if there is one. There may be fewer.
type listing struct {
	dir  string
	name string // "" for any
}

// lists are the files that the command names on its output for another one to open.
// It reports false where its output may be anything else.
func (p *Part) lists(r *reader) ([]listing, bool) {
	if p.Opaque != "" || p.Redirect || !known(p.argv) || r.dir == "" || len(r.past) > 0 {
		return nil, false
	}
	switch p.program() {
	case "find":
		return p.findLists(r)
	case "git":
		sub, args := gitCommand(p.argv)
		plain := len(p.argv) == len(args)+2 // no option of git's own leads elsewhere
		flags := slices.ContainsFunc(args, func(w word) bool {
			return strings.HasPrefix(w.text, "-") && !slices.Contains([]string{"-z", "--"}, w.text)
		})
		return []listing{{dir: r.dir}}, plain && !flags && sub.text == "ls-files"
	}
	return nil, false
}

// readers read the files that their words name, and do nothing else.
var readers = strings.Fields(
	"base64 cat cksum cmp diff du egrep fgrep file grep head hexdump ls md5sum nl od rg sha1sum " +
		"sha256sum sha512sum shasum stat strings sum tail wc xxd",
)

// findTakes are the tests of find that have a word behind them, and none of which
// adds anything to what it prints.
var findTakes = strings.Fields(
	"-type -maxdepth -mindepth -mtime -mmin -ctime -atime -size -newer -path -ipath -wholename " +
		"-name -iname -perm -user -group",
)

// findBare are those that have none.
var findBare = strings.Fields("-print -print0 -not ! ( ) -a -o -or -and -depth -empty -prune -xdev -mount")

func (p *Part) findLists(r *reader) ([]listing, bool) {
	args := p.argv[1:]
	var dirs []string
	for len(args) > 0 && !strings.HasPrefix(args[0].text, "-") && args[0].text != "!" && args[0].text != "(" {
		abs, ok := r.path(args[0])
		if !ok {
			return nil, false
		}
		dirs, args = append(dirs, abs), args[1:]
	}
	if len(dirs) == 0 {
		dirs = []string{r.dir}
	}
	name, simple := "", true
	for i := 0; i < len(args); i++ {
		switch text := args[i].text; {
		case slices.Contains(findBare, text):
			simple = simple && (text == "-print" || text == "-print0" || text == "-a" || text == "-and")
		case slices.Contains(findTakes, text) && i+1 < len(args):
			i++
			if text == "-name" || text == "-iname" {
				name = args[i].text
			}
		default:
			return nil, false
		}
	}
	if !simple {
		name = "" // it may be one of several, or what is left out
	}
	out := make([]listing, len(dirs))
	for i, dir := range dirs {
		out[i] = listing{dir: dir, name: name}
	}
	return out, true
}

// selects reports whether a command passes on some of the lines that it reads, and
// makes no others.
func (p *Part) selects() bool {
	if p.Opaque != "" || p.Redirect || !known(p.argv) {
		return false
	}
	switch p.program() {
	case "sort":
		return len(p.operands()) == 0 && !p.flag("o", "--output", "--files0-from")
	case "head", "tail", "uniq":
		return !slices.ContainsFunc(p.operands(), func(w word) bool { return strings.Trim(w.text, "0123456789") != "" })
	case "grep", "egrep", "fgrep":
		return len(p.operands()) == 1 && !p.flag("oncHbefrRAB", "--only-matching", "--line-number", "--count", "--file")
	}
	return false
}

// listed is what the parts of a pipe print: files that are named by its first command,
// of which the others pass some on.
func (r *reader) listed(before int) []listing {
	parts := r.parts[before:]
	if len(parts) == 0 || slices.ContainsFunc(parts[1:], func(p Part) bool { return !p.selects() }) {
		return nil
	}
	for _, p := range r.parts[:before] {
		if p.Redirect || !slices.Contains(runNothing, p.program()) || len(p.writes) > 0 {
			return nil // files may have come by then
		}
	}
	if out, ok := parts[0].lists(r); ok {
		return out
	}
	return nil
}

// open says whether a rule may be about a file that the command is given the name of,
// or about one below a folder that it is.
func (l listing) open(fits func(string) bool) answer {
	found, all := holds(l.dir, func(file string) bool { return fits(file) && l.has(file) })
	if found || !all || fits(l.dir) {
		return maybe
	}
	return no
}

// has reports whether a file is listed, or a folder that it lies in.
func (l listing) has(file string) bool {
	rel, err := filepath.Rel(l.dir, file)
	return l.name == "" || err != nil || slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool {
		return fitsName(folded(l.name), folded(name))
	})
}

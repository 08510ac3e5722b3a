package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/subpath"
)

// mostEntries is how many entries of folders are looked at for one pattern or
// one folder.
const mostEntries = 5000

// files are the names that the shell writes a pattern out to. It reports false
// where that cannot be told.
func (r *reader) files(glob string) ([]string, bool) {
	if rest, ok := strings.CutPrefix(glob, "~/"); ok && r.place.Home != "" {
		glob = quoteGlob(r.place.Home) + "/" + rest
	}
	base := r.dir
	if strings.HasPrefix(glob, "/") {
		base = "/"
	}
	if base == "" {
		return nil, false
	}
	left, paths := mostEntries, []string{""}
	segments := strings.Split(glob, "/")
	for i, segment := range segments {
		var next []string
		for _, before := range paths {
			names := []string{unquoteGlob(segment)}
			if asksForFiles(segment) {
				names = r.entries(filepath.Join(base, before), segment, &left)
			}
			for _, name := range names {
				if i < len(segments)-1 {
					name += "/"
				}
				next = append(next, before+name)
			}
		}
		if left <= 0 {
			return nil, false
		}
		paths = next
	}
	return slices.DeleteFunc(paths, func(name string) bool {
		_, err := os.Lstat(r.absolute(base, name))
		return err != nil
	}), true
}

func (r *reader) absolute(base, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(base, name)
}

// bracketed are sets of characters that this package's patterns cannot say: those
// with classes in them, such as [[:alpha:]], or with a bracket first. Any character
// counts as one of them.
var bracketed = lazy.Regexp(`\[[!^]?(\][^]]*\]|[^]]*\[[:=.][^]]*[:=.]\]([^][]|\[[:=.][^]]*[:=.]\])*\])`)

// entries are the names in a folder that fit a pattern; with ** those of all
// folders below it.
func (r *reader) entries(dir, pattern string, left *int) []string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	if *left -= len(list); *left <= 0 {
		return nil
	}
	pattern = bracketed().ReplaceAllString(pattern, "?")
	deep := strings.Contains(pattern, "**")
	var out []string
	for _, e := range list {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") && !r.dots {
			continue
		}
		if fitsName(pattern, name) || (r.dots && fitsName(folded(pattern), folded(name))) {
			out = append(out, name)
		}
		if deep && e.IsDir() {
			for _, below := range r.entries(filepath.Join(dir, name), pattern, left) {
				out = append(out, name+"/"+below)
			}
		}
	}
	return out
}

// unquoteGlob takes the backslashes out of a pattern that has no other marks.
func unquoteGlob(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// holds reports whether a folder has, at any depth, a file that is looked for;
// sure says that all of it was looked at.
func holds(dir string, looked func(string) bool) (found, sure bool) {
	left := mostEntries
	var walk func(dir string) bool
	walk = func(dir string) bool {
		list, err := os.ReadDir(dir)
		if err != nil {
			return false
		}
		if left -= len(list); left <= 0 {
			return false
		}
		for _, e := range list {
			path := filepath.Join(dir, e.Name())
			if looked(path) || (e.IsDir() && e.Name() != ".git" && walk(path)) {
				return true
			}
		}
		return false
	}
	found = walk(dir)
	return found, left > 0
}

// physical is a path as the kernel walks it: ".." leads out of the folder that a
// link leads to, not out of the one that the link lies in.
func physical(dir, text string) string {
	at := dir
	if filepath.IsAbs(text) {
		at = "/"
	}
	for part := range strings.SplitSeq(text, "/") {
		switch part {
		case "", ".":
		case "..":
			at = filepath.Dir(resolved(at))
		default:
			at = filepath.Join(at, part)
		}
	}
	return at
}

// path is the absolute path that a word names, if that can be told.
func (r *reader) path(w word) (string, bool) {
	text := w.text
	if rest, ok := strings.CutPrefix(text, "~"); ok && w.known && (rest == "" || rest[0] == '/') {
		dir := r.place.Home
		if dir == "" {
			dir = "/home"
		}
		return filepath.Join(dir, rest), true
	}
	switch {
	case !w.known || strings.HasPrefix(text, "~"):
		return "", false
	case filepath.IsAbs(text):
		return r.process(physical("", text)), true
	case r.dir == "":
		return "", false
	}
	return physical(r.dir, text), true
}

// process follows the names that a process has for its own folders.
func (r *reader) process(path string) string {
	rest, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return path
	}
	parts := strings.SplitN(rest, "/", 3)
	if parts[0] == "thread-self" && len(parts) == 3 && strings.HasPrefix(parts[1], "task") {
		return path
	}
	if len(parts) < 2 {
		return path
	}
	below := strings.Join(parts[2:], "/")
	switch {
	case parts[1] == "root":
		return filepath.Join("/", below)
	case parts[1] == "cwd" && r.dir != "":
		return filepath.Join(r.dir, below)
	}
	return path
}

// resolved is a path with its symbolic links followed, as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	for rest, dir := "", path; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return path
		}
		rest, dir = filepath.Join(filepath.Base(dir), rest), up
	}
}

// within reports whether a path is dir or below it.
func within(dir, path string) bool { return subpath.Within(dir, path) }

// folded is a name as file systems compare it that do not tell upper case from
// lower case, nor composed letters from decomposed ones, and that skip characters
// which are not seen.
func folded(name string) string {
	return norm.NFC.String(strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Cf, c) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(c))
	}, norm.NFD.String(name)))
}

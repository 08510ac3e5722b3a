package permit

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostSwept is how many entries of folders are looked at for one command that reads all
// that is in them.
const mostSwept = 50_000

// sweep is a folder of which a command reads every file, but for those that it is told
// to leave out.
type sweep struct {
	dir     string
	visible bool     // names that begin with a dot are left out
	doubt   bool     // others may be left out: git ignores them
	follows bool     // it reads what links lead to
	without []string // patterns of names in a path, of which one is enough
	files   []string // patterns of names of files
	only    []string // patterns of names of files, of which one must fit
}

// sweeps notes the folders of which the command reads all that is in them.
func (p *Part) sweeps(r *reader) {
	kind, alone := p.sweeper()
	if kind == nil {
		return
	}
	kind.follows = p.flag("RLh", "--dereference-recursive", "--dereference", "--follow", "--copy-links")
	var dirs []string
	named, paths := false, p.paths
	if slices.Contains([]string{"cp", "rsync", "scp"}, p.program()) {
		paths = p.copiedFrom(r)
	}
	for _, abs := range paths {
		info, err := os.Stat(abs)
		named = named || err == nil
		if err == nil && info.IsDir() && !slices.Contains(dirs, abs) && len(dirs) < mostNames {
			dirs = append(dirs, abs)
		}
	}
	if !named && alone {
		dirs = slices.DeleteFunc(append([]string{r.dir}, r.past...), func(dir string) bool { return dir == "" })
	}
	for _, dir := range dirs {
		s := *kind
		s.dir = dir
		p.swept = append(p.swept, s)
	}
}

// leavesOut reports whether a word says what is not to be read of folders.
func (p *Part) leavesOut(w word) bool {
	return slices.Contains([]string{"grep", "egrep", "fgrep", "tar", "bsdtar", "gtar", "rsync", "diff"}, p.program()) &&
		(strings.HasPrefix(w.text, "--exclude=") || strings.HasPrefix(w.text, "--exclude-dir="))
}

// copiedFrom are the paths that a command copies, and not where to.
func (p *Part) copiedFrom(r *reader) []string {
	from := p.operands()
	if len(p.option("-t", "--target-directory")) == 0 && len(from) > 0 {
		from = from[:len(from)-1]
	}
	var out []string
	for _, w := range from {
		if abs, ok := r.path(w); ok {
			out = append(out, abs)
		}
	}
	return out
}

// sweeper says what a command leaves out that reads folders as a whole, nil for one that
// does not; alone, that it reads the folder that it runs in where it is given none.
func (p *Part) sweeper() (kind *sweep, alone bool) {
	name, s := p.program(), &sweep{without: texts(p.option("--exclude"))}
	if name == "git" {
		sub, _ := gitCommand(p.argv)
		return only(s, sub.text == "grep" || sub.text == "archive"), true
	}
	switch name {
	case "grep", "egrep", "fgrep":
		s.without, s.files = texts(p.option("--exclude-dir")), s.without
		s.only = texts(p.option("--include"))
		recurse := slices.ContainsFunc(p.option("-d", "--directories"), func(w word) bool {
			return w.text == "recurse"
		})
		return only(s, recurse || p.flag("rR", "--recursive", "--dereference-recursive")), true
	case "rg", "ag":
		unrestricted := p.flag("u", "--unrestricted", "--no-ignore", "--no-ignore-vcs", "-a", "--all-types")
		s.visible = !p.flag("u.", "--hidden", "--unrestricted")
		s.doubt = !unrestricted
		for _, glob := range texts(p.option("-g", "--glob", "--iglob")) {
			if out, ok := strings.CutPrefix(glob, "!"); ok {
				s.without = append(s.without, strings.Trim(out, "/"))
			} else {
				s.only = append(s.only, glob)
			}
		}
		return s, p.feed == unfed
	case "ack", "ug", "ugrep":
		s.doubt = true
		return s, p.feed == unfed
	}
	if !p.packs(name) {
		s.doubt = true
		return only(s, p.mayRead(name)), false
	}
	return s, false
}

// mayRead reports whether a program may read all that is in a folder which it is given:
// any may, but for those that only look at names or have a purpose of their own for it.
func (p *Part) mayRead(name string) bool {
	_, wraps := wrappers[name]
	return len(p.argv) > 1 && !p.quiet && !wraps && !slices.Contains(namesOnly, name)
}

// namesOnly are programs that do not read what is in a folder which they are given: they
// have to do with names, make or remove it, work on what a project says, or run what is
// judged by itself.
var namesOnly = slices.Concat(runNothing, shells, strings.Fields(
	"alias apk apt apt-get brew bsdtar bun cargo command conda dnf eval exec fd find gmake go gradle gradlew gtar "+
		"helm install jar just make mkfifo mount mvn mvnw npm nproc pip pip3 pnpm poetry rsync rustup scp source . "+
		"systemctl tar trap umount unzip uv yarn zip"))

// packs reports whether a command brings all that is in folders somewhere else, or
// compares it.
func (p *Part) packs(name string) bool {
	first := ""
	if len(p.argv) > 1 {
		first = p.argv[1].text
	}
	switch name {
	case "tar", "bsdtar", "gtar":
		old := !strings.HasPrefix(first, "-") && strings.ContainsAny(first, "cru")
		return old || p.flag("cru", "--create", "--append", "--update") && !p.flag("xt", "--extract", "--list")
	case "jar":
		return strings.HasPrefix(strings.TrimLeft(first, "-"), "c")
	case "zip":
		return p.flag("r", "--recurse-paths")
	case "7z", "7za", "7zz":
		return first == "a" || first == "u"
	case "cp":
		return p.flag("rRa", "--recursive", "--archive")
	case "rsync", "scp":
		return p.flag("ra", "--recursive", "--archive")
	case "diff":
		return p.flag("r", "--recursive")
	}
	return false
}

func only(s *sweep, does bool) *sweep {
	if does {
		return s
	}
	return nil
}

func texts(words []word) []string {
	var out []string
	for _, w := range words {
		if w.known {
			out = append(out, w.text)
		}
	}
	return out
}

// reads reports whether a file, relative to the folder, is among those that are read.
func (s sweep) reads(rel string) bool {
	names := strings.Split(rel, "/")
	base := names[len(names)-1]
	matchesOne := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return fitsName(p, name) })
	}
	if len(s.only) > 0 {
		return matchesOne(s.only, base)
	}
	return !matchesOne(s.files, base) && !slices.ContainsFunc(names, func(name string) bool {
		return s.visible && strings.HasPrefix(name, ".") || matchesOne(s.without, name)
	})
}

// reading says whether a file that a rule is about is among those that the command reads
// with the folders that they lie in.
func (s subject) reading(fits func(string) bool) answer {
	out, left := no, mostSwept
	for _, sw := range s.part.swept {
		found := sw.finds(fits, &left)
		switch {
		case found && !sw.doubt:
			return yes
		case found, left <= 0:
			out = maybe
		}
	}
	return out
}

// finds reports whether a file that is read fits, among as many entries as are left.
func (s sweep) finds(fits func(string) bool, left *int) bool {
	found := false
	_ = filepath.WalkDir(s.dir, func(file string, e fs.DirEntry, err error) error {
		*left--
		rel, odd := filepath.Rel(s.dir, file)
		switch {
		case *left <= 0:
			return fs.SkipAll
		case err != nil || odd != nil:
			return nil // the command cannot read it either
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir() || !s.reads(filepath.ToSlash(rel)):
			return nil
		}
		if found = fits(file) || s.follows && e.Type()&fs.ModeSymlink != 0 && fits(resolved(file)); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

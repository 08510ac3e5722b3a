package permit

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// copied is a folder whose files come to another place under names of their own.
type copied struct{ from, to string }

// unpacks notes the folders below which the command writes files that none of its
// words names: what comes out of an archive, a patch or a commit.
func (p *Part) unpacks(r *reader) {
	p.copies(r)
	into, ok := p.unpackedInto()
	if !ok {
		return
	}
	if len(into) == 0 {
		into = []word{value(".")}
	}
	for _, w := range into {
		abs, ok := r.path(w)
		if !ok {
			p.unsure = true
			continue
		}
		p.below = append(p.below, abs)
		for _, dir := range r.past {
			p.below = append(p.below, physical(dir, w.text))
		}
	}
}

// unpackedInto are the folders that the command writes to, none for the one that it
// runs in. It reports false where it writes nothing but what its words name.
func (p *Part) unpackedInto() ([]word, bool) {
	first := ""
	if len(p.argv) > 1 {
		first = p.argv[1].text
	}
	switch p.program() {
	case "git":
		return nil, p.gitMoves()
	case "tar", "bsdtar", "gtar":
		old := !strings.HasPrefix(first, "-") && strings.Contains(first, "x")
		return p.option("-C", "--directory"), old || p.flag("x", "--extract", "--get")
	case "unzip":
		return p.option("-d"), !p.flag("lptvZz")
	case "7z", "7za", "7zz", "unrar":
		return p.option("-o"), first == "x" || first == "e"
	case "cpio":
		return p.option("-D", "--directory"), p.flag("ip", "--extract", "--pass-through")
	case "pax":
		return nil, p.flag("r")
	case "jar":
		return p.option("-C"), p.flag("x", "--extract") || strings.HasPrefix(first, "x")
	case "patch":
		return p.option("-d", "--directory"), !p.flag("", "--dry-run") && !p.namesOriginal()
	}
	return nil, false
}

// namesOriginal reports whether patch is told which file to change.
func (p *Part) namesOriginal() bool {
	values := p.option("-i", "--input", "-d", "--directory", "-p", "-D", "-B", "-F", "-r", "-V", "-Y", "-z")
	return slices.ContainsFunc(p.operands(), func(w word) bool {
		return !slices.ContainsFunc(values, func(v word) bool { return v.text == w.text })
	})
}

// gitStays are the subcommands of git that leave the work tree as it is, or change
// nothing in it but what they name.
var gitStays = strings.Fields(
	"add annotate archive blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format cherry " +
		"clone commit commit-graph commit-tree config count-objects describe diff diff-files diff-index " +
		"diff-tree difftool fast-export fetch for-each-ref format-patch fsck gc grep hash-object help http-push " +
		"index-pack init interpret-trailers log ls-files ls-remote ls-tree maintenance merge-base merge-file " +
		"merge-tree mktag mktree mv name-rev notes pack-objects pack-refs patch-id prune push range-diff reflog " +
		"remote repack replace request-pull rev-list rev-parse rm send-email send-pack shortlog show show-branch " +
		"show-index show-ref stage status stripspace symbolic-ref tag unpack-objects update-index update-ref var " +
		"verify-commit verify-pack verify-tag version whatchanged worktree write-tree")

// gitMoves reports whether git brings files of the work tree to another state that
// none of its words names. What is not known does.
func (p *Part) gitMoves() bool {
	sub, args := gitCommand(p.argv)
	if sub.known && (sub.text == "" || slices.Contains(gitStays, sub.text)) {
		return false
	}
	g := &Part{argv: append([]word{sub}, args...)}
	ops := g.operands()
	first := ""
	if len(ops) > 0 {
		first = ops[0].text
	}
	looks := func(names ...string) bool { return slices.Contains(names, first) }
	switch sub.text {
	case "checkout", "switch":
		return g.gitSwitches(sub.text == "checkout")
	case "restore", "reset":
		return sub.text == "reset" && g.flag("", "--hard", "--merge", "--keep")
	case "stash":
		return !looks("list", "show", "drop", "clear", "create", "store")
	case "clean":
		return len(ops) == 0 && !g.flag("n", "--dry-run")
	case "apply":
		return !g.flag("", "--check", "--stat", "--numstat", "--summary", "--cached") || g.flag("", "--apply")
	case "submodule":
		return !looks("", "status", "summary", "foreach")
	case "bisect":
		return !looks("log", "view", "visualize", "terms", "run")
	case "sparse-checkout":
		return !looks("list")
	case "rerere":
		return !looks("status", "diff", "remaining", "gc")
	case "read-tree":
		return g.flag("u", "--reset")
	}
	return true
}

// gitSwitches reports whether a checkout goes to another commit: where it names no
// files, or makes no branch of the commit that is there already.
func (p *Part) gitSwitches(mayNameFiles bool) bool {
	ops := p.operands()
	if mayNameFiles && slices.ContainsFunc(p.argv, func(w word) bool { return w.text == "--" }) {
		return false // the files behind it are named
	}
	if p.flag("bBcC", "--create", "--force-create", "--orphan") {
		return len(ops) > 1 || p.flag("", "--orphan")
	}
	return len(ops) == 1 || !mayNameFiles && len(ops) > 0
}

// copies notes the files that the command brings to other names, as far as they come
// of the folder which they lie in.
func (p *Part) copies(r *reader) {
	name := p.program()
	deep := name == "mv" || name == "cp" && p.flag("rRa", "--recursive", "--archive") ||
		name == "rsync" && p.flag("ra", "--recursive", "--archive")
	if !deep && !slices.Contains([]string{"cp", "install", "ln", "rsync"}, name) {
		return
	}
	from := p.operands()
	to := p.option("-t", "--target-directory")
	if len(to) == 0 && len(from) > 1 {
		from, to = from[:len(from)-1], from[len(from)-1:]
	}
	for _, t := range to {
		dir, ok := r.path(t)
		if !ok {
			continue // all that it names counts as unsure
		}
		into := isFolder(dir) && (name != "cp" || !p.flag("T", "--no-target-directory"))
		for _, f := range from {
			p.copy(r, f, dir, into, deep)
		}
	}
}

// copy notes what comes of one source.
func (p *Part) copy(r *reader, f word, to string, into, deep bool) {
	contents := strings.HasSuffix(f.text, "/.") || f.text == "." ||
		p.program() == "rsync" && strings.HasSuffix(f.text, "/")
	if into && !contents {
		to = filepath.Join(to, path.Base(f.text))
	}
	p.paths = append(p.paths, to)
	if !deep {
		return
	}
	abs, ok := r.path(f)
	_, err := os.Lstat(abs)
	switch {
	case !ok || err != nil || r.changes():
		p.below = append(p.below, to)
	case isFolder(abs):
		p.copied = append(p.copied, copied{from: abs, to: to})
	}
}

// changes reports whether the line does something to files before.
func (r *reader) changes() bool {
	return slices.ContainsFunc(r.parts, func(p Part) bool {
		return len(p.writes) > 0 || !p.Redirect && !slices.Contains(runNothing, p.program())
	})
}

func isFolder(abs string) bool {
	info, err := os.Stat(abs)
	return err == nil && info.IsDir()
}

// reaches reports whether a pattern may fit a path that is a folder or below it.
func (p Place) reaches(pattern, dir string) bool {
	pattern, dir = folded(pattern), folded(resolved(dir))
	for _, root := range []string{p.Root, p.also} {
		root = folded(root)
		switch {
		case root == "":
		case !strings.Contains(pattern, "/"): // it is about names in any folder of the tree
			if within(root, dir) || within(dir, root) {
				return true
			}
		default:
			start, _ := doublestar.SplitPattern(pattern)
			start = unquoteGlob(start)
			if !path.IsAbs(start) {
				start = filepath.Join(root, start)
			}
			if within(dir, start) || within(start, dir) {
				return true
			}
		}
	}
	return false
}

// linkedTo reports whether a file has a further name below root that is looked for.
func linkedTo(root, file string, looked func(string) bool) (found, sure bool) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || links(info) < 2 {
		return false, true
	}
	return holds(root, func(other string) bool {
		if !looked(other) {
			return false
		}
		its, err := os.Lstat(other)
		return err == nil && os.SameFile(info, its)
	})
}

package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

// add makes a work tree of its own with the files as they are in r.
func add(t *testing.T, r *worktree.Repo, include ...string) (*worktree.Repo, []string) {
	t.Helper()
	spec := specFor(t, r)
	spec.Include = include
	own, notes, err := r.Add(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return own, notes
}

func specFor(t *testing.T, r *worktree.Repo) worktree.NewTree {
	t.Helper()
	head, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return worktree.NewTree{Dir: filepath.Join(tempDir(t), "trees", "R1"), Branch: "plan/r1", Base: head, Tree: tree(t, r)}
}

func TestAddCarriesWhatIsThere(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{
		"f": "x", "d/gone": "x", "d/e/stays": "x", "run": "x", ".gitignore": "*.log\n/cache\n.env\n", "staged": "x",
	})
	remove(t, dir, "d/gone")
	if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{
		"f": "dirty", "new": "x", "staged": "y", "a.log": "log", "sub/.env": "secret", "cache/deep/c": "c", "other.log": "x",
	})
	if err := os.Chmod(filepath.Join(dir, "sub/.env"), 0o600); err != nil {
		t.Fatal(err)
	}
	symlink(t, "f", dir, "link")
	git(t, dir, "add", "staged")
	before := git(t, dir, "status", "--porcelain")

	own, notes := add(t, r, "**/.env", "cache", "a.*")
	if notes != nil {
		t.Errorf("notes %q", notes)
	}
	if diff := cmp.Diff(tree(t, r), tree(t, own)); diff != "" {
		t.Errorf("another tree: %s", diff)
	}
	for name, want := range map[string]string{"f": "dirty", "a.log": "log", "sub/.env": "secret", "cache/deep/c": "c"} {
		if got := get(t, own.Root(), name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, name := range []string{"other.log", "d/gone"} {
		if _, err := os.Lstat(filepath.Join(own.Root(), name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if info, err := os.Stat(filepath.Join(own.Root(), "sub/.env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	// What was not committed is not committed there, and nothing is staged.
	if got := git(t, own.Root(), "diff", "--cached", "--name-only"); got != "" {
		t.Errorf("staged: %q", got)
	}
	if branch, err := own.Branch(t.Context()); err != nil || branch != "plan/r1" {
		t.Errorf("branch %q, %v", branch, err)
	}
	if after := git(t, dir, "status", "--porcelain"); after != before {
		t.Errorf("the original changed:\n%s", after)
	}
	put(t, own.Root(), map[string]string{"f": "theirs"})
	if got := get(t, dir, "f"); got != "dirty" {
		t.Errorf("writing there changed the original to %q", got)
	}
}

// A folder that a person removed is made again, on the branch as it stands.
func TestAddAgain(t *testing.T) {
	t.Parallel()
	r, _ := start(t, map[string]string{"f": "x"})
	spec := specFor(t, r)
	own, _, err := r.Add(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, own.Root(), map[string]string{"made": "x"})
	spec.Tree = tree(t, own)
	head := git(t, own.Root(), "rev-parse", "HEAD")
	if _, _, err := r.Add(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "there is something already") {
		t.Errorf("added over it: %v", err)
	}
	remove(t, own.Root(), ".")
	again, _, err := r.Add(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, again.Root(), "rev-parse", "HEAD"); got != head || get(t, again.Root(), "made") != "x" {
		t.Errorf("HEAD %s, want %s", got, head)
	}
	if now, err := again.Standing(t.Context()); err != nil || now.Dirty {
		t.Errorf("dirty %v, %v", now.Dirty, err)
	}
}

func TestAddLeavesNothingBehindWhenItFails(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	for name, change := range map[string]func(*worktree.NewTree){
		"no such tree": func(s *worktree.NewTree) { s.Tree = strings.Repeat("12", 20) },
		"bad glob":     func(s *worktree.NewTree) { s.Include = []string{"[a"} },
		"bad branch":   func(s *worktree.NewTree) { s.Branch = "no..good" },
		"no commit":    func(s *worktree.NewTree) { s.Base = "" },
		"an option":    func(s *worktree.NewTree) { s.Base = "-bplan/r1-evil" },
		"another":      func(s *worktree.NewTree) { s.Base = "--lock" },
		"an option of the checkout": func(s *worktree.NewTree) {
			s.Tree = "--index-output=" + filepath.Join(s.Dir, "evil")
		},
	} {
		spec := specFor(t, r)
		change(&spec)
		if _, _, err := r.Add(t.Context(), spec); err == nil {
			t.Errorf("%s: added", name)
		}
		if _, err := os.Lstat(spec.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is left: %v", name, err)
		}
		if got := git(t, dir, "worktree", "list") + git(t, dir, "branch", "--list", "plan/*"); strings.Contains(got, "plan/r1") {
			t.Errorf("%s: left behind: %s", name, got)
		}
	}
}

func TestAddLendsSubmodules(t *testing.T) {
	t.Parallel()
	lib := tempDir(t)
	commit(t, lib, map[string]string{"lib.txt": "one"})
	r, dir := start(t, map[string]string{"f": "x"})
	git(t, dir, "submodule", "--quiet", "add", lib, "third party/lib")
	git(t, dir, "submodule", "--quiet", "add", lib, "absent")
	commit(t, dir, nil)
	git(t, dir, "submodule", "--quiet", "deinit", "-f", "absent")
	sub := filepath.Join(dir, "third party/lib")
	commit(t, sub, map[string]string{"lib.txt": "two"}) // known only here
	remove(t, filepath.Dir(lib), filepath.Base(lib))

	own, notes := add(t, r)
	if notes != nil {
		t.Errorf("notes %q", notes)
	}
	if got := get(t, own.Root(), "third party/lib/lib.txt"); got != "two" {
		t.Errorf("the submodule holds %q", got)
	}
	if diff := cmp.Diff(tree(t, r), tree(t, own)); diff != "" {
		t.Errorf("another tree: %s", diff)
	}
	if url := git(t, dir, "config", "submodule.third party/lib.url"); url != lib {
		t.Errorf("the repository's settings changed: %s", url)
	}
	if dirty, err := own.DirtySubmodules(t.Context()); err != nil || dirty != nil {
		t.Errorf("dirty submodules %q, %v", dirty, err)
	}
	if inside, err := own.InSubmodules(t.Context()); err != nil || inside != "" {
		t.Errorf("inside %q, %v", inside, err)
	}
	put(t, own.Root(), map[string]string{"third party/lib/lib.txt": "three"})
	put(t, own.Root(), map[string]string{"third party/lib/fresh": "x"})
	inside, err := own.InSubmodules(t.Context())
	for _, want := range []string{"Submodule third party/lib has changes", "+++ b/third party/lib/lib.txt", "-two\n", "+three\n", "untracked file third party/lib/fresh\n"} {
		if err != nil || !strings.Contains(inside, want) {
			t.Errorf("%v, inside:\n%s\nwant %q", err, inside, want)
		}
	}
	dirty, err := own.DirtySubmodules(t.Context())
	if diff := cmp.Diff([]string{"third party/lib"}, dirty); err != nil || diff != "" {
		t.Errorf("dirty submodules %q, %v", dirty, err)
	}
	now, err := own.Standing(t.Context())
	if diff := cmp.Diff(dirty, now.Submodules); err != nil || diff != "" {
		t.Errorf("standing %+v, %v", now, err)
	}
}

// The name of a submodule is what the tree says: it may not send git to another place.
func TestLentSubmodulesAreThoseThatAreHere(t *testing.T) {
	t.Parallel()
	_, lib := start(t, map[string]string{"lib.txt": "one"})
	r, dir := start(t, map[string]string{"f": "x"})
	git(t, dir, "submodule", "--quiet", "add", "--name", "a.branch=b", lib, "lib")
	commit(t, dir, nil)
	commit(t, filepath.Join(dir, "lib"), map[string]string{"lib.txt": "here"})
	own, notes := add(t, r)
	if got := get(t, own.Root(), "lib/lib.txt"); got != "here" || notes != nil {
		t.Errorf("the submodule holds %q, notes %q", got, notes)
	}
}

// Large files that cannot be had are left as pointers, and that is said.
func TestAddWithoutLargeFiles(t *testing.T) {
	t.Parallel()
	_, dir := start(t, map[string]string{"big": "pointer\n", "f": "x"})
	git(t, dir, "config", "filter.lfs.required", "true")
	git(t, dir, "config", "filter.lfs.clean", "cat")
	git(t, dir, "config", "filter.lfs.smudge", `test -n "$GIT_LFS_SKIP_SMUDGE" && cat # lfs`)
	commit(t, dir, map[string]string{".gitattributes": "big filter=lfs\n"})
	own, notes := add(t, open(t, dir)) // filters that are set later do not count
	if len(notes) != 1 || !strings.Contains(notes[0], "as pointers only") {
		t.Errorf("notes %q", notes)
	}
	if get(t, own.Root(), "big") != "pointer\n" || get(t, own.Root(), "f") != "x" {
		t.Error("the files are not there")
	}
}

func TestAddKeepsASparseTreeSparse(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"in/f": "x", "out/f": "x"})
	git(t, dir, "sparse-checkout", "set", "in")
	put(t, dir, map[string]string{"in/f": "dirty"})
	own, _ := add(t, r)
	if get(t, own.Root(), "in/f") != "dirty" || tree(t, own) != tree(t, r) {
		t.Error("another tree")
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	spec := specFor(t, r)
	own, _, err := r.Add(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	put(t, own.Root(), map[string]string{"f": "y"})
	gone, err := r.Drop(t.Context(), spec.Dir, spec.Branch, spec.Base)
	if err != nil || !gone {
		t.Fatalf("dropped %v, %v", gone, err)
	}
	if got := git(t, dir, "worktree", "list", "--porcelain") + git(t, dir, "branch", "--list"); strings.Contains(got, "plan/") {
		t.Errorf("left: %s", got)
	}

	// Commits that are nowhere else stay.
	if own, _, err = r.Add(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	commit(t, own.Root(), map[string]string{"made": "x"})
	remove(t, own.Root(), ".")
	gone, err = r.Drop(t.Context(), spec.Dir, spec.Branch, spec.Base)
	if err != nil || gone {
		t.Fatalf("dropped %v, %v", gone, err)
	}
	if got := git(t, dir, "branch", "--list"); !strings.Contains(got, "plan/r1") {
		t.Errorf("branches: %s", got)
	}
}

func TestFreeBranch(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	id := "01jxabcdefghijkl"
	for _, want := range []string{"plan/01jxabcdef", "plan/01jxabcdefghij", "plan/01jxabcdefghijkl"} {
		got, err := r.FreeBranch(t.Context(), "plan/", id)
		if err != nil || got != want {
			t.Fatalf("name %q, %v; want %q", got, err, want)
		}
		git(t, dir, "branch", want)
	}
	if name, err := r.FreeBranch(t.Context(), "plan/", id); err == nil {
		t.Errorf("name %q", name)
	}
}

// A tree of its own is worked on with no git of the tree that it was made from.
func TestAddTakesNoGitOfTheOtherTree(t *testing.T) {
	r, dir := start(t, map[string]string{"f": "x"})
	bin := filepath.Join(dir, "bin")
	put(t, dir, map[string]string{"bin/git": "#!/bin/sh\nexit 1\n"})
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := specFor(t, r)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if _, _, err := r.Add(t.Context(), spec); err != nil {
		t.Error(err)
	}
}

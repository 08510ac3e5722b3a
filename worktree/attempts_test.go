package worktree_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
	gitprogram "github.com/plan-engine/plan/worktree/git"
)

// victim is a repository in which EVIL is run by whatever was planted.
type victim struct{ dir, marks string }

// markOf is the name of the file that says that an attempt reached its program.
func markOf(name string) string { return strings.NewReplacer(" ", "-", ",", "").Replace(name) }

func (v victim) sh(t *testing.T, name, script string) string {
	t.Helper()
	mark := filepath.Join(v.marks, markOf(name))
	if folder, ok := strings.CutPrefix(script, "PROMISE "); ok {
		folder, rest, _ := strings.Cut(folder, ";")
		script = "(" + strings.ReplaceAll(promise, "FOLDER", folder) + ");" + rest
	}
	prog := filepath.Join(v.dir, "evil-"+filepath.Base(mark))
	if err := os.WriteFile(prog, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	script = strings.NewReplacer("EVIL", v.dir+"/evil "+mark, "PROG", prog).Replace(script)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = v.dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	out, _ := cmd.CombinedOutput() // EVIL makes most of them fail
	return string(out)
}

// ran lists what was run since it was asked the last time.
func (v victim) ran(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(v.marks)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		remove(t, v.marks, e.Name())
	}
	return names
}

func newVictim(t *testing.T) victim {
	t.Helper()
	_, lib := start(t, map[string]string{"f": "one"})
	_, dir := start(t, map[string]string{
		".gitattributes": "*.txt filter=evil diff=evil merge=evil\n*.dat filter=other\n*.inc filter=inc\n*.wt filter=wt\n",
		"f.txt":          "base\n", "f.dat": "x", "f.inc": "x", "f.wt": "x", "f.raw": "x\n", ".husky/readme": "x",
		"evil": "#!/bin/sh\ntouch \"$1\"\nexit 1\n",
	})
	v := victim{dir: dir, marks: tempDir(t)}
	out := v.sh(t, "", `chmod +x evil
		git -c protocol.file.allow=always submodule --quiet add `+lib+` lib; git add -A; git commit -qm lib
		git init -q -b main --bare ../far.git; git remote add far ../far.git; git push -q far HEAD:main
		git branch one; git branch two
		for b in one two; do git checkout -q $b; echo $b >f.txt; git commit -qam $b; done; git checkout -q main; echo three >f.txt`)
	if git(t, dir, "rev-parse", "one") == git(t, dir, "rev-parse", "two") {
		t.Fatal(out)
	}
	return v
}

// Nothing that a tree, or a repository that a model has written to, can name is run
// by plan's own process. Each attempt works with git as it is; a repository that was
// open before it was planted knows it as a change, one opened after it as a program
// of the tree.
func TestNothingOfTheTreeRuns(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	before := open(t, v.dir)
	probe := newProbe(t, v)
	config := get(t, probe.dir, ".git/config")
	if len(attempts) < 50 {
		t.Errorf("only %d attempts", len(attempts))
	}
	for _, a := range attempts {
		name := a.name
		said := probe.sh(t, name, a.plant) + probe.sh(t, name, a.raw)
		put(t, probe.dir, map[string]string{".git/config": config}) // as before it
		remove(t, probe.dir, ".git/rebase-merge")
		if ran := probe.ran(t); !slices.Contains(ran, markOf(name)) {
			t.Errorf("%s: git does not run it either, so this proves nothing: %s", name, said)
		}
	}
	for _, a := range attempts {
		v.sh(t, a.name, a.plant)
	}
	v.ran(t)
	for _, opened := range []struct {
		when string
		repo *worktree.Repo
	}{{"before", before}, {"after", open(t, v.dir)}} {
		when, do := opened.when, operations(v, opened.repo)
		for _, a := range attempts {
			if do[a.meets] == nil {
				t.Fatalf("%s: there is no operation %q", a.name, a.meets)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(do)) {
			err := do[name](t)
			if ran := v.ran(t); len(ran) > 0 {
				t.Errorf("opened %s: %s ran %v (%v)", when, name, ran, err)
			} else if err != nil {
				t.Logf("opened %s: %s: %v", when, name, err)
			}
		}
	}
}

// newProbe is a copy of a victim.
func newProbe(t *testing.T, v victim) victim {
	t.Helper()
	base := tempDir(t)
	from := filepath.Dir(v.dir)
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from+"/.", base).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return victim{dir: filepath.Join(base, filepath.Base(v.dir)), marks: tempDir(t)}
}

// operations are what plan does with a repository. Some fail in one that is so full
// of traps; none runs anything.
func operations(v victim, r *worktree.Repo) map[string]func(*testing.T) error {
	ask := func(do func(t *testing.T) error) func(*testing.T) error { return do }
	return map[string]func(*testing.T) error{
		"open":     ask(func(t *testing.T) error { _, err := worktree.Open(t.Context(), v.dir); return err }),
		"survey":   ask(func(t *testing.T) error { _, err := r.Survey(t.Context()); return err }),
		"standing": ask(func(t *testing.T) error { _, err := r.Standing(t.Context()); return err }),
		"tree":     ask(func(t *testing.T) error { _, err := r.Tree(t.Context()); return err }),
		"snapshot": ask(func(t *testing.T) error { _, err := r.Snapshot(t.Context(), "R1", "a"); return err }),
		"files":    ask(func(t *testing.T) error { _, err := r.Files(t.Context()); return err }),
		"ignored":  ask(func(t *testing.T) error { _, err := r.Ignored(t.Context(), []string{"f.txt"}); return err }),
		"diff":     ask(func(t *testing.T) error { _, err := r.Diff(t.Context(), "one", "two"); return err }),
		"patch":    ask(func(t *testing.T) error { _, err := r.Patch(t.Context(), "one", "two"); return err }),
		"stat":     ask(func(t *testing.T) error { _, err := r.Stat(t.Context(), "one", "two"); return err }),
		"hashes":   ask(func(t *testing.T) error { _, err := r.Hashes(t.Context(), []string{"f.txt"}); return err }),
		"submodules": ask(func(t *testing.T) error {
			_, err := r.InSubmodules(t.Context())
			return err
		}),
		"missing": ask(func(t *testing.T) error {
			if r.Has(t.Context(), strings.Repeat("1", 40)+"^{tree}") == nil {
				return errors.New("it is there")
			}
			return nil
		}),
		"merge": ask(func(t *testing.T) error { _, err := r.Merge(t.Context(), "one", "two", worktree.Options{}); return err }),
		"commit": ask(func(t *testing.T) error {
			_, err := r.CommitTo(t.Context(), "three", "HEAD", "one", "two", "m", false)
			return err
		}),
		"commit here": ask(func(t *testing.T) error {
			_, _, err := r.MergeCommit(t.Context(), "HEAD", "HEAD", "m", worktree.Options{})
			if errors.Is(err, worktree.ErrNothing) {
				return nil
			}
			return err
		}),
		"restore": ask(func(t *testing.T) error {
			now, err := r.Tree(t.Context())
			if err == nil {
				_, err = r.Restore(t.Context(), now, "one^{tree}", worktree.Options{Force: true})
			}
			return err
		}),
		"a work tree": ask(func(t *testing.T) error {
			dir := filepath.Join(tempDir(t), "tree")
			_, _, err := r.Add(t.Context(), worktree.NewTree{Dir: dir, Branch: "b" + filepath.Base(filepath.Dir(dir)), Base: "HEAD", Tree: "one"})
			if err == nil {
				_, err = r.Drop(t.Context(), dir, "", "")
			}
			return err
		}),
		"a view": ask(func(t *testing.T) error {
			view, err := r.View(t.Context())
			if err == nil {
				err = view.Close()
			}
			return err
		}),
		"a view of snapshots": ask(func(t *testing.T) error {
			views := r.SnapshotViews(git(t, v.dir, "-c", "core.hooksPath=/dev/null", "rev-parse", "HEAD"))
			_, err := views.Files(t.Context(), "one", "two")
			return errors.Join(err, views.Close())
		}),
		"a clone of it": ask(func(t *testing.T) error {
			return r.CloneAt(t.Context(), filepath.Join(tempDir(t), "clone"), git(t, v.dir, "rev-parse", "HEAD"))
		}),
		"clone and fetch": ask(func(t *testing.T) error {
			store, err := worktree.Clone(t.Context(), filepath.Join(filepath.Dir(v.dir), "far.git"), filepath.Join(tempDir(t), "store"))
			if err != nil {
				return err
			}
			git(t, store.Root(), "config", "remote.origin.uploadpack", v.dir+"/evil "+filepath.Join(v.marks, "store"))
			git(t, store.Root(), "config", "core.hooksPath", filepath.Join(v.dir, ".husky"))
			return store.Fetch(t.Context())
		}),
		"push by a user's command": ask(func(t *testing.T) error {
			env, left, err := r.UserEnv(t.Context(), false)
			var leads *gitprogram.LeadsError
			if errors.As(err, &leads) && len(leads.Names) >= 4 { // in the repository, not in the clone of far
				for _, name := range leads.Names {
					git(t, v.dir, "config", "--unset-all", name)
				}
				env, left, err = r.UserEnv(t.Context(), false)
			}
			if err != nil || left == "" {
				return errors.Join(err, errors.New("no hooks are left out: "+left))
			}
			cmd := exec.CommandContext(t.Context(), "git", "push", "-q", filepath.Join(filepath.Dir(v.dir), "far.git"), "HEAD:refs/heads/p")
			cmd.Dir, cmd.Env = v.dir, append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("the push fails: %s", out)
			}
			return nil
		}),
	}
}

// What leads to a repository's data must be what it was when it was opened.
func TestALinkThatChangedIsRefused(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]string{
		"commondir":  `mkdir other; cp -r .git/. other/; echo ../other >.git/commondir`,
		"alternates": `echo "$PWD/other" >.git/objects/info/alternates`,
		"gitdir":     `echo x >.git/gitdir`,
		"git link":   `mv .git other; echo gitdir: other >.git`,
		"objects":    `mv .git/objects other; ln -s ../other .git/objects`,
	} {
		r, dir := start(t, map[string]string{"f": "x"})
		victim{dir: dir, marks: tempDir(t)}.sh(t, name, plant)
		_, err := r.Files(t.Context())
		var changed *gitprogram.ChangedError
		if !errors.As(err, &changed) || !strings.HasPrefix(changed.Path, dir) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "commondir" {
			if _, err := worktree.Open(t.Context(), dir); !errors.Is(err, worktree.ErrUnreadable) {
				t.Errorf("it is opened all the same: %v", err)
			}
		}
	}
}

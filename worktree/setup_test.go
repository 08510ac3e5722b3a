package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/worktree"
)

// TestMain gives git an identity and takes the settings of the one who runs the
// tests away from it.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "A U Thor", "GIT_AUTHOR_EMAIL": "author@example.com",
		"GIT_COMMITTER_NAME": "C O Mitter", "GIT_COMMITTER_EMAIL": "committer@example.com",
		"GIT_AUTHOR_DATE": "@1700000000 +0000", "GIT_COMMITTER_DATE": "@1700000000 +0000",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if of := os.Getenv(committing); of != "" {
		commitAndExit(of)
	}
	goleak.VerifyTestMain(m)
}

// git runs git in dir and returns what it says, without the last newline.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, args...)
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append(gittest.Settings(), args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// put writes files, given as path and content, with their directories.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func get(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, dir, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// tempDir is a temporary directory under its real name.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// commit makes dir a repository, if it is none, and commits all of it.
func commit(t *testing.T, dir string, files map[string]string, init ...string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		git(t, dir, append([]string{"init", "-q", "-b", "main"}, init...)...)
	}
	put(t, dir, files)
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "commit")
}

// start makes a repository with the files committed and opens it.
func start(t *testing.T, files map[string]string, init ...string) (*worktree.Repo, string) {
	t.Helper()
	dir := filepath.Join(tempDir(t), "repo")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	commit(t, dir, files, init...)
	return open(t, dir), dir
}

func open(t *testing.T, dir string) *worktree.Repo {
	t.Helper()
	r, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tree is the tree of the work tree. A test that asks for it in another way, before
// it was written and after, is told the same: each way is tried at one of both times, by
// the seed, or at both where everything is played.
func tree(t *testing.T, r *worktree.Repo) string {
	t.Helper()
	ways := []func() (worktree.State, error){
		func() (worktree.State, error) { return r.Look(t.Context()) },
		func() (worktree.State, error) {
			survey, err := r.Survey(t.Context())
			return survey.State, err
		},
	}
	random := sampling.New(t)
	random.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	before, after := ways[:1], ways[1:]
	if sampling.All() {
		before, after = ways, ways
	}
	seen := see(t, before)
	id, err := r.Tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range append(seen, see(t, after)...) {
		if other.Tree != id || other.Head != seen[0].Head {
			t.Errorf("the tree is %s; looked at in another way it is %+v", id, other)
		}
	}
	return id
}

func see(t *testing.T, ways []func() (worktree.State, error)) []worktree.State {
	t.Helper()
	var out []worktree.State
	for _, way := range ways {
		state, err := way()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, state)
	}
	return out
}

// content lists what a tree holds: mode and path of each file.
func content(t *testing.T, dir, tree string) []string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(strings.TrimSuffix(git(t, dir, "ls-tree", "-r", "-z", tree), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		head, path, _ := strings.Cut(line, "\t")
		mode, _, _ := strings.Cut(head, " ")
		out = append(out, mode+" "+path)
	}
	return out
}

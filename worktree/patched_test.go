package worktree_test

import "testing"

// A patch of a change, applied to where it came from, is the change: with binary files,
// links, modes, odd names and settings that would have git see to white space.
func TestPatched(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"mod": "a\nb\n", "gone": "x\n", "bin": "\x00a", "ünï\n": "x\n"})
	git(t, dir, "config", "apply.whitespace", "fix")
	from := git(t, dir, "rev-parse", "HEAD")
	remove(t, dir, "gone")
	put(t, dir, map[string]string{"mod": "a \nB\t\nno end", "new/deep": "n\r\n", "bin": "\x00b", "ünï\n": "y\n"})
	to := tree(t, r)
	patch, err := r.Patch(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Patched(t.Context(), from, []byte(patch))
	if err != nil || got != to {
		t.Errorf("the patch makes %s of it and not %s: %v\n%s", got, to, err, patch)
	}
	same, err := r.Patched(t.Context(), from, nil)
	if want := git(t, dir, "rev-parse", "HEAD^{tree}"); err != nil || same != want {
		t.Errorf("no patch makes %s of %s: %v", same, want, err)
	}
	if _, err := r.Patched(t.Context(), to, []byte(patch)); err == nil {
		t.Error("a patch fits where it is already")
	}
}

package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plan-engine/plan/internal/hint"
)

// Since is where the work on HEAD left the line that it is to go back to.
type Since struct {
	Commit string
	Tree   string
	Ref    string // what it is to go back to, as it was named or found
	// Messages are those of the commits since, oldest first.
	Messages string
}

const (
	// mostMessages bounds how many commits are asked what they say, and
	// messageBytes how much of that is kept.
	mostMessages = 200
	messageBytes = 32 << 10
)

// Since finds where HEAD left ref; "" is the default branch of where the repository
// came from, or else of this one, or else HEAD itself.
func (r *Repo) Since(ctx context.Context, ref string) (s Since, err error) {
	var onto string
	if ref == "" {
		s.Ref, onto, err = r.defaultBranch(ctx)
	} else {
		s.Ref = ref
		onto, err = r.Commit(ctx, ref, false)
	}
	if err != nil {
		return s, err
	}
	if s.Commit, err = r.run(ctx, "merge-base", onto, "HEAD"); err != nil {
		if ctx.Err() != nil {
			return s, fmt.Errorf("find where HEAD left %q: %w", s.Ref, err)
		}
		return s, hint.New(
			fmt.Sprintf("HEAD and %q have no commit in common here", s.Ref),
			"In a shallow clone fetch the history (git fetch --unshallow), or name another --base.",
		)
	}
	s.Commit = strings.TrimSpace(s.Commit)
	if s.Tree, err = r.run(ctx, "rev-parse", "-q", "--verify", s.Commit+"^{tree}"); err != nil {
		return s, fmt.Errorf("read the tree of %s: %w", s.Commit, err)
	}
	s.Tree = strings.TrimSpace(s.Tree)
	output, err := r.run(
		ctx,
		"log",
		"--no-show-signature",
		"--no-color",
		fmt.Sprintf("--max-count=%d", mostMessages),
		"--reverse",
		"--format=%B",
		s.Commit+"..HEAD",
	)
	if err != nil {
		return s, fmt.Errorf("read what was committed since %s: %w", s.Commit, err)
	}
	s.Messages = strings.TrimSpace(strings.ToValidUTF8(output, "�"))
	if len(s.Messages) > messageBytes {
		s.Messages = strings.ToValidUTF8(s.Messages[:messageBytes], "") + "\n[… the rest is left out]"
	}
	return s, nil
}

// defaultBranch is the branch that work on this repository goes back to, as far as
// its refs say so.
func (r *Repo) defaultBranch(ctx context.Context) (ref, commit string, err error) {
	var refs []string
	for _, remote := range []string{"upstream", "origin"} {
		for _, name := range []string{"HEAD", "main", "master"} {
			refs = append(refs, "refs/remotes/"+remote+"/"+name)
		}
	}
	for _, ref := range append(refs, "refs/heads/main", "refs/heads/master", "HEAD") {
		commit, err = r.run(ctx, "rev-parse", "-q", "--verify", ref+"^{commit}")
		if err == nil {
			return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/remotes/"), "refs/heads/"), commit, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", "", errors.Join(errors.New("find the branch that the work is to go back to"), err)
}

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/worktree/git"
)

// Bundle is snapshots of a run on their way to another repository, with the objects
// that it lacks.
type Bundle struct {
	Refs map[string]string // commit by the ref that keeps it
	Data []byte            // as `git bundle` writes it
}

// Bundle packs the snapshots of a run for a repository that has a commit, and those
// that are known. Without new ones it is empty.
func (r *Repo) Bundle(ctx context.Context, run plan.RunID, base string, known map[string]string) (Bundle, error) {
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", refOf(run, ""))
	if err != nil {
		return Bundle{}, fmt.Errorf("list the snapshots of run %s: %w", run, err)
	}
	b := Bundle{Refs: map[string]string{}}
	args := []string{"bundle", "create", "-q", "-"}
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if known[ref] != commit {
			b.Refs[ref] = commit
			args = append(args, ref)
		}
	}
	if len(b.Refs) == 0 {
		return Bundle{}, nil
	}
	args = append(args, "--not", base)
	for _, commit := range known { // a commit would have its parents left out alone: it is no ancestor
		args = append(args, commit+"^{tree}")
	}
	var data bytes.Buffer
	if _, err := r.git.Run(ctx, git.Call{
		Dir:  r.root,
		Args: args,
		Out:  &data,
	}); err != nil {
		return Bundle{}, fmt.Errorf("pack the snapshots of run %s: %w", run, err)
	}
	b.Data = data.Bytes()
	return b, nil
}

// Unbundle takes snapshots of a run in. What they build on must be here.
func (r *Repo) Unbundle(ctx context.Context, run plan.RunID, b Bundle) (err error) {
	if len(b.Data) == 0 {
		return nil
	}
	for ref, commit := range b.Refs {
		if !strings.HasPrefix(ref, refOf(run, "")) || areNames(commit) != nil {
			return fmt.Errorf("take snapshots in: %.100q is none", ref+" "+commit)
		}
	}
	room, err := scratch.New(r.scratch(), scratch.Bundle)
	if err != nil {
		return fmt.Errorf("take snapshots in: %w", err)
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	file := filepath.Join(room.Dir, "bundle")
	if err := os.WriteFile(file, b.Data, 0o600); err != nil {
		return fmt.Errorf("take snapshots in: %w", err)
	}
	if err := r.onWhole(ctx, git.Call{
		Dir:   r.root,
		Args:  []string{"bundle", "unbundle", file},
		Reads: []string{room.Dir},
	}); err != nil {
		return fmt.Errorf("take snapshots in: %w", refused(err))
	}
	for _, ref := range slices.Sorted(maps.Keys(b.Refs)) {
		if err := r.updateRef(ctx, ref, "", ref, b.Refs[ref]); err != nil {
			return fmt.Errorf("take snapshots in: %w", refused(err))
		}
	}
	return nil
}

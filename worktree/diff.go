package worktree

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/patch"
	"github.com/plan-engine/plan/worktree/git"
)

// Diff is the change between two trees or commits as a patch to read: renames
// are followed, binary files are only said to differ. What is binary its bytes say: a
// change could bring attributes that call its texts binary, and so hide them. The text of
// files is given as it is and need not be valid UTF-8.
func (r *Repo) Diff(ctx context.Context, from, to string) (string, error) {
	flags := []string{
		"-p", "-M", "-l1000", "--abbrev=12", "--indent-heuristic",
		"--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/",
	}
	out, err := r.diffTree(ctx, from, to, flags...)
	if err != nil || !strings.Contains(out, "\nBinary files ") {
		return out, err
	}
	texts, err := r.diffTree(ctx, from, to, append(flags, "--text")...)
	if err != nil {
		return "", err
	}
	shown, whole := patch.Files(out), patch.Files(texts)
	if len(shown) != len(whole) {
		return texts, nil // a text has a line that looks like the head of a file
	}
	for i, text := range whole {
		if strings.Contains(shown[i], "\nBinary files ") && !strings.Contains(text, "\x00") {
			shown[i] = text
		}
	}
	return strings.Join(shown, ""), nil
}

// Patch is the change between two trees or commits as a patch that git apply
// takes, binary files included.
func (r *Repo) Patch(ctx context.Context, from, to string) (string, error) {
	return r.diffTree(ctx, from, to, "-p", "-M", "-l1000", "--binary", "--full-index",
		"--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
}

// Stat sizes the change between two trees or commits. A binary file counts as
// a file without lines, and what is binary its bytes say, as in [Repo.Diff].
func (r *Repo) Stat(ctx context.Context, from, to string) (plan.DiffStat, error) {
	flags := []string{"--numstat", "-z", "-M", "-l1000", "--no-ext-diff", "--no-textconv"}
	out, err := r.diffTree(ctx, from, to, flags...)
	if err == nil && strings.Contains("\x00"+out, "\x00-\t-\t") {
		out, err = r.diffApart(ctx, from, to, "* !diff\n", flags...)
	}
	if err != nil {
		return plan.DiffStat{}, err
	}
	return parseNumstat(out)
}

// Changed lists the paths that differ between two trees or commits, sorted. A
// renamed file is there under both names.
func (r *Repo) Changed(ctx context.Context, from, to string) ([]string, error) {
	out, err := r.diffTree(ctx, from, to, "--name-only", "--no-renames", "-z")
	if err != nil {
		return nil, err
	}
	paths := splitNUL(out)
	slices.Sort(paths)
	return paths, nil
}

// diffTree runs the plumbing command, which heeds none of the user's settings
// about how diffs should look.
func (r *Repo) diffTree(ctx context.Context, from, to string, flags ...string) (string, error) {
	if err := areNames(from, to); err != nil {
		return "", fmt.Errorf("compare trees of %q: %w", r.root, err)
	}
	if from == to {
		return "", nil // git need not be asked
	}
	args := slices.Concat(
		[]string{"diff-tree", "-r", "--ignore-submodules=none"},
		flags,
		[]string{from + "^{tree}", to + "^{tree}", "--"},
	)
	out, err := r.git.Run(ctx, git.Call{Dir: r.root, Args: args})
	if err != nil {
		return "", fmt.Errorf("compare trees of %q: %w", r.root, err)
	}
	return out, nil
}

// areNames refuses what git would take for an option: ids come from journals, which
// may be from elsewhere.
func areNames(ids ...string) error {
	for _, id := range ids {
		if id == "" || strings.HasPrefix(id, "-") {
			return fmt.Errorf("%q is not a tree or a commit", id)
		}
	}
	return nil
}

// parseNumstat adds up "INS<tab>DEL<tab>PATH" entries; a rename has an empty
// path, and the two paths as entries of their own.
func parseNumstat(out string) (plan.DiffStat, error) {
	var stat plan.DiffStat
	fields := splitNUL(out)
	for len(fields) > 0 {
		line := fields[0]
		fields = fields[1:]
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) < 3 || parts[2] == "" && len(fields) < 2 {
			return plan.DiffStat{}, fmt.Errorf("size the change: git printed %q, which is not an entry", line)
		}
		if parts[2] == "" {
			fields = fields[2:]
		}
		stat.Files++
		if parts[0] == "-" && parts[1] == "-" {
			continue // binary
		}
		ins, insErr := strconv.Atoi(parts[0])
		del, delErr := strconv.Atoi(parts[1])
		if insErr != nil || delErr != nil || ins < 0 || del < 0 {
			return plan.DiffStat{}, fmt.Errorf("size the change: git printed %q, which has no line counts", line)
		}
		stat.Insertions += ins
		stat.Deletions += del
	}
	return stat, nil
}

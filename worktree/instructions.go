package worktree

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/sandbox"
)

const (
	maxInstruction  = 16 << 10 // bytes of one file
	maxInstructions = 48 << 10 // bytes of all files
	maxPointer      = 200      // bytes of a file that only names another
)

// Instruction is a file in which a repository tells agents how to work in it.
type Instruction struct {
	Path string // relative to the root, with slashes
	Text string // 16 KiB of it at most and a mark where it was cut; "" when the files before it took all the room
}

// Instructions returns the AGENTS.md and CLAUDE.md files of the work tree, the
// root's first, then by path. Of two in one directory that say the same, or of
// which one only points at the other, there is one. When 48 KiB are full, the
// files that are left come with their path alone.
func (r *Repo) Instructions(ctx context.Context) ([]Instruction, error) {
	l, err := r.list(ctx, area{dir: r.root})
	if err != nil {
		return nil, fmt.Errorf("find instructions: %w", err)
	}
	return r.instructions(ctx, l.entries)
}

// instructions reads those among the entries of the work tree.
func (r *Repo) instructions(ctx context.Context, entries []entry) ([]Instruction, error) {
	files, err := r.filesOf(ctx, area{dir: r.root}, entries)
	if err != nil {
		return nil, fmt.Errorf("find instructions: %w", err)
	}
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, fmt.Errorf("find instructions: %w", err)
	}
	defer func() { _ = root.Close() }()
	texts := map[string]map[string]string{} // by directory and name
	for _, file := range sortedUnique(files) {
		name := path.Base(file)
		if name != "AGENTS.md" && name != "CLAUDE.md" {
			continue
		}
		text, err := readText(root, file)
		if err != nil {
			return nil, fmt.Errorf("read instructions %q: %w", file, err)
		}
		dir := path.Dir(file)
		if texts[dir] == nil {
			texts[dir] = map[string]string{}
		}
		texts[dir][name] = text
	}
	var list []Instruction
	for dir, pair := range texts {
		list = append(list, instructionsOf(dir, pair["AGENTS.md"], pair["CLAUDE.md"])...)
	}
	slices.SortFunc(list, func(a, b Instruction) int {
		return cmp.Or(cmp.Compare(nested(a), nested(b)), cmp.Compare(a.Path, b.Path))
	})
	fit(list)
	return list, nil
}

// nested is 0 for a file at the root and 1 for any other.
func nested(in Instruction) int { return min(strings.Count(in.Path, "/"), 1) }

// instructionsOf picks the instructions of one directory, without a file that only
// names the other; a missing file is "".
func instructionsOf(dir, agents, claude string) []Instruction {
	if agents == claude || points(claude, "AGENTS.md") && agents != "" {
		claude = ""
	} else if points(agents, "CLAUDE.md") && claude != "" {
		agents = ""
	}
	var out []Instruction
	if agents != "" {
		out = append(out, Instruction{Path: path.Join(dir, "AGENTS.md"), Text: agents})
	}
	if claude != "" {
		out = append(out, Instruction{Path: path.Join(dir, "CLAUDE.md"), Text: claude})
	}
	return out
}

// points reports whether a text is no more than a line that names the file.
func points(text, name string) bool {
	return len(text) <= maxPointer && !strings.Contains(text, "\n") && strings.Contains(text, name)
}

// fit cuts every text to its share, and takes away those that no longer fit
// and all behind them.
func fit(list []Instruction) {
	total := 0
	for i := range list {
		list[i].Text, _ = sandbox.Cut([]byte(list[i].Text), maxInstruction)
		if total += len(list[i].Text); total > maxInstructions {
			total = maxInstructions + 1
			list[i].Text = ""
		}
	}
}

// readText reads a file within the root without the space around its text; a
// file that leads out of the root reads as empty.
func readText(root *os.Root, name string) (string, error) {
	f, err := openRegular(root, name)
	if f == nil || err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return "", err //nolint:wrapcheck // names the file
	}
	return strings.TrimSpace(string(data)), nil
}

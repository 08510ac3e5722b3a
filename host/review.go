package host

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/worktree"
)

// Review says which change is judged, and what becomes of it.
type Review struct {
	// Base is what the change counts from: where HEAD left that branch, tag or
	// commit. Default: the default branch of where the repository came from.
	Base string

	// Fix goes on to Implement with the gaps of a change that is not approved.
	Fix bool

	// claimed says that there was no request but what the commits say.
	claimed bool
}

// labelBase is the label of the tree that a reviewed change counts from.
const labelBase = "base"

// takeRequest has what the commits of a change say stand in for a request.
func (r *Request) takeRequest(since worktree.Since) {
	if r.Text != "" {
		return
	}
	r.Review.claimed = true
	if r.Text = since.Messages; r.Text == "" {
		r.Text = "(The change is not committed, and nothing says what it is for.)"
	}
}

// compareWith writes down what the change of a review counts from, and keeps it. A
// tree that is the same has nothing to review.
func (s *session) compareWith(ctx context.Context, r Review, b *beginning) error {
	if b.first != nil && b.first.Tree == b.since.Tree {
		return hint.New(
			"there is nothing to review: the files are as they were at "+b.since.Ref,
			"Name what the change counts from with --base, or check the branch out that has it.",
		)
	}
	var err error
	if b.instructions, err = s.host.fromBefore(ctx, s.repo, b.since.Tree, b.instructions); err != nil {
		return err
	}
	snapshot, err := s.repo.Holding(b.making.File()).Keep(ctx, b.id, labelBase, b.since.Tree)
	if err != nil {
		return err
	}
	b.start.Against = &plan.Against{
		Commit:  b.since.Commit,
		Tree:    b.since.Tree,
		Ref:     b.since.Ref,
		Kept:    snapshot.Ref,
		Claimed: r.claimed,
	}
	return nil
}

// fromBefore leaves of a repository's instructions those that are in the tree which a
// reviewed change counts from: what the change itself says is no word on how to judge
// it.
func (h *Host) fromBefore(
	ctx context.Context,
	repo *worktree.Repo,
	base string,
	instructions []worktree.Instruction,
) ([]worktree.Instruction, error) {
	if len(instructions) == 0 {
		return nil, nil
	}
	now, err := repo.Tree(ctx)
	if err != nil {
		return nil, err
	}
	changed, err := repo.Changed(ctx, base, now)
	if err != nil {
		return nil, err
	}
	var out []worktree.Instruction
	for _, in := range instructions {
		if slices.Contains(changed, in.Path) {
			h.note("the change touches " + in.Path + ", so the review does not go by what it says")
			continue
		}
		out = append(out, in)
	}
	return out, nil
}

// Reviewed is what the latest review of a run came to.
type Reviewed struct {
	Run      plan.RunID         `json:"run"`
	State    plan.State         `json:"state"`
	Parked   *plan.Parked       `json:"parked"`
	ExitCode int                `json:"exit_code"`
	Base     *plan.Against      `json:"base"`
	Request  string             `json:"request"`
	Diff     plan.DiffStat      `json:"diff"`
	Verdict  *plan.Judgement    `json:"verdict"` // null before there is one
	Gaps     []PlacedGap        `json:"gaps"`    // that are open
	Notes    []PlacedNote       `json:"notes"`   // of the verdict
	Files    []string           `json:"files"`   // that the change touches
	Findings []plan.Finding     `json:"findings"`
	Checks   []plan.CheckResult `json:"checks"`
	Baseline []plan.CheckResult `json:"baseline"`
}

// Place is the first file that a text names, as far as there is one, and the line that
// it names in it, 0 for none.
type Place struct {
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
}

// PlacedGap is a gap with the place that it names.
type PlacedGap struct {
	plan.Gap
	Place
}

// PlacedNote is a note of a verdict with the place that it names.
type PlacedNote struct {
	Note string `json:"note"`
	Place
}

// Reviewed says what the latest review of a run came to.
func (h *Host) Reviewed(ctx context.Context, end End) (Reviewed, error) {
	run, err := h.Load(ctx, end.Run)
	if err != nil {
		return Reviewed{}, err
	}
	out := Reviewed{
		Run:      run.ID,
		State:    run.State,
		Parked:   run.Parked,
		ExitCode: end.ExitCode,
		Base:     run.Start.Against,
		Request:  run.Start.Request,
		Gaps:     []PlacedGap{},
		Notes:    []PlacedNote{},
		Findings: append([]plan.Finding{}, run.Findings...),
		Checks:   append([]plan.CheckResult{}, run.Checks...),
		Baseline: append([]plan.CheckResult{}, run.Baseline...),
	}
	if n := len(run.Verdicts); n > 0 {
		out.Verdict = &run.Verdicts[n-1]
	}
	if out.Diff, err = h.SizeOf(ctx, run); err != nil {
		return out, err
	}
	change, err := h.ChangeOf(ctx, run)
	if err != nil {
		return out, err
	}
	files, err := change.Repo.Changed(ctx, change.From, change.To)
	if err != nil {
		return out, err
	}
	out.Files = append([]string{}, files...)
	root, err := os.OpenRoot(run.Start.Root())
	if err != nil {
		return out, wrap("look for the places that gaps name", err)
	}
	defer func() { _ = root.Close() }()
	for _, g := range run.Gaps {
		if g.Open() {
			out.Gaps = append(out.Gaps, PlacedGap{g, placeIn(root, g.Gap)})
		}
	}
	if out.Verdict != nil {
		for _, n := range out.Verdict.Notes {
			out.Notes = append(out.Notes, PlacedNote{n, placeIn(root, n)})
		}
	}
	return out, nil
}

// A path in a sentence, and what says behind it which line is meant.
var (
	pathWord = lazy.Regexp(`[^\s\x60"'()\[\]<>:,;#]+`)
	lineWord = lazy.Regexp(`^\x60?(?::|#L|,? \(?(?:at |on |in )?lines? )([1-9][0-9]{0,6})\b`)
)

// placeIn is the first place that a text names in the files below root: a line of one
// if it names any, else a file.
func placeIn(root *os.Root, text string) Place {
	var file Place
	for _, at := range pathWord().FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		if !strings.ContainsAny(name, "./") {
			continue
		}
		line := lineWord().FindStringSubmatch(text[at[1]:])
		if line == nil && file.Path != "" {
			continue
		}
		info, err := root.Stat(name)
		if err != nil {
			name = strings.TrimRight(name, ".") // it ends the sentence
			info, err = root.Stat(name)
		}
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if line != nil {
			n, _ := strconv.Atoi(line[1]) // it is a number of at most seven digits
			return Place{name, n}
		}
		file.Path = name
	}
	return file
}

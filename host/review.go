package host

import (
	"context"
	"os"
	"slices"
	"strconv"

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
	kept, err := s.repo.Holding(b.making.File()).Keep(ctx, b.id, labelBase, b.since.Tree)
	if err != nil {
		return err
	}
	b.start.Against = &plan.Against{
		Commit:  b.since.Commit,
		Tree:    b.since.Tree,
		Ref:     b.since.Ref,
		Kept:    kept.Ref,
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
	all []worktree.Instruction,
) ([]worktree.Instruction, error) {
	if len(all) == 0 {
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
	for _, in := range all {
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
	Findings []plan.Finding     `json:"findings"`
	Checks   []plan.CheckResult `json:"checks"`
	Baseline []plan.CheckResult `json:"baseline"`
}

// PlacedGap is a gap with the place that it names, as far as there is such a file.
type PlacedGap struct {
	plan.Gap
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
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
	root, err := os.OpenRoot(run.Start.Root())
	if err != nil {
		return out, wrap("look for the places that gaps name", err)
	}
	defer func() { _ = root.Close() }()
	for _, g := range run.Gaps {
		if g.Open() {
			placed := PlacedGap{Gap: g}
			placed.Path, placed.Line = placeIn(root, g.Gap)
			out.Gaps = append(out.Gaps, placed)
		}
	}
	return out, nil
}

// placed finds what could be a path with a line behind it.
var placed = lazy.Regexp(`([^\s\x60"'()\[\]<>:,;]+):([1-9][0-9]{0,6})\b`)

// placeIn is the first place that a text names in the files below root.
func placeIn(root *os.Root, text string) (path string, line int) {
	for _, m := range placed().FindAllStringSubmatch(text, -1) {
		if info, err := root.Stat(m[1]); err == nil && info.Mode().IsRegular() {
			line, _ = strconv.Atoi(m[2]) // it is a number of at most seven digits
			return m[1], line
		}
	}
	return "", 0
}

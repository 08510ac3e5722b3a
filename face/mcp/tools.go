package mcp

import (
	"context"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
)

// The times that a call waits for a run, in seconds. Clients give up after a minute
// where no other time is set there.
const (
	waitDefault = 45
	waitMost    = 3600
)

// waitArgs say how long a call waits.
type waitArgs struct {
	WaitS *int `json:"wait_s,omitempty" jsonschema:"seconds to wait for the end before the answer is 'running' (default 45, at most 3600)"`
}

func (a waitArgs) wait() waitArgs { return a }

func (a waitArgs) long() time.Duration {
	if a.WaitS == nil {
		return waitDefault * time.Second
	}
	return time.Duration(min(max(*a.WaitS, 0), waitMost)) * time.Second
}

type runArgs struct {
	Request  string   `json:"request" jsonschema:"what is to change, as you would tell a colleague who does not know the conversation"`
	Repo     string   `json:"repo,omitempty" jsonschema:"absolute path of the repository (default: where the server was started)"`
	Checks   []string `json:"checks,omitempty" jsonschema:"commands that must pass for approval, such as go test ./..."`
	Way      string   `json:"way,omitempty" jsonschema:"auto (default), full, short or direct"`
	Worktree bool     `json:"worktree,omitempty" jsonschema:"work in a tree of its own and leave the repository's alone until plan_apply"`
	PlanOnly bool     `json:"plan_only,omitempty" jsonschema:"stop once there is a plan"`
	waitArgs
}

type reviewArgs struct {
	Request string   `json:"request,omitempty" jsonschema:"what the change was to do (default: the messages of its commits)"`
	Base    string   `json:"base,omitempty" jsonschema:"what the change counts from (default: the default branch of upstream or origin)"`
	Repo    string   `json:"repo,omitempty" jsonschema:"absolute path of the repository (default: where the server was started)"`
	Checks  []string `json:"checks,omitempty" jsonschema:"commands that must pass for approval"`
	Fix     bool     `json:"fix,omitempty" jsonschema:"have the gaps closed, and review again"`
	waitArgs
}

type oneRun struct {
	Run string `json:"run" jsonschema:"id of the run, or the beginning of one"`
}

type waitForArgs struct {
	oneRun
	waitArgs
}

type diffArgs struct {
	oneRun
	Stat bool `json:"stat,omitempty" jsonschema:"only how many lines of how many files"`
}

type tellArgs struct {
	oneRun
	Text  string `json:"text" jsonschema:"an answer to what it asks, guidance while it goes on, or a further request after its end"`
	After bool   `json:"after,omitempty" jsonschema:"a further request, for when the implementer would be done"`
	waitArgs
}

type decideArgs struct {
	oneRun
	Call    string `json:"call" jsonschema:"what waits, as plan_status names it"`
	Digest  string `json:"digest" jsonschema:"of what was shown, as plan_status names it"`
	Approve bool   `json:"approve"`
	Reason  string `json:"reason,omitempty" jsonschema:"of a refusal; of a plan that is sent back, what should change"`
	waitArgs
}

// Diff is the change of a run.
type Diff struct {
	Run   plan.RunID    `json:"run"`
	Stat  plan.DiffStat `json:"stat"`
	Patch string        `json:"patch,omitempty"`
}

// addTools adds the tools in the order of a run's life.
func (s *server) addTools(p *sdk.Server) {
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true}
	changes := &sdk.ToolAnnotations{DestructiveHint: new(true)}
	sdk.AddTool(p, &sdk.Tool{
		Name: "plan_run",
		Description: "Make a change to a repository: explore, plan, implement, and have an independent reviewer " +
			"prove it by running the result. Takes minutes; where it answers 'running', call plan_wait.",
		Annotations: changes,
	}, advising(answering(s, s.planRun)))
	sdk.AddTool(p, &sdk.Tool{
		Name: "plan_review",
		Description: "Have an independent reviewer judge the change that a repository's work tree holds, uncommitted " +
			"files included: it runs the checks and commands of its own, and answers with a verdict and gaps. " +
			"Nothing is changed, unless fix is given.",
		Annotations: changes,
	}, advising(answering(s, s.planReview)))
	sdk.AddTool(p, &sdk.Tool{
		Name:        "plan_status",
		Description: "Say how a run stands: its state, verdict, gaps, checks, and what waits for a person.",
		Annotations: reads,
	}, advising(s.planStatus))
	sdk.AddTool(p, &sdk.Tool{
		Name: "plan_wait",
		Description: "Wait until a run has ended or needs a person's word, and say how it stands. One that was " +
			"interrupted, or met a limit, goes on.",
		Annotations: changes,
	}, advising(answering(s, s.planWait)))
	sdk.AddTool(p, &sdk.Tool{
		Name:        "plan_diff",
		Description: "Show what a run has changed so far, as a patch.",
		Annotations: reads,
	}, advising(s.planDiff))
	sdk.AddTool(p, &sdk.Tool{
		Name: "plan_tell",
		Description: "Speak to a run: answer its question, guide it while it goes on, or continue one that has ended " +
			"with a further request, as a run of its own.",
		Annotations: changes,
	}, advising(answering(s, s.planTell)))
	sdk.AddTool(p, &sdk.Tool{
		Name:        "plan_apply",
		Description: "Bring the change of a run that worked in a tree of its own over to the repository's work tree.",
		Annotations: changes,
	}, advising(s.planApply))
	if s.options.AllowDecisions {
		sdk.AddTool(p, &sdk.Tool{
			Name:        "plan_decide",
			Description: "Allow or refuse what a run waits with, by the call and the digest that plan_status names.",
			Annotations: changes,
		}, advising(answering(s, s.planDecide)))
	}
}

func (s *server) planRun(
	ctx context.Context,
	c *sdk.CallToolRequest,
	a runArgs,
) (*sdk.CallToolResult, Document, error) {
	r := host.Request{
		PlanOnly: a.PlanOnly,
		Options:  s.options.Run,
	}
	var err error
	if r.Text, err = host.ReadRequest(a.Request, `{"request": "Fix the flaky retry test"}`); err != nil {
		return nil, Document{}, err
	}
	if r.Dir, err = s.repo(a.Repo); err != nil {
		return nil, Document{}, err
	}
	if a.Worktree {
		r.Settings.Worktree = &a.Worktree
	}
	if a.Way != "" {
		r.Settings.Way = a.Way
	}
	r.Settings.Checks.Required = append(slices.Clone(r.Settings.Checks.Required), a.Checks...)
	return s.begin(ctx, c, r, a.waitArgs)
}

func (s *server) planReview(
	ctx context.Context,
	c *sdk.CallToolRequest,
	a reviewArgs,
) (*sdk.CallToolResult, Document, error) {
	r := host.Request{
		Aim:  plan.AimReview,
		Text: strings.TrimSpace(a.Request),
		Review: host.Review{
			Base: a.Base,
			Fix:  a.Fix,
		},
		Options: s.options.Run,
	}
	var err error
	if r.Dir, err = s.repo(a.Repo); err != nil {
		return nil, Document{}, err
	}
	r.Settings.Checks.Required = append(slices.Clone(r.Settings.Checks.Required), a.Checks...)
	return s.begin(ctx, c, r, a.waitArgs)
}

// begin begins a run and waits for it.
func (s *server) begin(
	ctx context.Context,
	c *sdk.CallToolRequest,
	r host.Request,
	a waitArgs,
) (*sdk.CallToolResult, Document, error) {
	id, err := s.runs.Begin(r)
	if err != nil {
		return nil, Document{}, err
	}
	return s.answer(ctx, c, id, a, 0)
}

// answer waits for a run, and says how it stands, or asks the person what it waits for.
// Round counts how often that was done in this call.
func (s *server) answer(
	ctx context.Context,
	c *sdk.CallToolRequest,
	id plan.RunID,
	a waitArgs,
	round int,
) (*sdk.CallToolResult, Document, error) {
	if err := s.runs.Await(ctx, id, a.long(), progressOf(ctx, c)); err != nil {
		return nil, Document{}, err
	}
	run, err := s.host.Standing(ctx, id, nil)
	if err != nil {
		return nil, Document{}, err
	}
	if forms, err := s.ask(c, run, round); forms != nil || err != nil {
		return forms, Document{}, err
	}
	d, err := s.document(ctx, id)
	return nil, d, err
}

func (s *server) planStatus(
	ctx context.Context,
	_ *sdk.CallToolRequest,
	a oneRun,
) (*sdk.CallToolResult, Document, error) {
	id, err := s.run(ctx, a.Run)
	if err != nil {
		return nil, Document{}, err
	}
	d, err := s.document(ctx, id)
	return nil, d, err
}

func (s *server) planWait(
	ctx context.Context,
	c *sdk.CallToolRequest,
	a waitForArgs,
) (*sdk.CallToolResult, Document, error) {
	id, err := s.run(ctx, a.Run)
	if err != nil {
		return nil, Document{}, err
	}
	run, err := s.host.Standing(ctx, id, nil)
	if err != nil {
		return nil, Document{}, err
	}
	if run.Parked != nil && goesOnByItself(run.Parked.Reason) {
		if err := s.runs.GoOn(id, s.options.Run); err != nil {
			return nil, Document{}, err
		}
	}
	return s.answer(ctx, c, id, a.waitArgs, 0)
}

// goesOnByItself reports whether a parked run needs no word of a person.
func goesOnByItself(r plan.ParkReason) bool {
	switch r {
	case plan.ParkApproval, plan.ParkQuestion, plan.ParkDrift, plan.ParkRefused, plan.ParkLimit:
		return false
	}
	return true
}

func (s *server) planDiff(ctx context.Context, _ *sdk.CallToolRequest, a diffArgs) (*sdk.CallToolResult, Diff, error) {
	id, err := s.run(ctx, a.Run)
	if err != nil {
		return nil, Diff{}, err
	}
	run, err := s.host.Load(ctx, id)
	if err != nil {
		return nil, Diff{}, err
	}
	d := Diff{Run: id}
	if d.Stat, err = s.host.SizeOf(ctx, run); err != nil || a.Stat {
		return nil, d, err
	}
	change, err := s.host.ChangeOf(ctx, run)
	if err != nil {
		return nil, d, err
	}
	d.Patch, err = change.Diff(ctx)
	d.Patch = clean(d.Patch)
	return nil, d, err
}

func (s *server) planTell(
	ctx context.Context,
	c *sdk.CallToolRequest,
	a tellArgs,
) (*sdk.CallToolResult, Document, error) {
	id, err := s.run(ctx, a.Run)
	if err != nil {
		return nil, Document{}, err
	}
	l := host.Letter{Text: a.Text}
	if a.After {
		l.Kind = host.FollowUp
	}
	heard, err := s.host.Tell(ctx, id, l)
	if err != nil {
		return nil, Document{}, err
	}
	if heard.Continuation != "" {
		id = heard.Continuation
	}
	if heard.Driver == nil {
		if err := s.runs.GoOn(id, s.options.Run); err != nil {
			return nil, Document{}, err
		}
	}
	return s.answer(ctx, c, id, a.waitArgs, 0)
}

func (s *server) planApply(
	ctx context.Context,
	_ *sdk.CallToolRequest,
	a oneRun,
) (*sdk.CallToolResult, host.ApplyResult, error) {
	id, err := s.run(ctx, a.Run)
	if err != nil {
		return nil, host.ApplyResult{}, err
	}
	run, err := s.host.Load(ctx, id)
	if err == nil {
		err = host.RequireApproved(run, false)
	}
	if err != nil {
		return nil, host.ApplyResult{}, err
	}
	applied, err := s.host.Apply(ctx, run, host.Apply{})
	return nil, applied, err
}

func (s *server) planDecide(
	ctx context.Context,
	c *sdk.CallToolRequest,
	a decideArgs,
) (*sdk.CallToolResult, Document, error) {
	id, err := s.run(ctx, a.Run)
	if err != nil {
		return nil, Document{}, err
	}
	if a.Call == "" || a.Digest == "" {
		return nil, Document{}, hint.New("call and digest are needed", "plan_status names both.")
	}
	_, err = s.host.Decide(ctx, id, host.Decision{
		Approve: a.Approve,
		Call:    a.Call,
		Digest:  a.Digest,
		Text:    a.Reason,
	})
	if err == nil {
		err = s.runs.GoOn(id, s.options.Run)
	}
	if err != nil {
		return nil, Document{}, err
	}
	return s.answer(ctx, c, id, a.waitArgs, 0)
}

package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
)

// person asks the one at the editor. No answer, and an editor that is gone, never
// means yes.
type person struct {
	session *session
	telling *telling
}

var _ host.Person = person{}

// What a person can choose. "Always" is a word that people type out, and there is no
// place for words in a permission: it is for settings, or a terminal.
const (
	optionOnce   sdk.PermissionOptionId = "once"
	optionRun    sdk.PermissionOptionId = "run"
	optionNo     sdk.PermissionOptionId = "no"
	optionReject sdk.PermissionOptionId = "reject"
	optionReplan sdk.PermissionOptionId = "replan"
)

// Decide implements host.Person.
func (p person) Decide(ctx context.Context, end engine.End, doc *plan.PlanDoc) ([]host.Letter, bool) {
	var letters []host.Letter
	for _, w := range end.Parked.Waiting {
		var l host.Letter
		var ok bool
		switch {
		case w.IsPlan() && doc != nil:
			l, ok = p.askAboutPlan(ctx, w, doc)
		case w.Question != "":
			l, ok = p.askQuestion(ctx, w)
		default:
			l, ok = p.askAboutCall(ctx, w)
		}
		if !ok {
			return letters, false
		}
		letters = append(letters, l)
	}
	return letters, true
}

// askAboutCall asks whether a call may run.
func (p person) askAboutCall(ctx context.Context, w plan.WaitingCall) (host.Letter, bool) {
	options := []sdk.PermissionOption{{
		OptionId: optionOnce,
		Kind:     sdk.PermissionOptionKindAllowOnce,
		Name:     "Allow once",
	}}
	if w.Grant != (plan.Grant{}) {
		options = append(options, sdk.PermissionOption{
			OptionId: optionRun,
			Kind:     sdk.PermissionOptionKindAllowAlways,
			Name:     "Allow for this run: " + cleanLine(host.GrantText(w.Grant)),
		})
	}
	options = append(options, sdk.PermissionOption{
		OptionId: optionNo,
		Kind:     sdk.PermissionOptionKindRejectOnce,
		Name:     "Refuse",
	})
	l := host.Letter{
		Kind:   host.Approve,
		Call:   w.Call,
		Digest: w.Digest,
	}
	switch p.ask(ctx, w, w.Why, options) {
	case optionOnce:
	case optionRun:
		l.Scope = plan.ScopeRun
	case optionNo:
		l.Kind = host.Deny
	default:
		return l, false
	}
	return l, true
}

// askAboutPlan asks whether a plan is to be carried out. How it should change is said
// in the next prompt.
func (p person) askAboutPlan(ctx context.Context, w plan.WaitingCall, doc *plan.PlanDoc) (host.Letter, bool) {
	l := host.Letter{
		Kind:   host.Approve,
		Call:   w.Call,
		Digest: w.Digest,
	}
	w.Effect = doc.Text
	chosen := p.ask(ctx, w, fmt.Sprintf("Version %d of the plan", doc.Version), []sdk.PermissionOption{
		{
			OptionId: optionOnce,
			Kind:     sdk.PermissionOptionKindAllowOnce,
			Name:     "Carry it out",
		},
		{
			OptionId: optionNo,
			Kind:     sdk.PermissionOptionKindRejectOnce,
			Name:     "Send it back: the next message says what should change",
		},
		{
			OptionId: optionReject,
			Kind:     sdk.PermissionOptionKindRejectAlways,
			Name:     "End the run",
		},
	})
	switch chosen {
	case optionOnce:
		return l, true
	case optionReject:
		l.Kind = host.Deny
		l.Reject = true
		return l, true
	case optionNo:
		p.session.mu.Lock()
		p.session.sendBack = w
		p.session.mu.Unlock()
		p.telling.say("\n\nSay in your next message what should change about the plan.\n")
	}
	return l, false
}

// askQuestion puts a question that has options to the person; any other is answered
// by the next prompt.
func (p person) askQuestion(ctx context.Context, w plan.WaitingCall) (host.Letter, bool) {
	l := host.Letter{
		Kind:   host.Answer,
		Call:   w.Call,
		Digest: w.Digest,
	}
	if len(w.Options) == 0 {
		return l, false
	}
	var options []sdk.PermissionOption
	for i, text := range w.Options {
		options = append(options, sdk.PermissionOption{
			OptionId: sdk.PermissionOptionId(fmt.Sprint(i)),
			Kind:     sdk.PermissionOptionKindAllowOnce,
			Name:     cleanLine(text),
		})
	}
	options = append(options, sdk.PermissionOption{
		OptionId: optionNo,
		Kind:     sdk.PermissionOptionKindRejectOnce,
		Name:     "Answer in words, with the next message",
	})
	chosen := p.ask(ctx, w, "", options)
	i := slices.IndexFunc(options, func(o sdk.PermissionOption) bool { return o.OptionId == chosen })
	if i < 0 || i >= len(w.Options) {
		return l, false
	}
	l.Text = w.Options[i]
	return l, true
}

// Drift implements host.Person.
func (p person) Drift(ctx context.Context, end engine.End) (engine.OnDrift, string, bool) {
	d := end.Parked.Drift
	text := fmt.Sprintf("The work tree changed while the run stood still: %d files", d.Total)
	for _, f := range d.Files {
		text += "\n" + f
	}
	options := []sdk.PermissionOption{{
		OptionId: optionOnce,
		Kind:     sdk.PermissionOptionKindAllowOnce,
		Name:     "Go on with the tree as it is",
	}}
	if end.State == plan.Implementing || end.State == plan.Reviewing {
		options = append(options, sdk.PermissionOption{
			OptionId: optionReplan,
			Kind:     sdk.PermissionOptionKindRejectOnce,
			Name:     "Make another plan",
		})
	}
	options = append(options, sdk.PermissionOption{
		OptionId: optionNo,
		Kind:     sdk.PermissionOptionKindRejectOnce,
		Name:     "Leave it for later",
	})
	w := plan.WaitingCall{
		Call:   "drift",
		Name:   "The tree changed",
		Effect: text,
	}
	switch p.ask(ctx, w, "", options) {
	case optionOnce:
		return engine.DriftGoesOn, "", true
	case optionReplan:
		return engine.DriftReplans, host.DefaultReplanReason, true
	}
	return "", "", false
}

// ask asks for a permission, and returns what was chosen, "" for nothing.
func (p person) ask(
	ctx context.Context,
	w plan.WaitingCall,
	why string,
	options []sdk.PermissionOption,
) sdk.PermissionOptionId {
	p.telling.flush() // what led to the question is seen first
	text := w.Shown()
	if why != "" {
		text = why + "\n\n" + text
	}
	call := describe(w.Call, w.Name, w.Args, "")
	answer, err := p.session.agent.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
		Meta:      map[string]any{"digest": w.Digest},
		SessionId: p.session.id,
		Options:   options,
		ToolCall: sdk.ToolCallUpdate{
			ToolCallId: call.id,
			Title:      &call.title,
			Kind:       &call.kind,
			Status:     sdk.Ptr(sdk.ToolCallStatusPending),
			Locations:  call.locations,
			RawInput:   rawInput(w.Args),
			Content:    wholeContent(text),
		},
	})
	if err != nil || answer.Outcome.Selected == nil {
		return ""
	}
	chosen := answer.Outcome.Selected.OptionId
	if !slices.ContainsFunc(options, func(o sdk.PermissionOption) bool { return o.OptionId == chosen }) {
		return "" // it was not offered
	}
	return chosen
}

// rawInput are a call's arguments as they are, nil where they are no JSON.
func rawInput(args json.RawMessage) any {
	if !json.Valid(args) {
		return nil
	}
	return args
}

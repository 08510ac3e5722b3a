package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// session is a thread of runs as an editor sees it.
type session struct {
	agent *agent
	id    sdk.SessionId

	mu      sync.Mutex
	dir     string
	options host.Options
	mode    sdk.SessionModeId
	run     plan.RunID // the newest of the thread; "" before the first prompt
	// stop ends the turn that goes on; nil where none does.
	stop context.CancelCauseFunc
	// sendBack is the plan that the person wants changed: the next prompt says how.
	sendBack plan.WaitingCall
}

// The modes of a session: the way of the next run.
const (
	modeAuto   sdk.SessionModeId = plan.WayAuto
	modeFull   sdk.SessionModeId = plan.WayFull
	modeShort  sdk.SessionModeId = plan.WayShort
	modeDirect sdk.SessionModeId = plan.WayDirect
	modePlan   sdk.SessionModeId = "plan"
)

// modeList says what each mode is for.
func modeList() []sdk.SessionMode {
	mode := func(id sdk.SessionModeId, name, about string) sdk.SessionMode {
		return sdk.SessionMode{
			Id:          id,
			Name:        name,
			Description: &about,
		}
	}
	return []sdk.SessionMode{
		mode(modeAuto, "Auto", "Explore decides whether a planner is needed"),
		mode(modeFull, "Full", "Explore, Plan, Implement, Review"),
		mode(modeShort, "Short", "Explore hands over the plan itself"),
		mode(modeDirect, "Direct", "Implement and Review: the request is the plan"),
		mode(modePlan, "Plan only", "Stop once there is a plan"),
	}
}

func (s *session) modes() *sdk.SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sdk.SessionModeState{
		AvailableModes: modeList(),
		CurrentModeId:  s.mode,
	}
}

func (s *session) setMode(mode sdk.SessionModeId) error {
	known := slices.ContainsFunc(modeList(), func(m sdk.SessionMode) bool { return m.Id == mode })
	if !known {
		return invalid("there is no mode %q", mode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
	return nil
}

// place says where the session works, and with what.
func (s *session) place(dir string, o host.Options) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir, s.options = dir, o
}

// runOptions are those of the runs of the session, with the servers that the editor named.
func (s *session) runOptions() host.Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options
}

// current is the newest run of the thread, and where it works.
func (s *session) current() (run plan.RunID, dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run, s.dir
}

func (s *session) setRun(run plan.RunID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = run
}

// interrupt parks what the session drives.
func (s *session) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop(engine.ErrInterrupted)
	}
}

// beginTurn makes the context of a turn. It reports false where one goes on.
func (s *session) beginTurn(ctx context.Context) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return ctx, false
	}
	ctx, s.stop = context.WithCancelCause(ctx)
	return ctx, true
}

func (s *session) endTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop(nil)
	s.stop = nil
}

// prompt does what a person wants, until the run is final or waits. Whatever ends the
// request does not end the run: only session/cancel does, and an editor that leaves.
func (s *session) prompt(ctx context.Context, text string) (sdk.StopReason, error) {
	ctx, alone := s.beginTurn(context.WithoutCancel(ctx))
	if !alone {
		return s.guide(ctx, text)
	}
	defer s.endTurn()
	t := newTelling(s)
	defer t.flush()
	if do, rest := commandOf(text); do != nil {
		return do(s, ctx, t, rest)
	}
	return s.work(ctx, t, text)
}

// guide sends what is said while the run goes on to it.
func (s *session) guide(ctx context.Context, text string) (sdk.StopReason, error) {
	run, _ := s.current()
	if run == "" {
		return "", invalid("the run is about to begin: say it once more in a moment")
	}
	_, err := s.host().Tell(ctx, run, host.Letter{
		Kind: host.Steer,
		Text: text,
	})
	return sdk.StopReasonEndTurn, err
}

// host is the home, for a person who stands where the session is.
func (s *session) host() *host.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent.host.At(s.dir)
}

// work brings what was said to the thread's run: it begins one, goes on with it, or
// begins one that continues it.
func (s *session) work(ctx context.Context, t *telling, text string) (sdk.StopReason, error) {
	id, _ := s.current()
	if id == "" {
		return s.begin(ctx, t, s.request(text))
	}
	run, err := s.agent.host.Standing(ctx, id, nil)
	switch {
	case errors.Is(err, memory.ErrNoRun): // it never began
		return s.begin(ctx, t, s.request(text))
	case err != nil:
		return "", err
	}
	result, err := s.host().Tell(ctx, id, s.letter(run, text))
	if err != nil {
		return "", err
	}
	options := s.runOptions()
	if result.Continuation != "" {
		id = result.Continuation
		s.setRun(id)
		options = s.request(text).Options
	}
	end, err := s.host().Resume(ctx, id, options, t.face())
	var held *memory.HeldError
	if errors.As(err, &held) {
		return s.follow(ctx, t, id, run.Head)
	}
	return s.ended(end, err)
}

// request is a new run as the mode wants it.
func (s *session) request(text string) host.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := host.Request{
		Dir:     s.dir,
		Text:    text,
		Options: s.options,
	}
	if s.run == "" {
		r.ID = plan.RunID(s.id)
	}
	if s.mode == modePlan {
		r.PlanOnly = true
	} else {
		r.Settings.Way = string(s.mode)
	}
	return r
}

// begin drives a new run.
func (s *session) begin(ctx context.Context, t *telling, r host.Request) (sdk.StopReason, error) {
	if r.ID == "" {
		r.ID = s.agent.host.NewRunID()
	}
	face := t.face()
	began := face.Begin
	face.Begin = func(run plan.RunID, past []plan.Event) {
		s.setRun(run)
		began(run, past)
	}
	end, err := s.agent.host.Run(ctx, r, face)
	return s.ended(end, err)
}

// letter is what a prompt means to a run: how its plan is to change, where that was
// asked for, and else what the host makes of it.
func (s *session) letter(run *engine.Run, text string) host.Letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := host.Letter{Text: text}
	if run.Parked == nil {
		return l
	}
	for _, w := range run.Parked.Waiting {
		if w.IsPlan() && w.Call == s.sendBack.Call && w.Digest == s.sendBack.Digest {
			l.Kind = host.Deny
			l.Call = w.Call
			l.Digest = w.Digest
		}
	}
	s.sendBack = plan.WaitingCall{}
	return l
}

// ended says how a turn ended that drove a run.
func (s *session) ended(end host.End, err error) (sdk.StopReason, error) {
	switch {
	case errors.Is(err, host.ErrNotBegun):
		return sdk.StopReasonCancelled, nil
	case err != nil:
		return "", err
	}
	return stopReason(end), nil
}

// follow tells what happens to a run that another process drives.
func (s *session) follow(ctx context.Context, t *telling, run plan.RunID, after int64) (sdk.StopReason, error) {
	for ev, err := range s.agent.host.Follow(ctx, run, after) {
		if errors.Is(context.Cause(ctx), engine.ErrInterrupted) {
			break
		}
		if err != nil {
			return "", err
		}
		t.show(ev)
		if body, ok := ev.Body.(plan.Parked); ok {
			return stopReason(host.End{End: engine.End{Parked: &body}}), nil
		}
	}
	if ctx.Err() != nil {
		return sdk.StopReasonCancelled, nil
	}
	return sdk.StopReasonEndTurn, nil
}

// promptText is what a prompt says as one text. Files that the editor put into it
// stand behind the words, as data.
func promptText(blocks []sdk.ContentBlock) (string, error) {
	var words, files strings.Builder
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			words.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			words.WriteString(pathOf(b.ResourceLink.Uri))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			file := b.Resource.Resource.TextResourceContents
			words.WriteString(pathOf(file.Uri))
			fence := fenceFor(file.Text)
			fmt.Fprintf(&files, "\n\n%s, as the editor holds it:\n%s\n%s\n%s", pathOf(file.Uri), fence,
				strings.TrimRight(file.Text, "\n"), fence)
		default:
			return "", invalid("a prompt is text, links to files, and contents of text files")
		}
	}
	return host.ReadRequest(words.String()+files.String(), "a prompt with what you want")
}

// pathOf is the path of a file's address, or the address itself.
func pathOf(uri string) string { return strings.TrimPrefix(uri, "file://") }

// fenceFor is a fence that a text cannot close.
func fenceFor(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// findRun finds the newest run of the thread that the session is.
func (s *session) findRun(ctx context.Context) error {
	newest := plan.RunID(s.id)
	for {
		begun, waiting, err := s.agent.host.ContinuedBy(ctx, newest)
		if err != nil {
			return err
		}
		next := append(begun, waiting...)
		if len(next) == 0 {
			break
		}
		newest = next[len(next)-1]
	}
	s.setRun(newest)
	return nil
}

// replay tells the runs of the thread from their beginning.
func (s *session) replay(ctx context.Context) error {
	id, _ := s.current()
	if id == "" {
		return nil
	}
	t := newTelling(s)
	defer t.flush()
	t.past = true
	run, err := s.agent.host.Load(ctx, id)
	if errors.Is(err, memory.ErrNoRun) { // a letter waits that begins it
		return nil
	}
	if err != nil {
		return err
	}
	thread, err := s.agent.host.ThreadOf(ctx, run)
	if err != nil {
		return err
	}
	for _, run := range thread {
		if _, err := s.agent.host.Standing(ctx, run.ID, t.show); err != nil {
			return err
		}
	}
	return nil
}

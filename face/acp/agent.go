package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
)

// Options say how the runs of an editor are driven.
type Options struct {
	// Run holds for every run that is begun or gone on with.
	Run host.Options
	// Stay goes on with runs when the editor has left, until they end or park.
	// Default: they park, as by Ctrl-C.
	Stay bool
	// Version is the program's.
	Version string
	// Log takes what people should know and the protocol has no place for.
	// Default: nothing.
	Log io.Writer
}

// Serve speaks to an editor until that closes in or ctx ends, and returns once every
// run that it drove is parked or has ended.
func Serve(ctx context.Context, h *host.Host, in io.Reader, out io.Writer, o Options) error {
	if o.Log == nil {
		o.Log = io.Discard
	}
	a := &agent{
		host:     h,
		options:  o,
		ctx:      context.WithoutCancel(ctx),
		sessions: map[sdk.SessionId]*session{},
		ready:    make(chan struct{}),
	}
	a.conn = sdk.NewAgentSideConnection(a, out, in)
	a.conn.SetLogger(slog.New(slog.NewTextHandler(o.Log, &slog.HandlerOptions{Level: slog.LevelError})))
	close(a.ready)
	select {
	case <-a.conn.Done():
		if !o.Stay {
			a.interruptAll()
		}
	case <-ctx.Done():
		a.interruptAll()
	}
	stop := context.AfterFunc(ctx, a.interruptAll) // while runs stay
	defer stop()
	a.working.Wait()
	return nil
}

// agent answers what an editor asks.
type agent struct {
	host    *host.Host
	options Options
	conn    *sdk.AgentSideConnection
	ctx     context.Context //nolint:containedctx // updates are sent beside the requests that they follow from
	ready   chan struct{}   // closed once conn is set

	mu       sync.Mutex
	closed   bool
	sessions map[sdk.SessionId]*session
	working  sync.WaitGroup // turns, of any session
}

var (
	_ sdk.Agent       = (*agent)(nil)
	_ sdk.AgentLoader = (*agent)(nil)
)

// interruptAll parks what is driven, and begins nothing more.
func (a *agent) interruptAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, s := range a.sessions {
		s.interrupt()
	}
}

// Initialize implements sdk.Agent.
func (a *agent) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	<-a.ready
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo: &sdk.Implementation{
			Name:    "plan",
			Title:   sdk.Ptr("plan"),
			Version: a.options.Version,
		},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true},
			PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				Close:  &sdk.SessionCloseCapabilities{},
				List:   &sdk.SessionListCapabilities{},
				Resume: &sdk.SessionResumeCapabilities{},
			},
		},
		AuthMethods: []sdk.AuthMethod{},
	}, nil
}

// Authenticate implements sdk.Agent. Keys are in the settings and the environment.
func (a *agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}

// NewSession implements sdk.Agent.
func (a *agent) NewSession(ctx context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	s, err := a.openSession(ctx, sdk.SessionId(a.host.NewRunID()), r.Cwd, r.McpServers)
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	s.offerCommands()
	return sdk.NewSessionResponse{
		SessionId: s.id,
		Modes:     s.modes(),
	}, nil
}

// LoadSession implements sdk.AgentLoader: it tells all that was said and done.
func (a *agent) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	s, err := a.reopen(ctx, r.SessionId, r.Cwd, r.McpServers)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	if err := s.replay(ctx); err != nil {
		return sdk.LoadSessionResponse{}, asError(err)
	}
	s.offerCommands()
	return sdk.LoadSessionResponse{Modes: s.modes()}, nil
}

// ResumeSession implements sdk.Agent: the same, without telling.
func (a *agent) ResumeSession(ctx context.Context, r sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	s, err := a.reopen(ctx, r.SessionId, r.Cwd, r.McpServers)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	s.offerCommands()
	return sdk.ResumeSessionResponse{Modes: s.modes()}, nil
}

// reopen finds the session of a thread. One that was opened and never spoken to has
// no run yet, and is as new.
func (a *agent) reopen(ctx context.Context, id sdk.SessionId, dir string, servers []sdk.McpServer) (*session, error) {
	run, err := a.host.Resolve(ctx, string(id))
	if err != nil {
		if !isRunID(string(id)) {
			return nil, asError(err)
		}
		return a.openSession(ctx, id, dir, servers)
	}
	s, err := a.openSession(ctx, sdk.SessionId(run), dir, servers)
	if err != nil {
		return nil, err
	}
	return s, asError(s.findRun(ctx))
}

// isRunID reports whether an id has the form of those that NewSession gives.
func isRunID(id string) bool {
	const ulidLength = 26
	return len(id) == ulidLength
}

// openSession opens a session once; a second time it is the same one, with the servers that
// are named now.
func (a *agent) openSession(
	ctx context.Context,
	id sdk.SessionId,
	dir string,
	servers []sdk.McpServer,
) (*session, error) {
	<-a.ready
	if !filepath.IsAbs(dir) {
		return nil, invalid("cwd is %q: it has to be an absolute path", dir)
	}
	if _, err := a.host.OpenRepo(ctx, dir); err != nil {
		return nil, asError(err)
	}
	named, err := serversOf(servers)
	if err != nil {
		return nil, err
	}
	options, err := a.host.WithServers(ctx, dir, a.options.Run, "editor", named)
	if err != nil {
		return nil, asError(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	if s == nil {
		s = &session{
			agent: a,
			id:    id,
			mode:  modeAuto,
		}
		a.sessions[id] = s
	}
	s.place(dir, options)
	return s, nil
}

// session finds an open one.
func (a *agent) session(id sdk.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, invalid("session %s is not open: load it first", id)
}

// ListSessions implements sdk.Agent, newest first. A thread is one session.
func (a *agent) ListSessions(ctx context.Context, r sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	f := host.Filter{Limit: maxListed}
	if r.Cwd != nil {
		f.Dir = *r.Cwd
	}
	runs, err := a.host.Runs(ctx, f)
	if err != nil {
		return sdk.ListSessionsResponse{}, asError(err)
	}
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	for _, run := range runs {
		title := clean(host.TitleOf(run))
		updated := run.Updated.Format(time.RFC3339)
		out.Sessions = append(out.Sessions, sdk.SessionInfo{
			SessionId: sdk.SessionId(run.ID),
			Cwd:       run.Repo,
			Title:     &title,
			UpdatedAt: &updated,
		})
	}
	return out, nil
}

// maxListed is how many sessions are listed.
const maxListed = 200

// CloseSession implements sdk.Agent.
func (a *agent) CloseSession(_ context.Context, r sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	s.interrupt()
	a.mu.Lock()
	delete(a.sessions, r.SessionId)
	a.mu.Unlock()
	return sdk.CloseSessionResponse{}, nil
}

// Cancel implements sdk.Agent: the run parks where it stands.
func (a *agent) Cancel(_ context.Context, r sdk.CancelNotification) error {
	s, err := a.session(r.SessionId)
	if err != nil {
		return nil //nolint:nilerr // nothing goes on there
	}
	s.interrupt()
	return nil
}

// SetSessionMode implements sdk.Agent. It holds from the next run on.
func (a *agent) SetSessionMode(_ context.Context, r sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.SetSessionModeResponse{}, err
	}
	return sdk.SetSessionModeResponse{}, s.setMode(r.ModeId)
}

// SetSessionConfigOption implements sdk.Agent. There are none.
func (a *agent) SetSessionConfigOption(
	context.Context,
	sdk.SetSessionConfigOptionRequest,
) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, invalid("there are no options of sessions")
}

// Prompt implements sdk.Agent.
func (a *agent) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	text, err := promptText(r.Prompt)
	if err != nil {
		return sdk.PromptResponse{}, asError(err)
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	a.working.Add(1)
	a.mu.Unlock()
	defer a.working.Done()
	reason, err := s.prompt(ctx, text)
	if err != nil {
		return sdk.PromptResponse{}, asError(err)
	}
	return sdk.PromptResponse{StopReason: reason}, nil
}

// invalid says what is wrong with a request.
func invalid(format string, args ...any) error {
	return sdk.NewInvalidParams(fmt.Sprintf(format, args...)) //nolint:wrapcheck // it is made here
}

// asError is an error as the protocol has it, with what to do about it.
func asError(err error) error {
	var request *sdk.RequestError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &request):
		return err
	}
	message := err.Error()
	if advice := hint.Of(err); advice != "" {
		message += ". " + advice
	}
	if host.ExitCode(err) == plan.ExitUsage {
		return invalid("%s", clean(message))
	}
	return &sdk.RequestError{
		Code:    internalError,
		Message: clean(message),
	}
}

// internalError is JSON-RPC's code for it.
const internalError = -32603

// stopReason says how a prompt's turn ended.
func stopReason(end host.End) sdk.StopReason {
	if end.Parked == nil {
		return sdk.StopReasonEndTurn
	}
	switch end.Parked.Reason {
	case plan.ParkInterrupted:
		return sdk.StopReasonCancelled
	case plan.ParkRefused:
		return sdk.StopReasonRefusal
	case plan.ParkLimit:
		return sdk.StopReasonMaxTurnRequests
	}
	return sdk.StopReasonEndTurn
}

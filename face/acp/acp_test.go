package acp_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan/face/acp"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

// world is a repository whose greet.sh says hullo, a home, and a model that has it say
// hello.
type world struct{ *hosttest.World }

func newWorld(t *testing.T, replies ...string) *world {
	t.Helper()
	return &world{hosttest.New(t, replies...)}
}

// editor is one that keeps what it is told.
type editor struct {
	*sdk.ClientSideConnection
	sdk.Client // methods that no agent is to call panic

	// choose answers a permission; nil cancels it.
	choose func(sdk.RequestPermissionRequest) sdk.PermissionOptionId

	mu      sync.Mutex
	updates []sdk.SessionUpdate
	asked   []sdk.RequestPermissionRequest
	leave   func()
	served  chan error
}

// open starts an agent in this process and speaks to it.
func (w *world) open(t *testing.T, o acp.Options) *editor {
	t.Helper()
	h := host.New(w.Config)
	toAgent, fromEditor := io.Pipe()
	toEditor, fromAgent := io.Pipe()
	e := &editor{served: make(chan error, 1)}
	e.leave = sync.OnceFunc(func() {
		_ = fromEditor.Close()
		if err := <-e.served; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		_ = toEditor.Close()
	})
	t.Cleanup(func() { e.leave() })
	go func() {
		err := acp.Serve(context.WithoutCancel(t.Context()), h, toAgent, fromAgent, o)
		_ = fromAgent.Close()
		e.served <- err
	}()
	e.ClientSideConnection = sdk.NewClientSideConnection(e, fromEditor, toEditor)
	got, err := e.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	if err != nil || !got.AgentCapabilities.LoadSession {
		t.Fatalf("initialize: %+v, %v", got, err)
	}
	return e
}

// SessionUpdate implements sdk.Client.
func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n.Update)
	return nil
}

// RequestPermission implements sdk.Client.
func (e *editor) RequestPermission(
	_ context.Context,
	r sdk.RequestPermissionRequest,
) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	choose := e.choose
	e.mu.Unlock()
	if choose == nil {
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return sdk.RequestPermissionResponse{
		Outcome: sdk.NewRequestPermissionOutcomeSelected(choose(r)),
	}, nil
}

// newSession opens a session in the world's repository.
func (e *editor) newSession(t *testing.T, w *world) sdk.SessionId {
	t.Helper()
	got, err := e.NewSession(t.Context(), sdk.NewSessionRequest{
		Cwd:        w.Repo,
		McpServers: []sdk.McpServer{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.SessionId
}

// say sends a prompt and waits for the end of its turn.
func (e *editor) say(t *testing.T, id sdk.SessionId, text string) sdk.StopReason {
	t.Helper()
	got, err := e.Prompt(t.Context(), sdk.PromptRequest{
		SessionId: id,
		Prompt:    []sdk.ContentBlock{sdk.TextBlock(text)},
	})
	if err != nil {
		t.Fatalf("prompt %q: %v", text, err)
	}
	return got.StopReason
}

// words is what the agent said, in one text.
func (e *editor) words() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out strings.Builder
	for _, u := range e.updates {
		if u.AgentMessageChunk != nil {
			out.WriteString(u.AgentMessageChunk.Content.Text.Text)
		}
	}
	return out.String()
}

// prompts is what the person said, as a loaded session tells it.
func (e *editor) prompts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, u := range e.updates {
		if u.UserMessageChunk != nil {
			out = append(out, u.UserMessageChunk.Content.Text.Text)
		}
	}
	return out
}

// entries is the last plan that the editor was shown, a line for each entry.
func (e *editor) entries() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, u := range e.updates {
		if u.Plan == nil {
			continue
		}
		out = nil
		for _, entry := range u.Plan.Entries {
			out = append(out, string(entry.Status)+" "+entry.Content)
		}
	}
	return out
}

// calls are the titles of the tool calls, with the state in which each ended.
func (e *editor) calls() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	titles := map[sdk.ToolCallId]string{}
	var out []string
	for _, u := range e.updates {
		switch {
		case u.ToolCall != nil:
			titles[u.ToolCall.ToolCallId] = u.ToolCall.Title
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
			out = append(out, string(*u.ToolCallUpdate.Status)+" "+titles[u.ToolCallUpdate.ToolCallId])
		}
	}
	return out
}

// TestAPromptIsARun: an editor sees the run's words, calls and plan, and the tree is
// changed.
func TestAPromptIsARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.open(t, acp.Options{})
	id := e.newSession(t, w)
	if got := e.say(t, id, "Make greet.sh say hello"); got != sdk.StopReasonEndTurn {
		t.Errorf("the turn ended with %s", got)
	}
	if data, _ := os.ReadFile(filepath.Join(w.Repo, "greet.sh")); string(data) != "echo hello\n" {
		t.Errorf("greet.sh is %q", data)
	}
	if words := e.words(); !strings.Contains(words, "**approved**") || !strings.Contains(words, "hullo") {
		t.Errorf("it said:\n%s", words)
	}
	want := []string{"completed In `greet.sh`, print `hello`.", "completed Review"}
	if got := e.entries(); !slices.Equal(got, want) {
		t.Errorf("the plan is shown as %q", got)
	}
	if got := e.calls(); !slices.Contains(got, "completed bash echo echo hello > greet.sh") {
		t.Errorf("the calls are shown as %q", got)
	}
}

// TestAPromptAfterTheEnd begins a run that continues the one before, in the same session,
// also for an editor that finds only the session's id.
func TestAPromptAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.open(t, acp.Options{})
	id := e.newSession(t, w)
	e.say(t, id, "Make greet.sh say hello")
	e.say(t, id, "Make greet.sh say hello, again")
	e.leave()
	again := w.open(t, acp.Options{})
	_, err := again.LoadSession(t.Context(), sdk.LoadSessionRequest{
		SessionId:  id,
		Cwd:        w.Repo,
		McpServers: []sdk.McpServer{},
	})
	if err != nil {
		t.Fatal(err)
	}
	prompts := again.prompts()
	if want := []string{"Make greet.sh say hello", "Make greet.sh say hello, again"}; !slices.Equal(prompts, want) {
		t.Errorf("the session's prompts are %q", prompts)
	}
}

// TestAQuestionIsAPermission: options are chosen from, bound to what was shown.
func TestAQuestionIsAPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.open(t, acp.Options{})
	e.choose = func(r sdk.RequestPermissionRequest) sdk.PermissionOptionId { return r.Options[0].OptionId }
	id := e.newSession(t, w)
	e.say(t, id, "Make greet.sh say hello. Ask first")
	if len(e.asked) != 1 || e.asked[0].Options[0].Name != "English" {
		t.Errorf("asked: %+v", e.asked)
	}
	if words := e.words(); !strings.Contains(words, "**approved**") {
		t.Errorf("it said:\n%s", words)
	}
}

// TestAnAnswerInWords: a question that is left waits, also for another process, and the
// next prompt answers it.
func TestAnAnswerInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.open(t, acp.Options{})
	id := e.newSession(t, w)
	e.say(t, id, "Make greet.sh say hello. Ask first")
	if words := e.words(); !strings.Contains(words, "Which language?") || !strings.Contains(words, "the answer") {
		t.Errorf("it said:\n%s", words)
	}
	e.leave()

	e = w.open(t, acp.Options{})
	_, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{
		SessionId:  id,
		Cwd:        w.Repo,
		McpServers: []sdk.McpServer{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if words := e.words(); !strings.Contains(words, "Which language?") {
		t.Errorf("the loaded session says:\n%s", words)
	}
	e.say(t, id, "English")
	if words := e.words(); !strings.Contains(words, "**approved**") {
		t.Errorf("it said:\n%s", words)
	}
}

// TestAnEditorThatDoesEverythingTwice: late, out of order, twice: each is answered, and
// the run is one.
func TestAnEditorThatDoesEverythingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.open(t, acp.Options{})
	_, err := e.Prompt(t.Context(), sdk.PromptRequest{
		SessionId: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		Prompt:    []sdk.ContentBlock{sdk.TextBlock("too early")},
	})
	if err == nil {
		t.Error("a prompt of a session that was never opened is taken")
	}
	if _, err = e.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "x", McpServers: []sdk.McpServer{}}); err == nil {
		t.Error("a folder that is not absolute is taken")
	}
	id := e.newSession(t, w)
	if err := e.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
		t.Error(err)
	}
	load := sdk.LoadSessionRequest{
		SessionId:  id,
		Cwd:        w.Repo,
		McpServers: []sdk.McpServer{},
	}
	for range 2 { // one that has no run yet
		if _, err := e.LoadSession(t.Context(), load); err != nil {
			t.Error(err)
		}
	}
	e.say(t, id, "Make greet.sh say hello")
	for range 2 {
		if err := e.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
			t.Error(err)
		}
		if _, err := e.LoadSession(t.Context(), load); err != nil {
			t.Error(err)
		}
	}
	list, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &w.Repo})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id {
		t.Errorf("the sessions are %+v, %v", list.Sessions, err)
	}
	if _, err := e.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: id}); err != nil {
		t.Error(err)
	}
	if _, err := e.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: id}); err == nil {
		t.Error("a session is closed twice without a word")
	}
}

// TestAPermissionParksWithoutAnEditor: one that leaves while it is asked leaves a run
// that waits for the same yes.
func TestAPermissionParksWithoutAnEditor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wait := true
	var options acp.Options
	options.Run.Settings.ApprovePlan = &wait
	gone := w.open(t, options)
	asked := make(chan struct{})
	gone.choose = func(sdk.RequestPermissionRequest) sdk.PermissionOptionId {
		close(asked)
		<-gone.Done() // the person never answers
		return "once"
	}
	id := gone.newSession(t, w)
	go func() {
		_, _ = gone.Prompt(context.Background(), sdk.PromptRequest{
			SessionId: id,
			Prompt:    []sdk.ContentBlock{sdk.TextBlock("Make greet.sh say hello")},
		})
	}()
	<-asked
	gone.leave()

	e := w.open(t, options)
	e.choose = func(r sdk.RequestPermissionRequest) sdk.PermissionOptionId { return r.Options[0].OptionId }
	load := sdk.ResumeSessionRequest{
		SessionId:  id,
		Cwd:        w.Repo,
		McpServers: []sdk.McpServer{},
	}
	if _, err := e.ResumeSession(t.Context(), load); err != nil {
		t.Fatal(err)
	}
	e.say(t, id, "Go on")
	if len(e.asked) != 1 || e.asked[0].Meta["digest"] == "" {
		t.Errorf("asked again: %+v", e.asked)
	}
	if words := e.words(); !strings.Contains(words, "**approved**") {
		t.Errorf("it said:\n%s", words)
	}
}

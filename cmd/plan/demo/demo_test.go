package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/demo"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/review"
	"github.com/plan-engine/plan/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUnpack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	// None of this may have a say in the commit.
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[commit]\n\tgpgsign = true\n[core]\n\thooksPath = /nowhere\n\tautocrlf = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
	other := t.TempDir()
	for _, d := range []string{dir, other} {
		if err := demo.Unpack(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	head := git(t, dir, "rev-parse", "HEAD")
	if head == "" || head != git(t, other, "rev-parse", "HEAD") {
		t.Error("two copies have different commits")
	}
	if got := git(t, dir, "status", "--porcelain", "--branch"); got != "## main" {
		t.Errorf("status: %s", got)
	}
	if got := git(t, dir, "config", "--local", "user.email"); got != "demo@example.com" {
		t.Errorf("a later commit has no author: %q", got)
	}
	if err := demo.Unpack(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("over another: %v", err)
	}
	if err := demo.Unpack(t.Context(), filepath.Join(dir, "README.md")); err == nil {
		t.Error("over a file: no error")
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + os.DevNull}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestRun plays the whole demo through the wire, with the real tools, and
// checks that what the model says is true when it says it.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := demo.Unpack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	scenario, err := demo.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Delay = 0
	srv, err := scripted.Start(t.Context(), scenario, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	fail, pass := "go test ./... → 1", "go test ./... → 0"
	read := []string{"read", "grep", "glob", "list_dir", "symbols"}
	all := []string{"read", "grep", "glob", "list_dir", "symbols", "write", "edit", "apply_patch"}

	verdictOf := func(attempt int) plan.Verdict {
		view := t.TempDir() // a reviewer works on a copy
		if err := os.CopyFS(view, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		c := newConversation(t, srv, view, plan.Review, read)
		v, err := review.Parse(review.Answer{Text: c.say("review it", attempt)})
		if err != nil {
			t.Fatalf("verdict %d: %v", attempt, err)
		}
		var claimed []string
		for _, cmd := range v.Commands {
			claimed = append(claimed, fmt.Sprintf("%s → %d", cmd.Command, cmd.ExitCode))
		}
		if diff := cmp.Diff(c.ran, claimed); diff != "" {
			t.Errorf("review %d claims other commands than it ran (-ran +claimed):\n%s", attempt, diff)
		}
		return v
	}
	state := func() string {
		_, code := shell(t, dir, "go test ./...")
		return fmt.Sprintf("go test ./... → %d", code)
	}

	if got := state(); got != fail {
		t.Errorf("at the start: %s", got)
	}
	newConversation(t, srv, dir, plan.Explore, read).say(demo.Request, 1)
	text := newConversation(t, srv, dir, plan.Plan, read).say(demo.Request, 1)
	for _, part := range []string{"# Plan: ", "\n## Why\n", "\n## Files\n", "\n## Steps\n1. ", "\n## Verify\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the plan has no %q", part)
		}
	}
	want := plan.PlanDoc{Text: text, Files: map[string]string{"split.go": "", "split_test.go": ""}, Verify: []string{"go vet ./...", "go test ./..."}}
	if diff := cmp.Diff(want, phases.ParsePlan(text)); diff != "" {
		t.Error("plan (-want +got):\n" + diff)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("the tree was changed before Implement: %s", got)
	}

	implement := newConversation(t, srv, dir, plan.Implement, all)
	implement.say("do it", 1)
	if got := state(); got != pass {
		t.Errorf("after the first Implement: %s", got)
	}
	if out, code := shell(t, dir, "go run ./cmd/split -10.00 3"); code != 0 || out != "-3.33\n-3.33\n-3.33\ntotal -9.99\n" {
		t.Errorf("the gap is not there: %d %s", code, out)
	}
	if v := verdictOf(1); v.Verdict != plan.NeedsFix || len(v.Missing) != 1 || v.Missing[0].Severity != plan.SeverityMust || v.Missing[0].ID != "" {
		t.Errorf("first verdict: %+v", v)
	}

	implement.say("close the gap", 2)
	if got := state(); got != pass {
		t.Errorf("after the second Implement: %s", got)
	}
	if out, code := shell(t, dir, "go run ./cmd/split -10.00 3"); code != 0 || out != "-3.34\n-3.33\n-3.33\ntotal -10.00\n" {
		t.Errorf("the gap is still there: %d %s", code, out)
	}
	v := verdictOf(2)
	if v.Verdict != plan.Done || len(v.Missing) != 0 || len(v.Commands) == 0 {
		t.Errorf("second verdict: %+v", v)
	}
	for _, item := range v.Checklist {
		if !item.Met {
			t.Errorf("DONE with %q not met", item.Item)
		}
	}
	if got := git(t, dir, "status", "--porcelain"); got != "M split.go\n M split_test.go" {
		t.Errorf("changed files: %q", got)
	}
	if got, want := len(srv.Requests()), len(scenario.Replies); got != want {
		t.Errorf("%d requests for %d replies: some reply is never used", got, want)
	}
	if out, code := shell(t, dir, "gofmt -l ."); code != 0 || out != "" {
		t.Errorf("gofmt: %d %s", code, out)
	}
}

// conversation is one phase's talk with the model.
type conversation struct {
	t        *testing.T
	srv      *scripted.Server
	dir      string
	phase    plan.Phase
	tools    map[string]loop.Tool
	messages []json.RawMessage
	ran      []string // commands with their exit codes
}

func newConversation(t *testing.T, srv *scripted.Server, dir string, phase plan.Phase, names []string) *conversation {
	t.Helper()
	set, err := tools.New(tools.Config{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	list, err := set.Tools(names...)
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{t: t, srv: srv, dir: dir, phase: phase, tools: map[string]loop.Tool{}}
	for _, tool := range list {
		c.tools[tool.Info().Name] = tool
	}
	return c
}

// said is the assistant message of an answer.
type said struct {
	Content   string `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// say sends a user message and does what the model asks for until it has no
// more calls. It returns the model's last words.
func (c *conversation) say(text string, attempt int) string {
	c.t.Helper()
	c.add(map[string]string{"role": "user", "content": text})
	for {
		raw := c.complete(attempt)
		c.messages = append(c.messages, raw)
		var m said
		if err := json.Unmarshal(raw, &m); err != nil {
			c.t.Fatal(err)
		}
		if len(m.ToolCalls) == 0 {
			return m.Content
		}
		for _, call := range m.ToolCalls {
			out := c.call(call.ID, call.Function.Name, call.Function.Arguments)
			c.add(map[string]string{"role": "tool", "tool_call_id": call.ID, "content": out})
		}
	}
}

func (c *conversation) add(m map[string]string) {
	c.t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.messages = append(c.messages, raw)
}

// complete makes one request and returns the assistant message.
func (c *conversation) complete(attempt int) json.RawMessage {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"model": scripted.Model, "messages": c.messages})
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.srv.URL()+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.srv.Key())
	req.Header.Set("X-Plan-Phase", string(c.phase))
	req.Header.Set("X-Plan-Attempt", fmt.Sprint(attempt))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%v %d %s", err, resp.StatusCode, data)
	}
	var answer struct {
		Choices []struct{ Message json.RawMessage }
	}
	if err := json.Unmarshal(data, &answer); err != nil || len(answer.Choices) != 1 {
		c.t.Fatalf("%v %s", err, data)
	}
	return answer.Choices[0].Message
}

// call runs a tool, which must succeed.
func (c *conversation) call(id, name, args string) string {
	c.t.Helper()
	if name == "bash" {
		var in struct{ Command string }
		if err := json.Unmarshal([]byte(args), &in); err != nil {
			c.t.Fatal(err)
		}
		if c.phase != plan.Implement && c.phase != plan.Review {
			c.t.Fatalf("%s has no bash", c.phase)
		}
		out, code := shell(c.t, c.dir, in.Command)
		c.ran = append(c.ran, fmt.Sprintf("%s → %d", in.Command, code))
		if code != 0 {
			c.t.Errorf("%s: %s ended with %d:\n%s", c.phase, in.Command, code, out)
		}
		return out
	}
	tool, ok := c.tools[name]
	if !ok {
		c.t.Fatalf("%s has no tool %s", c.phase, name)
	}
	result, err := tool.Run(c.t.Context(), loop.Input{Call: id, Args: json.RawMessage(args), Update: func(string) {}})
	if err != nil || result.Error {
		c.t.Fatalf("%s: %s %s: %v %s", c.phase, name, args, err, result.Output)
	}
	return result.Output
}

// shell runs a command as the bash tool does.
func shell(t *testing.T, dir, command string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/hosttest"
)

// spoken is a program that speaks JSON-RPC over its standard input and output, a message a
// line.
type spoken struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.Writer
	lines *bufio.Scanner
	asked int
}

// speak starts the program.
func speak(t *testing.T, environ []string, args ...string) *spoken {
	t.Helper()
	s := &spoken{
		t:   t,
		cmd: exec.CommandContext(t.Context(), program(t), args...),
	}
	s.cmd.Env = environ
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewScanner(out)
	s.lines.Buffer(nil, 16<<20)
	return s
}

// ask sends a request, and returns its id.
func (s *spoken) ask(method string, params any) string {
	s.t.Helper()
	s.asked++
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      s.asked,
		"method":  method,
		"params":  params,
	})
	if err == nil {
		_, err = s.in.Write(append(data, '\n'))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf(`"id":%d,`, s.asked)
}

// until reads messages until one has a text, and returns all of them. What the program asks
// for is none of it.
func (s *spoken) until(text string) string {
	s.t.Helper()
	var all strings.Builder
	for s.lines.Scan() {
		all.WriteString(s.lines.Text() + "\n")
		if strings.Contains(s.lines.Text(), text) {
			return all.String()
		}
	}
	s.t.Fatalf("it never says %s, but\n%s", text, all.String())
	return ""
}

// TestACPKilled: the agent dies while the implementer's command is under way. The editor
// loads the session again and has lost nothing; the next prompt goes on with the run.
func TestACPKilled(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	repo, environ := w.Repo, w.Config.Environ
	begin := func() *spoken {
		s := speak(t, environ, "acp", "--check", "sh greet.sh | grep -qx hello")
		s.until(s.ask("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}))
		return s
	}
	first := begin()
	opened := first.until(first.ask("session/new", map[string]any{"cwd": repo, "mcpServers": []any{}}))
	_, rest, _ := strings.Cut(opened, `"sessionId":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("no session is opened: %s", opened)
	}
	say := func(s *spoken, text string) string {
		return s.ask("session/prompt", map[string]any{
			"sessionId": id,
			"prompt":    []any{map[string]any{"type": "text", "text": text}},
		})
	}
	say(first, "Make greet.sh say hello")
	first.until("echo echo hello")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()

	second := begin()
	told := second.until(second.ask("session/load", map[string]any{"sessionId": id, "cwd": repo, "mcpServers": []any{}}))
	for _, want := range []string{"Make greet.sh say hello", "prints `hullo`", "Say hello"} {
		if !strings.Contains(told, want) {
			t.Errorf("loaded again, the session lacks %q:\n%s", want, told)
		}
	}
	if told = second.until(say(second, "Go on")); !strings.Contains(told, "**approved**") || !strings.Contains(told, "end_turn") {
		t.Errorf("the run comes to\n%s", told)
	}
	if data, err := os.ReadFile(filepath.Join(repo, "greet.sh")); err != nil || string(data) != "echo hello\n" {
		t.Errorf("greet.sh is %q, %v", data, err)
	}
	if err := second.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = second.cmd.Wait()
	if runs := listed(t, environ); len(runs) != 1 || string(runs[0].ID) != id || runs[0].State != plan.Approved {
		t.Errorf("the home has %+v", runs)
	}
}

// listedRun is a run as the list has it.
type listedRun struct {
	ID    plan.RunID
	State plan.State
}

// listed are the runs of a home.
func listed(t *testing.T, environ []string) []listedRun {
	t.Helper()
	list := exec.CommandContext(t.Context(), program(t), "list", "--json")
	list.Env = environ
	data, err := list.Output()
	var runs []listedRun
	if err == nil {
		err = json.Unmarshal(data, &runs)
	}
	if err != nil {
		t.Fatalf("the list is %s, %v", data, err)
	}
	return runs
}

// TestMCPKilled: the server dies while the implementer's command is under way. Its client
// starts it again, finds the run as it was left, and waits for its end.
func TestMCPKilled(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	repo, environ := w.Repo, w.Config.Environ
	begin := func() *spoken {
		s := speak(t, environ, "-C", repo, "mcp", "--check", "sh greet.sh | grep -qx hello")
		s.until(s.ask("initialize", map[string]any{
			"protocolVersion": "2025-06-18",
			"capabilities":    map[string]any{},
			"clientInfo":      map[string]any{"name": "test", "version": "1"},
		}))
		return s
	}
	call := func(s *spoken, tool string, args map[string]any) string {
		return s.ask("tools/call", map[string]any{
			"name":      tool,
			"arguments": args,
			"_meta":     map[string]any{"progressToken": "t"},
		})
	}
	first := begin()
	call(first, "plan_run", map[string]any{"request": "Make greet.sh say hello"})
	first.until("implement: bash")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()

	second := begin()
	runs := listed(t, environ)
	if len(runs) != 1 || runs[0].State != plan.Implementing {
		t.Fatalf("after the kill the home has %+v", runs)
	}
	named := map[string]any{"run": runs[0].ID}
	if told := second.until(call(second, "plan_status", named)); !strings.Contains(told, "interrupted") {
		t.Errorf("after the kill the run is said to be\n%s", told)
	}
	if told := second.until(call(second, "plan_wait", named)); !strings.Contains(told, `"approved"`) {
		t.Errorf("the run comes to\n%s", told)
	}
	if runs = listed(t, environ); len(runs) != 1 || runs[0].State != plan.Approved {
		t.Errorf("at the end the home has %+v", runs)
	}
	if err := second.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = second.cmd.Wait()
}

package acp_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/plan-engine/plan/face/acp"
	"github.com/plan-engine/plan/internal/gittest"
)

// notes is a server that reads and takes notes, and says how long its key is.
const notes = `while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method.*/\1/p')
  [ -n "$id" ] || id=$(printf '%s' "$line" | sed -n 's/.*"jsonrpc":"2.0","id":\([0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  text() { say "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
  case "$line" in
  *'"method":"initialize"'*)
    say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    say '{"tools":[{"name":"get_note","description":"Read the note.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},
{"name":"add_note","description":"Add a note.","inputSchema":{"type":"object"}}]}' | tr -d '\n'; echo ;;
  *'"name":"get_note"'*) text "the note has a key of ${#NOTES_KEY}" ;;
  *'"name":"add_note"'*) echo noted >> noted; text added ;;
  esac
done
`

// usesNotes has Explore read a note, and Implement add one.
const usesNotes = `
[[reply]]
phase = "explore"
about = "Use the notes"
turn = 0
  [[reply.call]]
  name = "find_tools"
  args = { query = "note" }

[[reply]]
phase = "explore"
about = "Use the notes"
turn = 1
  [[reply.call]]
  name = "use_tool"
  args = { name = "mcp__notes__get_note", arguments = {} }
  [[reply.call]]
  name = "use_tool"
  args = { name = "mcp__notes__add_note", arguments = {} }

[[reply]]
phase = "implement"
about = "Use the notes"
turn = 0
  [[reply.call]]
  name = "use_tool"
  args = { name = "mcp__notes__add_note", arguments = {} }
  [[reply.call]]
  name = "bash"
  args = { command = "echo echo hello > greet.sh" }
`

// TestAnEditorsServers: what the editor names is used within the phases: Explore reads, what
// may write is Implement's and asked about, and the key stays out of the home.
func TestAnEditorsServers(t *testing.T) {
	t.Parallel()
	const key = "key-of-the-editor-1234"
	w := newWorld(t, usesNotes)
	gittest.Write(t, w.Repo, map[string]string{"notes.sh": notes})
	gittest.Git(t, w.Repo, "add", ".")
	gittest.Git(t, w.Repo, "commit", "-qm", "notes")
	home := filepath.Join(w.Dir, "home")
	gittest.Write(t, home, map[string]string{"config.toml": "[mcp.notes]\nread_only = [\"get_*\"]\n"})
	e := w.open(t, acp.Options{})
	e.choose = func(r sdk.RequestPermissionRequest) sdk.PermissionOptionId { return r.Options[0].OptionId }
	got, err := e.NewSession(t.Context(), sdk.NewSessionRequest{
		Cwd: w.Repo,
		McpServers: []sdk.McpServer{{Stdio: &sdk.McpServerStdio{
			Name:    "Notes",
			Command: "bash",
			Args:    []string{"notes.sh"},
			Env:     []sdk.EnvVariable{{Name: "NOTES_KEY", Value: key}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.say(t, got.SessionId, "Use the notes and make greet.sh say hello")
	calls := strings.Join(e.calls(), "\n")
	for _, want := range []string{"completed mcp__notes__get_note", "failed use_tool mcp.notes.add_note", "completed mcp__notes__add_note"} {
		if !strings.Contains(calls, want) {
			t.Errorf("no call %q among\n%s", want, calls)
		}
	}
	if !slices.ContainsFunc(e.asked, func(r sdk.RequestPermissionRequest) bool {
		return r.ToolCall.Title != nil && strings.Contains(*r.ToolCall.Title, "mcp__notes__add_note")
	}) {
		t.Errorf("the person was asked for %+v", e.asked)
	}
	if data, _ := os.ReadFile(filepath.Join(w.Repo, "noted")); string(data) != "noted\n" {
		t.Errorf("noted is %q", data)
	}
	e.leave()
	err = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(key)) {
				t.Errorf("%s holds the key, or %v", path, err)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestServersThatCannotBeUsed: the session is refused, and says why.
func TestServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.open(t, acp.Options{})
	for want, server := range map[string]sdk.McpServer{
		"a command that cannot be run": {Stdio: &sdk.McpServerStdio{
			Name: "x",
			Args: []string{},
			Env:  []sdk.EnvVariable{},
		}},
		"must be an address": {Http: &sdk.McpServerHttpInline{
			Type:    "http",
			Name:    "x",
			Url:     "file:///etc/passwd",
			Headers: []sdk.HttpHeader{},
		}},
		"and no otherwise": {Sse: &sdk.McpServerSseInline{
			Type:    "sse",
			Name:    "x",
			Url:     "http://127.0.0.1:1",
			Headers: []sdk.HttpHeader{},
		}},
	} {
		_, err := e.NewSession(t.Context(), sdk.NewSessionRequest{
			Cwd:        w.Repo,
			McpServers: []sdk.McpServer{server},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

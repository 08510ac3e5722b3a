package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/host/hosttest"
)

// served is `plan serve` as a process.
type served struct {
	t   *testing.T
	cmd *exec.Cmd
	web.Served
}

// startServing starts the program with a home and a model.
func startServing(t *testing.T, repo string, environ []string) *served {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), "-C", repo, "serve", "--json", "--check", "sh greet.sh | grep -qx hello")
	cmd.Env = environ
	return beginServing(t, cmd)
}

// beginServing starts a command that serves, and reads where.
func beginServing(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("it says %q: %v", line, err)
	}
	if err := json.Unmarshal(line, &s.Served); err != nil || s.Token == "" {
		t.Fatalf("it says %s, %v", line, err)
	}
	return s
}

// send sends a request to the API.
func (s *served) send(method, path, body string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"api/v1"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if got.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(got.Body)
		s.t.Fatalf("%s %s: %s %s", method, path, got.Status, text)
	}
	return got
}

// follow reads the events of a run until one has a text, or they end. It returns the last
// one.
func (s *served) follow(id, until string) string {
	s.t.Helper()
	got := s.send(http.MethodGet, "/runs/"+id+"/events", "")
	defer got.Body.Close()
	last := ""
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if last = lines.Text(); until != "" && strings.Contains(last, until) {
			return last
		}
	}
	return last
}

// TestServeKilled: the server dies while the implementer's command is under way, and the
// next one goes on with the run until it is approved. Its end parks what it drives.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	repo, environ := w.Repo, w.Config.Environ
	first := startServing(t, repo, environ)
	var run struct{ ID string }
	if err := json.NewDecoder(first.send(http.MethodPost, "/runs", `{"request": "Make greet.sh say hello"}`).Body).Decode(&run); err != nil {
		t.Fatal(err)
	}
	if last := first.follow(run.ID, `"phase":"implement","attempt":1,"turn":0,"type":"tool_start"`); !strings.Contains(last, "tool_start") {
		t.Fatalf("the run is over before the kill: %s", last)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()

	second := startServing(t, repo, environ)
	var stands struct{ Parked string }
	if err := json.NewDecoder(second.send(http.MethodGet, "/runs/"+run.ID, "").Body).Decode(&stands); err != nil ||
		stands.Parked != "interrupted" {
		t.Errorf("after the kill the run is parked as %q, %v", stands.Parked, err)
	}
	second.send(http.MethodPost, "/runs/"+run.ID+"/resume", "")
	if last := second.follow(run.ID, ""); !strings.Contains(last, `"outcome":"approved"`) {
		t.Errorf("the run comes to %s", last)
	}

	second.send(http.MethodPost, "/runs", `{"request": "Make greet.sh say hello. Ask first", "worktree": true}`)
	if err := second.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("interrupted, it ends with %v", err)
	}
}

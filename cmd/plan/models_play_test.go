package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/model/scripted"
)

// sampledWires is one of the wires by which models are spoken to, or all of them where
// everything is played: the rule that a test looks at is the same over each.
func sampledWires(t *testing.T) []string {
	t.Helper()
	return sampling.Pick(sampling.New(t), 1, []string{"chat", "responses", "anthropic"})
}

// sampledHalf is half of the cases, or all of them where everything is played.
func sampledHalf[C any](t *testing.T, cases []C) []C {
	t.Helper()
	return sampling.Pick(sampling.New(t), (len(cases)+1)/2, cases)
}

// modelHome is a home with providers and a repository to work in, for the real
// program. Each provider is a scripted server with a key of its own.
type modelHome struct {
	t       *testing.T
	binary  string
	dir     string
	env     []string
	servers map[string]*scripted.Server
}

// newModelHome makes a home without servers.
func newModelHome(t *testing.T) *modelHome {
	t.Helper()
	h := &modelHome{
		t:       t,
		binary:  program(t),
		dir:     t.TempDir(),
		servers: map[string]*scripted.Server{},
	}
	repo := filepath.Join(h.dir, "repo")
	write(t, repo, greetFiles())
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		git(t, repo, args...)
	}
	return h
}

// keyOf is the key of a server, which nothing else may hold.
func keyOf(provider string) string { return "the-key-of-" + provider + "-alone" }

// serve starts the server of a provider, which asks for the key in NAME_KEY.
func (h *modelHome) serve(provider string, s *scripted.Scenario) *scripted.Server {
	h.t.Helper()
	server, err := scripted.Start(context.Background(), s, scripted.Config{Token: keyOf(provider)})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = server.Close() })
	h.servers[provider] = server
	h.env = append(h.env, strings.ToUpper(provider)+"_KEY="+keyOf(provider))
	return server
}

// settings writes config.toml. In it, {NAME} is the address of a server.
func (h *modelHome) settings(text string) {
	h.t.Helper()
	for name, server := range h.servers {
		text = strings.ReplaceAll(text, "{"+name+"}", server.URL())
	}
	const always = "[memory]\noff = true\n[skills]\noff = true\n[retry]\nbase = \"1ms\"\nmax = \"5ms\"\n"
	if !strings.Contains(text, "[retry]") {
		text += always
	}
	write(h.t, filepath.Join(h.dir, "home"), map[string]string{"config.toml": text})
}

// providerTable is the settings of a server with the usual key.
func providerTable(name, wire string, more ...string) string {
	lines := append([]string{
		"[providers." + name + "]",
		`wire = "` + wire + `"`,
		`base_url = "{` + name + `}"`,
		`key_env = "` + strings.ToUpper(name) + `_KEY"`,
	}, more...)
	return strings.Join(lines, "\n") + "\n"
}

// played is what one command of the program came to.
type played struct {
	t      *testing.T
	code   int
	events []plan.Event
	out    string
	shown  string // to people
}

// plan runs the program.
func (h *modelHome) plan(args ...string) played {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), h.binary, append([]string{"-C", filepath.Join(h.dir, "repo")}, args...)...)
	cmd.Env = slices.Concat(os.Environ(), []string{
		"PLAN_HOME=" + filepath.Join(h.dir, "home"), "HOME=" + h.dir, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=",
		"PLAN_MODEL=", "OPENAI_BASE_URL=", "OPENAI_API_KEY=",
		"GIT_CONFIG_GLOBAL=/dev/null", "LANG=C.UTF-8", "NO_COLOR=1", "GORACE=atexit_sleep_ms=0",
	}, h.env)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatalf("plan: %v", err)
	}
	return played{
		t:     h.t,
		code:  cmd.ProcessState.ExitCode(),
		out:   stdout.String(),
		shown: stderr.String(),
	}
}

// journaled is plan for the commands that print events.
func (h *modelHome) journaled(args ...string) played {
	h.t.Helper()
	p := h.plan(args...)
	for line := range strings.Lines(p.out) {
		var ev plan.Event
		if err := ev.UnmarshalJSON([]byte(line)); err != nil {
			h.t.Fatalf("%v: %s", err, line)
		}
		if ev.Seq > 0 {
			p.events = append(p.events, ev)
		}
	}
	return p
}

// run does the usual work.
func (h *modelHome) run(flags ...string) played {
	h.t.Helper()
	args := slices.Concat([]string{"run", "--json", "--auto-approve", "--check", theTest}, flags)
	return h.journaled(append(args, "greet with hello")...)
}

// resume goes on with the newest run.
func (h *modelHome) resume(flags ...string) played {
	h.t.Helper()
	return h.journaled(append([]string{"resume", "--json"}, flags...)...)
}

// bodiesOf are the events of a kind.
func bodiesOf[T plan.Body](p played) []T {
	var out []T
	for _, ev := range p.events {
		if b, ok := ev.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// approved fails the test unless the run was.
func (p played) approved() {
	p.t.Helper()
	if ends := bodiesOf[plan.RunEnd](p); p.code != plan.ExitOK || len(ends) != 1 || ends[0].Outcome != plan.Approved {
		p.t.Fatalf("exit %d, %+v\n%s", p.code, ends, p.shown)
	}
}

// planned fails the test unless the run ended with its plan, as it was asked to.
func (p played) planned() {
	p.t.Helper()
	if ends := bodiesOf[plan.RunEnd](p); p.code != plan.ExitOK || len(ends) != 1 || ends[0].Outcome != plan.Planned {
		p.t.Fatalf("exit %d, %+v\n%s", p.code, ends, p.shown)
	}
}

// parked fails the test unless the run stopped for a reason that says a text.
func (p played) parked(reason plan.ParkReason, text string) {
	p.t.Helper()
	parks := bodiesOf[plan.Parked](p)
	if p.code != plan.ExitLimit || len(parks) != 1 || parks[0].Reason != reason || !strings.Contains(parks[0].Detail, text) {
		p.t.Fatalf("exit %d, %+v, want %s with %q\n%s", p.code, parks, reason, text, p.shown)
	}
}

// parts are what was adjusted, in order.
func (p played) parts() []string {
	var out []string
	for _, a := range bodiesOf[plan.Adjusted](p) {
		out = append(out, a.Part)
	}
	return out
}

// phasesOf are the phases that a server was asked by.
func phasesOf(s *scripted.Server) []string {
	seen := map[string]bool{}
	for _, r := range s.Requests() {
		seen[r.Header.Get("X-Plan-Phase")] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// bodies are the requests of a server as text, those of one phase, "" for all.
func bodies(s *scripted.Server, phase string) []string {
	var out []string
	for _, r := range s.Requests() {
		if phase == "" || r.Header.Get("X-Plan-Phase") == phase {
			out = append(out, string(r.Body))
		}
	}
	return out
}

// holds counts the texts that contain another one.
func holds(texts []string, part string) int {
	n := 0
	for _, text := range texts {
		n += min(1, strings.Count(text, part))
	}
	return n
}

// at is a number for a field that may be left out.
func at[T any](v T) *T { return &v }

// usualReplies are the work done with a tool call in Explore and Implement, each
// thought about.
func usualReplies() []scripted.Reply {
	return []scripted.Reply{
		{Phase: "explore", User: 1, Turn: at(0), Reasoning: "Where does it greet?", Text: "I look.", Calls: []scripted.Call{reads("greet.sh")}},
		{Phase: "explore", Reasoning: "It is found.", Text: "**Where it happens**: greet.sh."},
		{Phase: "plan", Reasoning: "One step.", Text: "# Plan\n## Files\n- greet.sh\n## Steps\n1. Change it.\n"},
		{Phase: "implement", User: 1, Turn: at(0), Reasoning: "The word is hi.", Calls: []scripted.Call{bash(works)}},
		{Phase: "implement", Text: "Done."},
		{Phase: "review", User: 1, Turn: at(0), Reasoning: "Is it so?", Calls: []scripted.Call{reads("greet.sh")}},
		{Phase: "review", Text: done()},
		{Phase: "doctor", Turn: at(0), Reasoning: "A tool.", Calls: []scripted.Call{{Name: "lookup", Args: map[string]any{"key": "colour"}}}},
		{Phase: "doctor", Text: "It is green."},
	}
}

func reads(path string) scripted.Call {
	return scripted.Call{Name: "read", Args: map[string]any{"path": path}}
}

// usual is the usual work on a server with these ways. The first replies are
// served before those of the usual work.
func usual(ways scripted.Gateway, first ...scripted.Reply) *scripted.Scenario {
	rest := slices.DeleteFunc(usualReplies(), func(r scripted.Reply) bool {
		return slices.ContainsFunc(first, func(f scripted.Reply) bool { return lasts(f) && f.Attempt == 0 && inPlaceOf(f, r) })
	})
	return &scripted.Scenario{
		Server:  ways,
		Replies: append(slices.Clone(first), rest...),
	}
}

// lasts reports whether a reply is served however often it is asked for.
func lasts(r scripted.Reply) bool {
	always := r.Fault == nil || r.Fault.Times != nil && *r.Fault.Times == 0
	return always || r.Text != "" || len(r.Calls) > 0
}

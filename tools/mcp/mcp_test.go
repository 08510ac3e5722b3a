package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/catalog"
	"github.com/plan-engine/plan/tools/mcp"
	"github.com/plan-engine/plan/tools/outside"
)

// kept is a list of tools as a home keeps it.
type kept struct{ list *catalog.List }

func (k *kept) Read() *catalog.List { return k.list }

func (k *kept) Write(l catalog.List) error {
	k.list = &l
	return nil
}

// serverIn starts a server of this test in a mode.
func serverIn(t *testing.T, mode string, change func(*mcp.Config)) *mcp.Server {
	t.Helper()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := mcp.Config{
		Name:     "test",
		Line:     "'" + os.Args[0] + "'",
		Env:      []mcp.Variable{{Name: "TEST_SERVER", Value: mode}, {Name: "GIVEN", Value: "it's $given"}},
		ReadOnly: []string{"get_*", "where", "*_resource*"},
		Dir:      t.TempDir(),
		Shell:    shell,
		Timeout:  time.Minute,
		After: func(time.Duration) <-chan time.Time {
			now := make(chan time.Time, 1)
			now <- time.Time{}
			return now
		},
	}
	if change != nil {
		change(&cfg)
	}
	s := mcp.New(cfg)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// call calls a tool by the name that its server has for it.
func call(t *testing.T, s *mcp.Server, name, args string) loop.Result {
	t.Helper()
	return callWith(t, t.Context(), s, name, args, func(string) {})
}

func callWith(
	t *testing.T,
	ctx context.Context,
	s *mcp.Server,
	name, args string,
	update func(string),
) loop.Result {
	t.Helper()
	tools := s.Known()
	if tools == nil {
		tools, _ = s.Load(ctx)
	}
	for _, tool := range tools {
		if tool.Info().Name != "mcp__test__"+name {
			continue
		}
		res, err := tool.Run(ctx, loop.Input{Call: "c", Args: json.RawMessage(args), Update: update})
		if err != nil {
			t.Fatalf("a server's failure stops the run: %v", err)
		}
		return res
	}
	t.Fatalf("there is no tool %s", name)
	return loop.Result{}
}

func names(tools []loop.Tool) string {
	var out []string
	for _, tool := range tools {
		out = append(out, strings.TrimPrefix(tool.Info().Name, "mcp__test__"))
	}
	return strings.Join(out, " ")
}

// TestAServerIsUsed: its tools, resources, roots, progress, variables and questions.
func TestAServerIsUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var asked []string
	s := serverIn(t, "sdk", func(c *mcp.Config) {
		c.Dir = dir
		c.Key = func(context.Context) (string, error) { return "the key", nil }
		c.KeyName = "SERVER_KEY"
		c.Timeout = 3 * time.Second
		c.Ask = func(ctx context.Context, q mcp.Question) mcp.Answer {
			asked = append(asked, q.Text)
			select { // a person takes longer than a call may
			case <-time.After(3300 * time.Millisecond):
			case <-ctx.Done():
			}
			return mcp.Answer{Text: "Ada", Given: true}
		}
	})
	if s.Known() != nil {
		t.Error("it is known what a server has that was never started")
	}
	tools, err := s.Load(t.Context())
	if err != nil || names(tools) != "ask_name get_note list_resources read_resource sample where" {
		t.Fatalf("%s, %v", names(tools), err)
	}
	for _, tool := range tools {
		info := tool.Info()
		reads := strings.Contains("get_note where list_resources read_resource", strings.TrimPrefix(info.Name, "mcp__test__"))
		if outside.Reads(info) != reads || !reads && info.Effect != plan.EffectUnknown {
			t.Errorf("%s: %+v", info.Name, info)
		}
	}
	if got := call(t, s, "get_note", `{"name":"x"}`); got.Output != "<result>\nnote x\n</result>" || got.Error {
		t.Errorf("%+v", got)
	}
	var progress string
	got := callWith(t, t.Context(), s, "where", "{}", func(text string) { progress += text })
	real, _ := filepath.EvalSymlinks(dir)
	if !strings.Contains(got.Output, "file://"+real+" it's $given the key") || progress != "1 of 2 looking\n" {
		t.Errorf("%+v; progress %q", got, progress)
	}
	if got := call(t, s, "read_resource", `{"uri":"note://one"}`); !strings.Contains(got.Output, "the first note") {
		t.Errorf("%+v", got)
	}
	if got := call(t, s, "list_resources", `{}`); !strings.Contains(got.Output, "note://one") {
		t.Errorf("%+v", got)
	}
	if got := call(t, s, "ask_name", "{}"); !strings.Contains(got.Output, "accept Ada") || len(asked) != 1 ||
		!strings.Contains(got.Output, "[the person was asked: The server test asks: Which name? [name]; Ada]") {
		t.Errorf("%+v after %q", got, asked)
	}
	if got := call(t, s, "sample", "{}"); !got.Error {
		t.Errorf("a server had the model say something: %+v", got)
	}
}

// TestAnAnnotationIsAClaim: a tool that says it only reads does where the user says so too.
func TestAnAnnotationIsAClaim(t *testing.T) {
	t.Parallel()
	s := serverIn(t, "plain", func(c *mcp.Config) { c.ReadOnly = []string{"set_*"} })
	tools, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if info := tool.Info(); outside.Reads(info) {
			t.Errorf("%s counts as reading by one word alone", info.Name)
		}
	}
	s = serverIn(t, "plain", func(c *mcp.Config) { c.Allow, c.Deny = []string{"*_it"}, []string{"set_*"} })
	if tools, err = s.Load(t.Context()); err != nil || names(tools) != "get_it" {
		t.Errorf("%s, %v", names(tools), err)
	}
}

// TestServersMisbehave: whatever a server does is a result that says what happened, in
// bounded time and size.
func TestServersMisbehave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode, tool string
		want       string // in the result of a call
		status     string
	}{
		{mode: "garbage", tool: "get_it", want: "done get_it"},
		{mode: "die", tool: "set_it", want: "it ended with status 7. It may have done all", status: "unknown"},
		{mode: "die", tool: "get_it", want: "it ended with status 7."},
		{mode: "refuse", tool: "get_it", want: "there is no such thing"},
		{mode: "nothing", tool: "get_it", want: "(nothing)"},
		{mode: "hang-tools/call", tool: "set_it", want: "did not answer in 300ms", status: "timeout"},
		{mode: "deaf", tool: "get_it", want: "did not answer in 300ms", status: "timeout"},
		{mode: "flood", tool: "get_it", want: "it sent more than"},
		{mode: "too-big", tool: "get_it", want: "it sent a message of more than 16 MiB"},
		{mode: "orders", tool: "get_it", want: "<result-2>\n</result>\nIgnore"},
	} {
		t.Run(c.mode+" "+c.tool, func(t *testing.T) {
			t.Parallel()
			s := serverIn(t, c.mode, func(cfg *mcp.Config) {
				if c.status == "timeout" {
					cfg.Timeout = 300 * time.Millisecond
				}
			})
			got := call(t, s, c.tool, "{}")
			if !strings.Contains(got.Output, c.want) || got.Status != c.status || len(got.Output) > 40<<10 {
				t.Errorf("status %q: %.600s", got.Status, got.Output)
			}
		})
	}
}

// TestServersThatDoNotStart: what they complain about is said, and they are started twice.
func TestServersThatDoNotStart(t *testing.T) {
	t.Parallel()
	s := serverIn(t, "no-start", nil)
	_, err := s.Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "started 2 times") ||
		!strings.Contains(err.Error(), "status 3: cannot find module x") {
		t.Errorf("%v", err)
	}
	for _, mode := range []string{"hang-initialize", "hang-tools/list"} {
		s = serverIn(t, mode, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		if _, err := s.Load(ctx); err == nil || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %s", mode, err, time.Since(began))
		}
		cancel()
	}
	s = serverIn(t, "plain", func(c *mcp.Config) { c.Shell = nil })
	if _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "no programs are started") {
		t.Errorf("%v", err)
	}
	s = serverIn(t, "plain", func(c *mcp.Config) { c.Check = func() error { return fmt.Errorf("it has changed") } })
	if _, err := s.Load(t.Context()); err == nil || err.Error() != "it has changed" {
		t.Errorf("%v", err)
	}
}

// TestAServerIsStartedAgainOnce, and not a third time.
func TestAServerIsStartedAgainOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "died")
	s := serverIn(t, "die-once", func(c *mcp.Config) {
		c.Env = []mcp.Variable{{Name: "TEST_SERVER", Value: "die-once"}, {Name: "GIVEN", Value: file}}
	})
	if got := call(t, s, "get_it", "{}"); !strings.Contains(got.Output, "status 7") {
		t.Errorf("%+v", got)
	}
	if got := call(t, s, "get_it", "{}"); !strings.Contains(got.Output, "done get_it") {
		t.Errorf("it was not started again: %+v", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := call(t, s, "get_it", "{}"); !strings.Contains(got.Output, "status 7") {
		t.Errorf("%+v", got)
	}
	if got := call(t, s, "get_it", "{}"); !strings.Contains(got.Output, "not started again in this phase") {
		t.Errorf("%+v", got)
	}
}

// TestALargeAnswerIsCut, and kept for paging.
func TestALargeAnswerIsCut(t *testing.T) {
	t.Parallel()
	got := call(t, serverIn(t, "big", nil), "get_it", "{}")
	hash := plan.NewBlob(got.Full).Hash
	if len(got.Output) > 40<<10 || len(got.Full) != 8<<20 || !strings.Contains(got.Output, `path "blob:`+hash+`"`) {
		t.Errorf("%d bytes are read and %d kept: %.200s", len(got.Output), len(got.Full), got.Output[max(0, len(got.Output)-200):])
	}
}

// TestBrokenSchemas keep a tool away, and no other.
func TestBrokenSchemas(t *testing.T) {
	t.Parallel()
	lists := &kept{}
	tools, err := serverIn(t, "schemas", func(c *mcp.Config) { c.Lists = lists }).Load(t.Context())
	if err != nil || names(tools) != "a_loop get_it set_it" {
		t.Errorf("%s, %v", names(tools), err)
	}
	for _, d := range lists.list.Tools {
		if d.Broken == "" && strings.Contains("a_list a_text huge", d.Name) {
			t.Errorf("%s is not said to be broken", d.Name)
		}
	}
}

// TestToolsThatChangeWaitForAPerson: those that are new or otherwise than they were, and
// those that speak to the model from the first.
func TestToolsThatChangeWaitForAPerson(t *testing.T) {
	t.Parallel()
	lists := &kept{}
	load := func(mode string, yes func(string) bool) (string, error) {
		s := serverIn(t, mode, func(c *mcp.Config) { c.Lists, c.Trusted = lists, yes })
		tools, err := s.Load(t.Context())
		return names(tools), err
	}
	if got, err := load("plain", nil); got != "get_it set_it" || err != nil {
		t.Fatalf("%s, %v", got, err)
	}
	got, err := load("changed", nil)
	if got != "get_it" || err == nil || !strings.Contains(err.Error(), "2 tools wait for a person") {
		t.Errorf("%s, %v", got, err)
	}
	waiting := lists.list.Waiting()
	if !strings.Contains(waiting, "set_it has changed: Set it, and tell everyone.") || !strings.Contains(waiting, "new_one is new") {
		t.Errorf("%s", waiting)
	}
	digest := lists.list.Digest()
	if got, err = load("changed", func(d string) bool { return d == digest }); got != "get_it new_one set_it" || err != nil {
		t.Errorf("after a yes: %s, %v", got, err)
	}
	if got, _ = load("plain", nil); got != "get_it" {
		t.Errorf("back as they were, which is another change: %s", got)
	}
	lists.list = nil
	if got, _ = load("orders", nil); got != "get_it set_it" {
		t.Errorf("tools that speak to the model are there: %s", got)
	}
	if waiting := lists.list.Waiting(); !strings.Contains(waiting, `speaks to the model ("<IMPORTANT>")`) ||
		!strings.Contains(waiting, "cannot be seen") {
		t.Errorf("%s", waiting)
	}
}

// TestACallOfAToolThatHasChanged is refused, also where the list was known before.
func TestACallOfAToolThatHasChanged(t *testing.T) {
	t.Parallel()
	lists := &kept{}
	if _, err := serverIn(t, "plain", func(c *mcp.Config) { c.Lists = lists }).Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := serverIn(t, "changed", func(c *mcp.Config) { c.Lists = lists })
	if got := call(t, s, "set_it", "{}"); !strings.Contains(got.Output, "was not called: its server describes it otherwise") {
		t.Errorf("%+v", got)
	}
}

package looptest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/looptest"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/record"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The client of Chat Completions, with the scripted server behind it.
func TestOpenAI(t *testing.T) {
	t.Parallel()
	looptest.Run(t, func(t *testing.T, s looptest.Scenario) loop.Model {
		client, server := serve(t, s)
		t.Cleanup(func() {
			if s.Name != "repeated" && s.Name != "at_the_same_time" {
				return
			}
			seen := server.Requests()
			for i := range seen {
				if diff := cmp.Diff(string(seen[0].Body), string(seen[i].Body)); diff != "" {
					t.Errorf("the same call was sent with other bytes the %d-th time:\n%s", i, diff)
				}
			}
			if len(seen) < 2 {
				t.Errorf("the server saw %d requests, want several", len(seen))
			}
		})
		return client
	})
}

// A recorder is not to be noticed, and what it recorded answers the same calls
// without the server.
func TestRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(s looptest.Scenario) string { return filepath.Join(dir, s.Name+".jsonl") }
	recorded := t.Run("recorder", func(t *testing.T) {
		looptest.Run(t, func(t *testing.T, s looptest.Scenario) loop.Model {
			client, _ := serve(t, s)
			recorder, err := record.New(client, file(s), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := recorder.Close(); err != nil {
					t.Error(err)
				}
			})
			return recorder
		})
	})
	if !recorded {
		return
	}
	t.Run("player", func(t *testing.T) {
		looptest.Run(t, func(t *testing.T, s looptest.Scenario) loop.Model {
			player, err := record.Open(file(s))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if n := player.Unplayed(); n != 0 {
					t.Errorf("%d recorded calls were not asked for", n)
				}
			})
			return player
		})
	})
}

// serve makes a client for a server that plays s.
func serve(t testing.TB, s looptest.Scenario) (*wire.Client, *scripted.Server) {
	t.Helper()
	server, err := scripted.Start(context.Background(), script(t, s), scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := chat.New(chat.Config{Config: wire.Config{
		BaseURL: server.URL(),
		Key:     func(context.Context) (string, error) { return server.Key(), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return client, server
}

// script translates a scenario for the scripted server.
func script(t testing.TB, s looptest.Scenario) *scripted.Scenario {
	t.Helper()
	out := &scripted.Scenario{Name: s.Name}
	user, turn := 1, 0
	for _, r := range s.Replies {
		at := turn
		reply := scripted.Reply{
			Phase: s.Name, Attempt: 1, User: user, Turn: &at,
			Reasoning: r.Reasoning, Text: r.Text, Fault: fault(t, r),
			Usage: &scripted.Usage{Input: r.Usage.Input, Cached: r.Usage.Cached, Output: r.Usage.Output, Reasoning: r.Usage.Reasoning},
		}
		for _, c := range r.Calls {
			reply.Calls = append(reply.Calls, scripted.Call{Name: c.Name, Raw: &c.Args})
		}
		if reply.Fault == nil || reply.Fault.Kind != scripted.FaultGarbage {
			reply.Finish = r.Finish
		}
		out.Replies = append(out.Replies, reply)
		if len(r.Calls) > 0 {
			turn++
		} else {
			user, turn = user+1, 0
		}
	}
	return out
}

// fault translates what goes wrong with a reply.
func fault(t testing.TB, r looptest.Reply) *scripted.Fault {
	t.Helper()
	always := 0
	switch loop.StopReason(r.Finish) {
	case "", loop.StopEnd, loop.StopTools, loop.StopLength, loop.StopRefused, loop.StopFiltered:
	default: // the server will not say this by itself
		if len(r.Text) > 24 {
			t.Fatalf("the text %q does not fit into one chunk", r.Text)
		}
		whole := 2 // chunks: the role, the text
		body := fmt.Sprintf(`{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, r.Finish)
		return &scripted.Fault{Kind: scripted.FaultGarbage, Times: &always, AfterChunks: &whole, Body: body}
	}
	if r.Fault == nil {
		if r.Text == "" && r.Reasoning == "" && len(r.Calls) == 0 {
			return &scripted.Fault{Kind: scripted.FaultEmpty, Times: &always}
		}
		return nil
	}
	f := scripted.Fault{Times: &r.Fault.Times}
	switch r.Fault.Kind {
	case looptest.FaultStatus:
		f.Kind, f.Status = scripted.FaultStatus, r.Fault.Status
		if r.Fault.Code != "" {
			f.Body = fmt.Sprintf(`{"error":{"message":"this is the fault of the test","code":%q}}`, r.Fault.Code)
		}
		if r.Fault.RetryAfter > 0 {
			f.RetryAfter = fmt.Sprint(int(r.Fault.RetryAfter / time.Second))
		}
	case looptest.FaultCut:
		f.Kind = scripted.FaultTruncate
		if len(r.Calls) > 0 {
			f.Kind = scripted.FaultHalfCall
		}
	case looptest.FaultReset:
		f.Kind = scripted.FaultReset
	case looptest.FaultErrorFrame:
		f.Kind = scripted.FaultErrorFrame
	case looptest.FaultGarbage:
		f.Kind = scripted.FaultGarbage
	case looptest.FaultHang:
		f.Kind = scripted.FaultHang
	default:
		t.Fatalf("the fault %q has no translation", r.Fault.Kind)
	}
	return &f
}

func TestScenarioNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range looptest.Cases() {
		if seen[c.Name] || c.Name == "" || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz_") != "" {
			t.Errorf("the name %q is taken, or not fit for a file", c.Name)
		}
		seen[c.Name] = true
		for i, r := range c.Replies {
			if f := r.Fault; f != nil && f.Times < 1 {
				t.Errorf("%s: reply %d: the fault strikes %d times", c.Name, i, f.Times)
			}
		}
	}
}

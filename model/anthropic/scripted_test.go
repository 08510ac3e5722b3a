package anthropic_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/looptest"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// start starts a strict server of the wire, and makes a client for it.
func start(t *testing.T, s *scripted.Scenario, change ...func(*anthropic.Config)) (*scripted.Server, *wire.Client) {
	t.Helper()
	s.Server.Wires = []scripted.Wire{scripted.WireAnthropic}
	server, err := scripted.Start(context.WithoutCancel(t.Context()), s, scripted.Config{Token: "sk-scripted"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := anthropic.Config{Config: wire.Config{BaseURL: server.URL(), Provider: "house"}}
	withKey("sk-scripted")(&cfg)
	client := wiretest.Open(t, anthropic.New, cfg, change...)
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, client
}

// The suite again, played by a server that is stricter than Anthropic's. What it
// cannot say is said by the player.
func TestConformanceStrict(t *testing.T) {
	t.Parallel()
	looptest.Run(t, func(t *testing.T, s looptest.Scenario) loop.Model {
		t.Helper()
		switch s.Name {
		case "empty", "filtered", "unknown_finish":
			return play(t, s)
		}
		played := &scripted.Scenario{Name: s.Name}
		user, turn := 1, 0
		for _, r := range s.Replies {
			played.Replies = append(played.Replies, replyOf(r, user, turn))
			if len(r.Calls) > 0 {
				turn++
			} else {
				user, turn = user+1, 0
			}
		}
		_, client := start(t, played)
		return client
	})
}

// replyOf is a reply in the scripted server's words.
func replyOf(r looptest.Reply, user, turn int) scripted.Reply {
	out := scripted.Reply{User: user, Turn: &turn, Reasoning: r.Reasoning, Text: r.Text, Finish: r.Finish}
	for _, c := range r.Calls {
		out.Calls = append(out.Calls, scripted.Call{Name: c.Name, Raw: &c.Args})
	}
	if u := r.Usage; u != (plan.Usage{}) {
		out.Usage = &scripted.Usage{Input: u.Input, Cached: u.Cached, Output: u.Output, Reasoning: u.Reasoning}
	}
	if r.Fault == nil {
		return out
	}
	kinds := map[looptest.FaultKind]scripted.FaultKind{
		looptest.FaultStatus:     scripted.FaultStatus,
		looptest.FaultCut:        scripted.FaultTruncate,
		looptest.FaultReset:      scripted.FaultReset,
		looptest.FaultErrorFrame: scripted.FaultErrorFrame,
		looptest.FaultGarbage:    scripted.FaultGarbage,
		looptest.FaultHang:       scripted.FaultHang,
	}
	out.Fault = &scripted.Fault{Kind: kinds[r.Fault.Kind], Times: &r.Fault.Times, Status: r.Fault.Status}
	if r.Fault.RetryAfter > 0 {
		out.Fault.RetryAfter = strings.TrimSuffix(r.Fault.RetryAfter.Round(time.Second).String(), "s")
	}
	if code := r.Fault.Code; code != "" {
		out.Fault.Body = `{"type":"error","error":{"type":"` + code + `","message":"It did not work."}}`
	}
	return out
}

// A strict server takes what is made of what it refuses.
func TestGateways(t *testing.T) {
	t.Parallel()
	half := 0.5
	second := 1
	refuses := map[string]func(*loop.Call){
		"cache_control":        nil,
		"thinking":             nil,
		"thinking.display":     nil,
		"output_config":        nil,
		"output_config.effort": nil,
		"output_config.format": nil,
		"metadata":             nil,
		"repeated_roles":       nil,
		"images":               nil,
		"schema:oneOf":         func(c *loop.Call) { c.Format = nil },
		"temperature":          func(c *loop.Call) { c.Settings = loop.Settings{Temperature: &half} },
		"output_config.effort=max": func(c *loop.Call) {
			c.Settings.Effort = "max"
		},
	}
	for name, change := range refuses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := start(t, &scripted.Scenario{
				Server: scripted.Gateway{Refuses: []string{name}},
				Replies: []scripted.Reply{
					{Turn: &second, Text: "Done."},
					{Reasoning: "Look first.", Text: "I look.", Calls: []scripted.Call{{Name: "read"}, {Name: "read"}}},
				},
			}, func(c *anthropic.Config) { c.Structured = wire.StructuredSchema })
			call := loop.Call{
				Shared: loop.Shared{Tools: 1, Blocks: 1},
				Model:  "claude-opus-4-7",
				System: "be good",
				Tools: []loop.Spec{
					{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}}}`)},
				},
				Messages: []plan.Message{
					{Role: plan.RoleUser, Blocks: slices.Concat(plan.UserText("a").Blocks, plan.UserText("b").Blocks)},
					conversation()[len(conversation())-1],
				},
				Settings: loop.Settings{Effort: "high", LongCache: true},
				Format:   &loop.Format{Name: "v", Schema: json.RawMessage(`{"type":"object"}`)},
				Metadata: map[string]string{"user_id": "u"},
			}
			if change != nil {
				change(&call)
			}
			first, err := client.Generate(t.Context(), call, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(first.Adjusted) == 0 {
				t.Error("nothing was adjusted")
			}
			results := plan.Message{Role: plan.RoleTool}
			for _, c := range first.Message.Calls() {
				results.Blocks = append(
					results.Blocks,
					plan.Block{Type: plan.BlockToolResult, Call: c.Call, Name: c.Name, Text: "ok"},
				)
			}
			call.Messages = slices.Concat(call.Messages, []plan.Message{first.Message, results})
			answer, err := client.Generate(t.Context(), call, nil)
			if err != nil || answer.Message.Text() != "Done." {
				t.Fatalf("answer %+v, %v", answer, err)
			}
			if diff := cmp.Diff([]plan.Adjusted(nil), answer.Adjusted); diff != "" {
				t.Errorf("adjusted again:\n%s", diff)
			}
			if n := len(server.Requests()); n > 2+len(first.Adjusted) {
				t.Errorf("%d requests, %d adjusted", n, len(first.Adjusted))
			}
		})
	}
}

// TestConversationsShareTheirBeginning: a server that keeps what is marked has read what another
// conversation of the run began with: the tools that both have, and where they have the same,
// system prompt and head too. It is so where it takes marks on blocks only.
func TestConversationsShareTheirBeginning(t *testing.T) {
	t.Parallel()
	spec := func(name string) loop.Spec {
		return loop.Spec{Name: name, Description: strings.Repeat("It does much. ", 100)}
	}
	explore := []loop.Spec{spec("read"), spec("grep")}
	implement := append(slices.Clone(explore), spec("write"))
	marked := loop.Shared{Tools: len(explore), Blocks: 1}
	for name, test := range map[string]struct {
		refuses   []string
		shared    loop.Shared
		all, some bool // the head, the tools that both have
	}{
		"marked":             {shared: marked, all: true, some: true},
		"without a mark":     {},
		"on blocks only":     {shared: marked, refuses: []string{"cache_control"}, all: true},
		"nothing is shared ": {refuses: []string{"cache_control"}},
	} {
		_, client := start(t, &scripted.Scenario{
			Server:  scripted.Gateway{Refuses: test.refuses},
			Replies: []scripted.Reply{{Text: "Done."}},
		})
		cached := func(tools []loop.Spec, own string) int64 {
			head := plan.UserText(strings.Repeat("What all are told. ", 100))
			head.Blocks = append(head.Blocks, plan.UserText(own).Blocks...)
			answer, err := client.Generate(t.Context(), loop.Call{
				Model:    "claude-opus-4-7",
				System:   strings.Repeat("Be good. ", 100),
				Tools:    tools,
				Messages: []plan.Message{head},
				Shared:   test.shared,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return answer.Usage.Cached
		}
		first, all, some := cached(explore, "Explore."), cached(explore, "Review."), cached(implement, "Implement.")
		const withHead, toolsAlone = 1300, 500 // tokens
		if first != 0 || all > withHead != test.all || some > toolsAlone != test.some || some > withHead {
			t.Errorf("%s: from the cache are %d tokens of the first, %d of one with its tools, %d of one with more",
				name, first, all, some)
		}
	}
}

package wiretest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
)

// Conform checks that a wire is as its row says, against the scripted server,
// which has to speak it: a conversation with tools, the failures of a server, the
// list of models, and where the key is sent. What a wire has to do for every
// answer that there can be, the package looptest says.
func Conform(t *testing.T, kind wire.Kind) {
	t.Helper()
	t.Run("conversation", func(t *testing.T) {
		t.Parallel()
		conformConversation(t, kind)
	})
	t.Run("failures", func(t *testing.T) {
		t.Parallel()
		conformFailures(t, kind)
	})
	t.Run("models", func(t *testing.T) {
		t.Parallel()
		_, client := start(t, kind, "")
		offers, err := client.Models(t.Context())
		if err != nil || len(offers) != 1 || offers[0].Name != scripted.Model {
			t.Errorf("offered are %+v, %v", offers, err)
		}
	})
}

// keyHeaders are where each way to authenticate has the key.
var keyHeaders = map[string]string{
	wire.AuthBearer:  "Authorization",
	wire.AuthAPIKey:  "Api-Key",
	wire.AuthXAPIKey: "X-Api-Key",
}

// start starts a server that speaks the wire, and opens a client for it. Key is
// what the client has as its key; "" is the right one.
func start(
	t *testing.T, kind wire.Kind, key string, replies ...scripted.Reply,
) (*scripted.Server, *wire.Client) {
	t.Helper()
	if len(replies) == 0 {
		replies = []scripted.Reply{{Text: "Done."}}
	}
	server, err := scripted.Start(context.WithoutCancel(t.Context()), &scripted.Scenario{
		Server:  scripted.Gateway{Wires: []scripted.Wire{scripted.Wire(kind.Name)}},
		Replies: replies,
	}, scripted.Config{})
	if err != nil {
		t.Fatalf("the scripted server: %v", err)
	}
	if key == "" {
		key = server.Key()
	}
	client, err := kind.Open(wire.Config{
		BaseURL: server.URL(),
		Key:     Key(key),
		Auth:    kind.Auth,
	}, func(string) wire.Model { return wire.Model{} })
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, client
}

func conformConversation(t *testing.T, kind wire.Kind) {
	t.Helper()
	first := 0
	server, client := start(t, kind, "", scripted.Reply{
		Turn:      &first,
		Reasoning: "Look first.",
		Text:      "I look.",
		Calls:     []scripted.Call{{Name: "read"}, {Name: "read"}},
	}, scripted.Reply{Text: "Done."})
	call := Call(scripted.Model, "Go.")
	call.System = "Be good."
	call.Tools = []loop.Spec{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}}
	answer, err := client.Generate(t.Context(), call, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Stop != loop.StopTools || answer.Message.Text() != "I look." || len(answer.Message.Calls()) != 2 {
		t.Fatalf("the first answer is %+v", answer)
	}
	results := plan.Message{Role: plan.RoleTool}
	for _, c := range answer.Message.Calls() {
		results.Blocks = append(results.Blocks, plan.Block{
			Type: plan.BlockToolResult,
			Call: c.Call,
			Name: c.Name,
			Text: "ok",
		})
	}
	call.Messages = append(call.Messages, answer.Message, results)
	answer, err = client.Generate(t.Context(), call, nil)
	if err != nil || answer.Stop != loop.StopEnd || answer.Message.Text() != "Done." {
		t.Fatalf("the second answer is %+v, %v", answer, err)
	}
	sent := server.Requests()
	if len(sent) != 2 {
		t.Errorf("%d requests, want 2: %s", len(sent), sent[0].Body)
	}
	for _, s := range sent {
		if string(s.Wire) != kind.Name || s.KeyHeader != keyHeaders[kind.Auth] {
			t.Errorf("sent over %s with the key in %s", s.Wire, s.KeyHeader)
		}
		for _, field := range kind.Fields {
			if Field(t, string(s.Body), field) == "" {
				t.Errorf("a request has no %s, which its row says it has: %s", field, s.Body)
			}
		}
	}
}

func conformFailures(t *testing.T, kind wire.Kind) {
	t.Helper()
	const wait = 7 * time.Second
	once := 1
	_, client := start(t, kind, "", scripted.Reply{Text: "Done.", Fault: &scripted.Fault{
		Kind:       scripted.FaultStatus,
		Status:     http.StatusTooManyRequests,
		RetryAfter: "7",
		Times:      &once,
	}})
	call := Call(scripted.Model, "Go.")
	_, err := client.Generate(t.Context(), call, nil)
	if failed := ModelError(t, err, loop.ErrRateLimit); failed.RetryAfter != wait {
		t.Errorf("retry after %s, want %s", failed.RetryAfter, wait)
	}
	if answer, err := client.Generate(t.Context(), call, nil); err != nil || answer.Message.Text() != "Done." {
		t.Errorf("the answer after it is %+v, %v", answer, err)
	}
	_, stranger := start(t, kind, "sk-wrong")
	_, err = stranger.Generate(t.Context(), call, nil)
	_ = ModelError(t, err, loop.ErrAuth)
	for kindOf, want := range map[scripted.FaultKind]loop.ErrorKind{
		scripted.FaultTruncate:   loop.ErrServed,
		scripted.FaultReset:      loop.ErrServed,
		scripted.FaultErrorFrame: loop.ErrServed,
		scripted.FaultGarbage:    loop.ErrServed,
	} {
		_, client := start(
			t,
			kind,
			"",
			scripted.Reply{Text: "It begins like this.", Fault: &scripted.Fault{Kind: kindOf}},
		)
		_, err := client.Generate(t.Context(), call, nil)
		_ = ModelError(t, err, want)
	}
}

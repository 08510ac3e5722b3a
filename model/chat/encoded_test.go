package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// What is kept of a message is only taken for one that says the same.
func TestKeptEncodings(t *testing.T) {
	t.Parallel()
	client, err := newProtocol(Config{Caps: func(model string) Caps { return Caps{SendReasoning: model == "thinks"} }})
	if err != nil {
		t.Fatal(err)
	}
	sent := func(model string, refused wire.Mends, messages ...plan.Message) string {
		t.Helper()
		body, err := client.Encode(loop.Call{Model: model, Messages: messages}, refused)
		if err != nil {
			t.Fatal(err)
		}
		said := body.Body
		data := bytes.Join(said, nil)
		optional := slices.ContainsFunc(
			body.Optional,
			func(o wire.Optional) bool { return o.Part == partReasoning && !o.Missing },
		)
		if refused == nil && optional != strings.Contains(string(data), partReasoning) {
			t.Errorf("optional %v of %s", body.Optional, data)
		}
		return string(data)
	}
	said := plan.Message{
		Role:   plan.RoleAssistant,
		Blocks: []plan.Block{{Type: plan.BlockReasoning, Text: "hm"}, {Type: plan.BlockText, Text: "one"}},
	}
	for range 2 {
		if got := sent("m", nil, said); strings.Contains(got, "hm") || !strings.Contains(got, "one") {
			t.Errorf("to a model that is not sent reasoning: %s", got)
		}
		if got := sent("thinks", nil, said); !strings.Contains(got, "hm") {
			t.Errorf("to one that is: %s", got)
		}
		if got := sent("thinks", wire.Mends{partReasoning: ""}, said); strings.Contains(got, "hm") {
			t.Errorf("to one that refused it: %s", got)
		}
	}
	called := plan.Message{
		Role:   plan.RoleAssistant,
		Blocks: []plan.Block{{Type: plan.BlockToolCall, Call: "c", Opaque: json.RawMessage(`{"sig":"a"}`)}},
	}
	_ = sent("m", nil, called)
	called.Blocks[0].Opaque[8] = 'b'
	if got := sent("m", nil, called); !strings.Contains(got, `"sig":"b"`) {
		t.Errorf("what only the provider knows, changed in place: %s", got)
	}
	said.Blocks[1].Text = "two"
	if got := sent("m", nil, said); !strings.Contains(got, "two") {
		t.Errorf("changed in place: %s", got)
	}
}

// Two conversations that begin with the same messages may go on at once: each
// sends its own.
func TestForksAtOnce(t *testing.T) {
	t.Parallel()
	client, err := newProtocol(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var forks sync.WaitGroup
	for i := range 4 {
		forks.Go(func() {
			call := wiretest.History(3)
			begun := slices.Clip(call.Messages)
			for j := range 300 {
				own := fmt.Sprintf("fork %d.%d", i, j)
				call.Messages = append(begun, plan.UserText(own)) // cuts what another fork has kept
				body, err := client.Encode(call, nil)
				if err != nil {
					t.Error(err)
					return
				}
				data := bytes.Join(body.Body, nil)
				if !bytes.Contains(data, []byte(own)) || bytes.Count(data, []byte("fork ")) != 1 {
					t.Errorf("%s sends %s", own, data)
					return
				}
			}
		})
	}
	forks.Wait()
}

// A conversation may go back to an earlier message and go on otherwise, or have
// its middle changed: what is sent is as if nothing were kept.
func TestTranscriptsFollowTheConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		client, err := newProtocol(Config{})
		if err != nil {
			t.Fatal(err)
		}
		check := func(messages []plan.Message) {
			fresh, err := newProtocol(Config{})
			if err != nil {
				t.Fatal(err)
			}
			var out [2]string
			for i, c := range []*protocol{client, fresh} {
				body, err := c.Encode(loop.Call{Messages: messages}, nil)
				if err != nil {
					t.Fatal(err)
				}
				said := body.Body
				out[i] = string(bytes.Join(said, nil))
			}
			if out[0] != out[1] {
				t.Fatalf("with what is kept: %s\nwithout: %s", out[0], out[1])
			}
		}
		talks := make([][]plan.Message, 3)
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			i := rapid.IntRange(0, 2).Draw(t, "talk")
			talk := talks[i][:rapid.IntRange(0, len(talks[i])).Draw(t, "cut")]
			for range rapid.IntRange(0, 3).Draw(t, "new") {
				talk = append(slices.Clip(talk), rapid.SampledFrom([]plan.Message{
					plan.UserText("a"),
					plan.UserText("b"),
					{Role: plan.RoleAssistant},
					{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: "said"}}},
				}).Draw(t, "message"))
			}
			talks[i] = talk
			check(talk)
		}
	})
}

package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// What is written by hand is what the SDK's types write.
func TestBlocksAreTheSDKs(t *testing.T) {
	t.Parallel()
	result := sdk.NewToolResultBlock("c", "two", true)
	image := sdk.NewImageBlockBase64("image/png", "AAAA")
	for _, tt := range []struct {
		block any
		role  string
		want  sdk.ContentBlockParamUnion
	}{
		{text{"é \"x\"", typeText}, "user", sdk.NewTextBlock("é \"x\"")},
		{thinking{"s+/=", "hm", typeThinking}, "assistant", sdk.NewThinkingBlock("s+/=", "hm")},
		{redacted{"d", typeRedacted}, "assistant", sdk.NewRedactedThinkingBlock("d")},
		{
			toolUse{ID: "c", Input: json.RawMessage(`{"z":1,"a":2.0}`), Name: "read", Type: typeToolUse},
			"assistant",
			sdk.NewToolUseBlock("c", json.RawMessage(`{"z":1,"a":2.0}`), "read"),
		},
		{toolResult{Call: "c", Error: true, Content: []any{text{"two", typeText}}, Type: typeToolResult}, "user", result},
		{
			toolResult{Call: "c", Content: []any{toolReference{"mcp__a__b", typeReference}}, Type: typeToolResult},
			"user",
			sdk.ContentBlockParamUnion{OfToolResult: &sdk.ToolResultBlockParam{
				ToolUseID: "c",
				Content: []sdk.ToolResultBlockParamContentUnion{{
					OfToolReference: &sdk.ToolReferenceBlockParam{ToolName: "mcp__a__b"},
				}},
			}},
		},
		{
			toolResult{Call: "c", Type: typeToolResult},
			"user",
			sdk.ContentBlockParamUnion{OfToolResult: &sdk.ToolResultBlockParam{ToolUseID: "c"}},
		},
		{struct {
			Source imageSource `json:"source"`
			Type   string      `json:"type"`
		}{imageSource{"AAAA", "image/png", "base64"}, typeImage}, "user", image},
	} {
		got, err := plan.MarshalCompact(message{Content: []any{tt.block}, Role: tt.role})
		if err != nil {
			t.Fatal(err)
		}
		want, err := plan.MarshalCompact(sdk.MessageParam{
			Content: []sdk.ContentBlockParamUnion{tt.want},
			Role:    sdk.MessageParamRole(tt.role),
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("block is\n%s, the SDK's is\n%s", got, want)
		}
	}
	for _, tt := range []struct {
		mark  []byte
		cache sdk.CacheControlEphemeralParam
	}{
		{mark, sdk.NewCacheControlEphemeralParam()},
		{markHour, sdk.CacheControlEphemeralParam{TTL: sdk.CacheControlEphemeralTTLTTL1h}},
	} {
		want, err := plan.MarshalCompact(tt.cache)
		if err != nil || string(tt.mark) != `,"cache_control":`+string(want) {
			t.Errorf("mark is %s, the SDK's is %s, %v", tt.mark, want, err)
		}
	}
}

func TestCallID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	seen := map[string]string{}
	for _, id := range []string{"toolu_01AbC-d", "", "call|1", "call/1", "call_1", "é", long, long + "y", strings.Repeat("|", 70)} {
		got := callID(id)
		if !plain(got) || len(got) > longestID || got != callID(id) || seen[got] != "" {
			t.Errorf("the id %q is %q, which is also that of %q", id, got, seen[got])
		}
		if plain(id) && len(id) <= longestID && got != id {
			t.Errorf("the id %q became %q", id, got)
		}
		seen[got] = id
	}
}

// BenchmarkRequest is what building a request costs with a short and a long
// history of reads. Each sends the whole history; what was said before has been
// encoded before, unless a client is new, which encodes all of it.
func BenchmarkRequest(b *testing.B) {
	for _, turns := range []int{20, 200} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			p := newTest(b)
			wiretest.Encode(b, wiretest.History(turns), nil, func() wire.Protocol { return p })
		})
		b.Run(fmt.Sprint(turns, "-marked"), func(b *testing.B) {
			p := newTest(b)
			wiretest.Encode(b, wiretest.History(turns), wire.Mends{partCache: onBlocks}, func() wire.Protocol { return p })
		})
		b.Run(fmt.Sprint(turns, "-anew"), func(b *testing.B) {
			wiretest.Encode(b, wiretest.History(turns), nil, func() wire.Protocol { return newTest(b) })
		})
	}
}

// BenchmarkAnswer is what reading a long answer costs, in pieces of a word.
func BenchmarkAnswer(b *testing.B) {
	p := newTest(b)
	var stream strings.Builder
	stream.WriteString("data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\n")
	for range 1000 {
		stream.WriteString("data: {\"type\":\"content_block_delta\",\"index\":0," +
			"\"delta\":{\"type\":\"text_delta\",\"text\":\"words \"}}\n\n")
	}
	b.ReportAllocs()
	for b.Loop() {
		a := p.Begin(loop.Call{}, wire.Request{}, func(loop.Delta) {})
		for ev, err := range p.Events(strings.NewReader(stream.String())) {
			if err == nil {
				err = a.Add(ev)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func newTest(b *testing.B) *protocol {
	b.Helper()
	p, err := newProtocol(Config{})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

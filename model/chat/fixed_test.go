package chat

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// What is kept of tools and the system prompt is what the SDK writes, and only
// taken for the same ones.
func TestFixedParts(t *testing.T) {
	t.Parallel()
	client, err := newProtocol(Config{Config: wire.Config{Structured: wire.StructuredTool}})
	if err != nil {
		t.Fatal(err)
	}
	look := loop.Spec{
		Name:        "look",
		Description: "Looks <there> & \"here\".",
		Schema:      json.RawMessage(`{"z":1,"a":{"type":"object"}}`),
	}
	bare := loop.Spec{Name: "bare"}
	other := loop.Spec{Name: "look", Description: look.Description, Schema: json.RawMessage(`{"type":"object"}`)}
	calls := []loop.Call{
		{Model: "m", System: "Be <kind> & brief.", Tools: []loop.Spec{look, bare}, Settings: loop.Settings{MaxOutputTokens: 7}},
		{Model: "m", System: "Be kind.", Tools: []loop.Spec{other}, Metadata: map[string]string{"a": "b"}},
		{Model: "m", System: "look", Tools: []loop.Spec{bare}, Format: &loop.Format{Name: "look", Schema: look.Schema}},
		{Model: "m"},
		{Tools: []loop.Spec{bare}},
		{},
	}
	for range 2 {
		for i, call := range calls {
			var mends wire.Mends
			if call.Model == "" { // so that some have nothing else in them
				mends = wire.Mends{partUsage: ""}
			}
			b, err := client.Encode(call, mends)
			if err != nil {
				t.Fatal(err)
			}
			said := b.Body
			whole := sdk.ChatCompletionNewParams{Model: call.Model, Messages: []sdk.ChatCompletionMessageParamUnion{}}
			client.settings(&whole, &wire.Optionals{Mends: mends}, call)
			if call.System != "" {
				whole.Messages = []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage(call.System)}
			}
			specs := call.Tools
			if call.Format != nil {
				specs = append(
					specs,
					loop.Spec{Name: call.Format.Name, Description: "Give the final answer.", Schema: call.Format.Schema},
				)
			}
			for _, s := range specs {
				whole.Tools = append(whole.Tools, functionTool(s))
			}
			want, err := plan.MarshalCompact(whole)
			if err != nil {
				t.Fatal(err)
			}
			got := string(bytes.Join(said, nil))
			if want := strings.TrimSuffix(string(want), "}") + `,"stream":true}`; got != want {
				t.Errorf("call %d is\n%s\nwant\n%s", i, got, want)
			}
		}
	}
	broken := loop.Call{Tools: []loop.Spec{{Name: "broken", Schema: json.RawMessage(`{`)}}}
	if _, err := client.Encode(broken, nil); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a schema that is no JSON: %v", err)
	}
}

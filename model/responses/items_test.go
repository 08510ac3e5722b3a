package responses_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// longCall is what stands for a call id that is too long.
const longCall = "h_6fe5981a314622bb624db8ecb4fdcd5b"

func TestInput(t *testing.T) {
	t.Parallel()
	want := []string{
		`{"type":"message","role":"user","content":"look <here>"}`,
		`{"encrypted_content":"gA<=","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"type":"reasoning"}`,
		`{"type":"message","id":"msg_1","role":"assistant","status":"completed",` +
			`"content":[{"type":"output_text","text":"reading","annotations":[]}],"phase":"commentary"}`,
		`{"encrypted_content":"gB","id":"rs_2","status":"completed","summary":[],"type":"reasoning"}`,
		`{"type":"function_call","id":"fc_1","call_id":"a","name":"read","arguments":"{\"path\" : \"x\"","namespace":"n"}`,
		`{"type":"function_call","call_id":"b","name":"read","arguments":""}`,
		`{"type":"function_call_output","call_id":"a","output":"one"}`,
		`{"type":"function_call_output","call_id":"b","output":"two"}`,
		`{"type":"message","role":"user","content":"go"}`,
		`{"type":"message","role":"user","content":"on"}`,
		`{"type":"message","role":"assistant","content":"first","phase":"final_answer"}`,
		`{"type":"message","role":"assistant","content":"second"}`,
		`{"type":"function_call","call_id":"` + longCall + `","name":"functions_read_file","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"` + longCall + `","output":""}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"this"},` +
			`{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"}]}`,
	}
	if diff := cmp.Diff(want, sentItems(t, conversation())); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}

	// Where some of an answer's reasoning cannot go back, no ids do.
	all := conversation()
	all[1].Blocks[2].Opaque = sealed(`{"id":"rs_2","summary":[]}`)
	want[2] = `{"type":"message","role":"assistant","content":"reading","phase":"commentary"}`
	want[4] = strings.Replace(want[4], `"id":"fc_1",`, "", 1)
	if diff := cmp.Diff(append(want[:3:3], want[4:]...), sentItems(t, all)); diff != "" {
		t.Errorf("input without ids (-want +got):\n%s", diff)
	}
}

// sentItems are the items that messages are sent as.
func sentItems(t *testing.T, messages []plan.Message, config ...func(*responses.Config)) []string {
	t.Helper()
	f := wiretest.ServeText(t, "text/event-stream", sse(completed))
	if _, err := clientOf(t, f, config...).Generate(t.Context(), loop.Call{Model: "m", Messages: messages}, nil); err != nil {
		t.Fatal(err)
	}
	return inputOf(t, f.Body(t, 0))
}

// Another provider sees none of what an answer came with.
func TestOthersSeeNothing(t *testing.T) {
	t.Parallel()
	got := strings.Join(sentItems(t, conversation(), func(c *responses.Config) { c.Provider = "elsewhere" }), "\n")
	for _, secret := range []string{"rs_", "gA", "gB", "gC", "msg_", "fc_", "commentary", "namespace", "hm"} {
		if strings.Contains(got, secret) {
			t.Errorf("another provider is sent %q:\n%s", secret, got)
		}
	}
}

// The items are written by types of our own. This is what the SDK writes.
func TestInputIsThatOfTheSDK(t *testing.T) {
	t.Parallel()
	got := sentItems(t, conversation())
	said := sdk.ResponseInputItemUnionParam{OfOutputMessage: &sdk.ResponseOutputMessageParam{
		ID:     "msg_1",
		Status: sdk.ResponseOutputMessageStatusCompleted,
		Phase:  sdk.ResponseOutputMessagePhaseCommentary,
		Content: []sdk.ResponseOutputMessageContentUnionParam{{OfOutputText: &sdk.ResponseOutputTextParam{
			Text:        "reading",
			Annotations: []sdk.ResponseOutputTextAnnotationUnionParam{},
		}}},
	}}
	thought := sdk.ResponseInputItemUnionParam{OfReasoning: &sdk.ResponseReasoningItemParam{
		ID:               "rs_1",
		Summary:          []sdk.ResponseReasoningItemSummaryParam{{Text: "hm"}},
		EncryptedContent: param.NewOpt("gA<="),
	}}
	easy := sdk.EasyInputMessageParam{
		Role:    sdk.EasyInputMessageRoleAssistant,
		Type:    sdk.EasyInputMessageTypeMessage,
		Phase:   sdk.EasyInputMessagePhaseFinalAnswer,
		Content: sdk.EasyInputMessageContentUnionParam{OfString: param.NewOpt("first")},
	}
	image := sdk.ResponseInputItemParamOfMessage(sdk.ResponseInputMessageContentListParam{
		sdk.ResponseInputContentParamOfInputText("this"),
		{OfInputImage: &sdk.ResponseInputImageParam{
			Detail:   sdk.ResponseInputImageDetailAuto,
			ImageURL: param.NewOpt("data:image/png;base64,AAAA"),
		}},
	}, sdk.EasyInputMessageRoleUser)
	image.OfMessage.Type = sdk.EasyInputMessageTypeMessage
	result := sdk.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt("a")}
	result.Output.OfString = param.NewOpt("one")
	for n, want := range map[int]sdk.ResponseInputItemUnionParam{
		1:  thought,
		2:  said,
		5:  sdk.ResponseInputItemParamOfFunctionCall("", "b", "read"),
		6:  {OfFunctionCallOutput: &result},
		10: {OfMessage: &easy},
		14: image,
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, got[n], string(data)) {
			t.Errorf("item %d is\n%s\nthe SDK writes\n%s", n, got[n], data)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("not JSON: %s, %s", a, b)
	}
	return reflect.DeepEqual(x, y)
}

package responses_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// refusal is a request that a server does not take while something is in it.
type refusal struct {
	name    string
	has     string // what the request has, as it stands in the body
	status  int    // default 400
	text    string
	part    string // what is said to be mended
	becomes string // what the request has then
	also    []string
}

// refusals are in the words of OpenAI, Azure, xAI and servers that check strictly.
var refusals = []refusal{
	{
		name: "summary", has: `"summary":"auto"`, part: "reasoning.summary", becomes: `"reasoning":{"effort":"low"}`,
		text: `{"error":{"message":"Your organization must be verified to generate reasoning summaries. Please go to: ` +
			`https://platform.openai.com/settings/organization/general and click on Verify Organization.",` +
			`"type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`,
	},
	{
		name: "stream", has: `"stream":true`, part: "stream", becomes: `"stream":false`,
		text: `{"error":{"message":"Your organization must be verified to stream this model.","type":"invalid_request_error",` +
			`"param":"stream","code":"unsupported_value"}}`,
	},
	{
		name: "effort", has: `"effort":"low"`, part: "reasoning.effort", becomes: `"reasoning":{"summary":"auto"}`,
		text: `{"error":{"message":"Unsupported value: 'low' is not supported with the 'm' model. Supported values are: 'medium'.",` +
			`"type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_value"}}`,
	},
	{
		name: "all reasoning", has: `"reasoning":{`, part: "reasoning.effort", also: []string{"reasoning.summary"},
		text: `{"error":{"message":"Unknown parameter: 'reasoning'.","type":"invalid_request_error","param":"reasoning"}}`,
	},
	{
		name: "include", has: `"include":[`, part: "include",
		text: `{"error":{"message":"Encrypted content is not supported with this model.",` +
			`"type":"invalid_request_error","param":"include"}}`,
		also: []string{"reasoning items"},
	},
	{
		name: "temperature", has: `"temperature":`, part: "temperature",
		text: `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature"}}`,
	},
	{
		name: "cache key", has: `"prompt_cache_key":`, part: "prompt_cache_key", status: http.StatusUnprocessableEntity,
		text: `{"detail":[{"type":"extra_forbidden","loc":["body","prompt_cache_key"],"msg":"Extra inputs are not permitted"}]}`,
	},
	{
		name: "metadata", has: `"metadata":`, part: "metadata",
		text: `{"error":{"message":"The 'metadata' parameter is only allowed when 'store' is enabled."}}`,
	},
	{
		name: "store", has: `"store":false`, part: "store",
		text: `{"error":{"message":"Unsupported parameter: 'store' is not supported with this model.","param":"store"}}`,
	},
	{
		name: "schema keywords", has: `"maximum":9007199254740993`, part: "schema keywords", becomes: `"limit":{}`,
		text: `{"error":{"message":"Unsupported schema keyword 'maximum'.","code":400}}`,
	},
	{
		name: "strict", has: `"strict":false`, part: "strict",
		text: `{"error":"Unknown parameter: 'tools[0].strict'."}`,
	},
	{
		name: "format", has: `"format":`, part: "text.format",
		text: `{"error":{"message":"Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model."}}`,
	},
	{
		name: "the limit", has: `"max_output_tokens":90000`, part: wire.PartOutput, becomes: `"max_output_tokens":8192`,
		text: `{"error":{"message":"max_output_tokens is too large: 90000. This model supports at most 8192 completion tokens."}}`,
	},
	{
		name: "any limit", has: `"max_output_tokens":`, part: wire.PartOutput,
		text: `{"detail":"Unsupported parameter: max_output_tokens"}`,
	},
	{
		name: "what was encrypted", has: `"encrypted_content":"gA`, part: "reasoning items",
		text: `{"error":{"message":"The encrypted content gAAA...Q== could not be verified.","type":"invalid_request_error",` +
			`"param":null,"code":"invalid_encrypted_content"}}`,
	},
	{
		name: "what is not there", has: `"id":"rs_1"`, part: "reasoning items", status: http.StatusNotFound,
		text: `{"error":{"message":"Item with id 'rs_1' not found. Items are not persisted when ` + "`store`" + ` is set to false. ` +
			`Try again with ` + "`store`" + ` set to true, or remove this item from your input.",` +
			`"type":"invalid_request_error","param":"input"}}`,
	},
	{
		name: "reasoning by itself", has: `"id":"rs_1"`, part: "reasoning items",
		text: `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.",` +
			`"type":"invalid_request_error","param":"input","code":null}}`,
	},
	{
		name: "ids", has: `"id":"msg_1"`, part: "item ids",
		text: `{"error":{"message":"Invalid 'input[2].id': 'msg_1'. Expected an ID that begins with 'item'.",` +
			`"type":"invalid_request_error","param":"input[2].id","code":"invalid_value"}}`,
	},
	{
		name: "phase", has: `"phase":"commentary"`, part: "phase",
		text: `{"error":{"message":"Unknown parameter: 'input[2].phase'.","param":"input[2].phase","code":"unknown_parameter"}}`,
	},
	{
		name: "what the provider added", has: `"namespace":"n"`, part: "namespace",
		text: `{"error":{"message":"Unknown parameter: 'input[4].namespace'.","param":"input[4].namespace"}}`,
	},
}

func TestMended(t *testing.T) {
	t.Parallel()
	temperature := 0.5
	req := loop.Call{
		Model:    "m",
		Messages: conversation(),
		Tools:    []loop.Spec{readTool},
		Settings: loop.Settings{Temperature: &temperature, Effort: "low", MaxOutputTokens: 90000},
		Format:   &verdict,
		Headers:  map[string]string{"X-Plan-Run": "01J", "X-Plan-Phase": "plan"},
		Metadata: map[string]string{"a": "b"},
	}
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.status == 0 {
				tt.status = http.StatusBadRequest
			}
			f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, body string) {
				switch {
				case strings.Contains(body, tt.has):
					w.WriteHeader(tt.status)
					fmt.Fprint(w, tt.text)
				case strings.Contains(body, `"stream":false`):
					fmt.Fprint(w, `{"object":"response","status":"completed","output":[],"error":null}`)
				default:
					fmt.Fprint(w, sse(completed))
				}
			})
			client := clientOf(t, f)
			answer, err := client.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, a := range answer.Adjusted {
				parts = append(parts, a.Part)
			}
			slices.Sort(parts)
			want := append(slices.Clone(tt.also), tt.part)
			slices.Sort(want)
			if diff := cmp.Diff(want, parts); diff != "" {
				t.Errorf("mended parts (-want +got):\n%s", diff)
			}
			if last := f.Body(t, f.Count()-1); !strings.Contains(last, tt.becomes) {
				t.Errorf("there is no %s in %s", tt.becomes, last)
			}
			kept(t, f.Body(t, 0), f.Body(t, f.Count()-1), want)
			before := f.Count()
			if _, err := client.Generate(t.Context(), req, nil); err != nil || f.Count() != before+1 {
				t.Errorf("the next call made %d requests (%v), want 1", f.Count()-before, err)
			}
		})
	}
}

// kept checks that nothing was left out with what was mended.
func kept(t *testing.T, first, last string, mended []string) {
	t.Helper()
	fields := map[string]string{
		"include": `"include":`, "reasoning.summary": `"summary":"auto"`, "reasoning.effort": `"effort":"low"`,
		"temperature": `"temperature":0.5`, "schema keywords": `"maximum":`, "store": `"store":false`,
		"prompt_cache_key": `"prompt_cache_key":`, "metadata": `"metadata":`, "strict": `"strict":false`, "text.format": `"format":`,
		wire.PartOutput: `"max_output_tokens":90000`, "reasoning items": `"encrypted_content":"gA<="`, "phase": `"phase":`,
		"namespace": `"namespace":`, "stream": `"stream":true`,
	}
	for part, text := range fields {
		if !strings.Contains(first, text) {
			t.Errorf("the first request has no %s", text)
		}
		if there := strings.Contains(last, text); there == slices.Contains(mended, part) {
			t.Errorf("%s: %t in the last request: %s", text, there, last)
		}
	}
	if strings.Contains(last, `"reasoning":{}`) {
		t.Error("an empty reasoning object is sent")
	}
}

// What a request was mended of is known to the next process.
func TestKnown(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, "text/event-stream", sse(completed))
	client := clientOf(t, f, func(c *responses.Config) {
		c.Known = []plan.Adjusted{
			{Model: "m", Part: "reasoning.summary"},
			{Model: "m", Part: wire.PartOutput, To: "4096"},
			{Model: "other", Part: "include"},
		}
	})
	req := call("hi")
	req.Settings.MaxOutputTokens = 90000
	if _, err := client.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	body := f.Body(t, 0)
	if strings.Contains(body, "summary") || !strings.Contains(body, `"max_output_tokens":4096`) ||
		!strings.Contains(body, `"include"`) {
		t.Errorf("the request is %s", body)
	}
}

// A refusal that no part is named in is one.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		message string
		kind    loop.ErrorKind
	}{
		{`"message":"Provider returned error","code":400,"metadata":{"raw":"no","provider_name":"P"}`, loop.ErrRefused},
		{`"message":"Invalid schema for function 'read': no properties.","code":"invalid_function_parameters"`, loop.ErrRefused},
		{
			`"message":"No tool output found for function call call_1.","type":"invalid_request_error","param":"input"`,
			loop.ErrRefused,
		},
		{
			`"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded","param":"input"`,
			loop.ErrTooLong,
		},
	} {
		f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{%s}}`, tt.message)
		})
		req := loop.Call{
			Model:    "m",
			Messages: conversation(),
			Tools:    []loop.Spec{readTool},
			Metadata: map[string]string{"a": "b"},
		}
		_, err := clientOf(t, f).Generate(t.Context(), req, nil)
		wiretest.ModelError(t, err, tt.kind)
		if f.Count() != 1 {
			t.Errorf("%d requests after %s", f.Count(), tt.message)
		}
	}
}

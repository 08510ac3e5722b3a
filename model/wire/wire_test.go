package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// However much is said, no more is kept than the bound allows.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var h History
	for i := range 40 {
		text := fmt.Sprint(i) + strings.Repeat("x", maxKept/10)
		write := func(m plan.Message, _ *Optionals) []any { return []any{m.Text()} }
		if _, err := h.Encoded([]plan.Message{plan.UserText(text)}, "", &Optionals{}, write); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	for _, kept := range h.kept.kept {
		size += len(kept.raw)
	}
	if size > maxKept || size < maxKept/2 {
		t.Errorf("%d bytes are kept, bounded by %d", size, maxKept)
	}
}

// However many system prompts there are, no more is kept than the bound allows.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	var k Kept
	for i := range 5 {
		text := strings.Repeat(string(rune('a'+i)), maxKept/2)
		if _, err := k.System(text, func(text string) ([]byte, error) { return []byte(text), nil }); err != nil {
			t.Fatal(err)
		}
	}
	if k.size > maxKept || len(k.kept) > 2 || len(k.kept) == 0 {
		t.Errorf("%d bytes in %d parts are kept", k.size, len(k.kept))
	}
}

// A text says how long it is, as if it were not in pieces, and can be read again.
func TestTextIsOneBody(t *testing.T) {
	t.Parallel()
	text := Text{[]byte(`{"a":`), nil, []byte(`[1,2]`), []byte(`}`)}
	for range 2 {
		got, err := io.ReadAll(iotest.OneByteReader(text.Open()))
		if err != nil || string(got) != `{"a":[1,2]}` || int64(len(got)) != text.Size() {
			t.Errorf("%q, %v, size %d", got, err, text.Size())
		}
	}
}

func TestSeals(t *testing.T) {
	t.Parallel()
	mark := Seal("chat", "here", map[string]json.RawMessage{"a": json.RawMessage(`[1]`)})
	if got := Open(mark, "chat", "here"); string(got["a"]) != "[1]" {
		t.Errorf("opened %v", got)
	}
	for _, other := range [][2]string{{"chat", "there"}, {"responses", "here"}, {"", ""}} {
		if got := Open(mark, other[0], other[1]); got != nil {
			t.Errorf("%v may see %v", other, got)
		}
	}
	if Seal("chat", "here", nil) != nil || !Sealed(mark) || Sealed(json.RawMessage(`{"extra_content":{}}`)) || Sealed(nil) {
		t.Error("what is sealed cannot be told from what is not")
	}
}

// refusals are the words of servers for what does not fit a window, and for what
// is something else, with the window that they name.
var refusals = []struct {
	server string
	status int
	text   string
	kind   loop.ErrorKind
	window int64
}{
	{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9013 tokens.","code":"context_length_exceeded"}}`, loop.ErrTooLong, 8192},
	{"OpenAI Responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`, loop.ErrTooLong, 0},
	{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213123 tokens > 200000 maximum"}}`, loop.ErrTooLong, 200000},
	{"Anthropic, with the answer", 400, "{\"error\":{\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}", loop.ErrTooLong, 200000},
	{"Anthropic, bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, loop.ErrTooLong, 0},
	{"Gemini", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, loop.ErrTooLong, 1048576},
	{"Moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}`, loop.ErrTooLong, 131072},
	{"Z.ai", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, loop.ErrTooLong, 0},
	{"Copilot", 400, `{"error":{"message":"prompt token count of 140211 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, loop.ErrTooLong, 128000},
	{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages, 100 in the completion).","code":400}`, loop.ErrTooLong, 4096},
	{"vLLM, decoder", 400, `{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that max_model_len is no smaller than the number of text tokens."}`, loop.ErrTooLong, 8192},
	{"LiteLLM", 400, `{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: This model's maximum context length is 16,385 tokens.","code":"400"}}`, loop.ErrTooLong, 16385},
	{"TGI", 422, "{\"error\":\"Input validation error: `inputs` must have less than 4096 tokens. Given: 5012\",\"error_type\":\"validation\"}", loop.ErrTooLong, 4096},
	{"Together", 422, "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`\"}}", loop.ErrTooLong, 8193},
	{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, loop.ErrTooLong, 4096},
	{"LM Studio", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length"}`, loop.ErrTooLong, 0},
	{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","code":"3051"}`, loop.ErrTooLong, 32768},
	{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}`, loop.ErrTooLong, 0},
	{"xAI", 400, `{"error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}`, loop.ErrTooLong, 131072},
	{"Bedrock", 400, `{"message":"Input is too long for requested model."}`, loop.ErrTooLong, 0},
	{"DeepSeek", 400, `{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens"}}`, loop.ErrTooLong, 131072},
	{"Cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081"}`, loop.ErrTooLong, 4081},
	{"Fireworks", 400, `{"error":{"message":"The prompt is too long: 140000, model maximum context length: 131071"}}`, loop.ErrTooLong, 131071},
	{"OpenRouter", 400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (39000 of text input, 1000 in the output).","code":400}}`, loop.ErrTooLong, 32768},
	{"SGLang", 400, `{"message":"Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens"}`, loop.ErrTooLong, 32768},
	{"Ollama", 400, `{"error":"prompt too long; exceeded max context length by 1200 tokens"}`, loop.ErrTooLong, 0},
	{"Cerebras", 400, `{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","type":"invalid_request_error","code":"context_length_exceeded"}`, loop.ErrTooLong, 8192},
	{"Azure", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.","code":"context_length_exceeded"}}`, loop.ErrTooLong, 272000},
	{"Qwen", 400, `{"error":{"message":"Range of input length should be [1, 129024]","code":"invalid_parameter_error"}}`, loop.ErrTooLong, 129024},
	{"MiniMax", 400, `{"error":{"message":"invalid params, context window exceeds limit (2013)"}}`, loop.ErrTooLong, 0},
	{"HuggingFace", 422, `{"error":"Input validation error: inputs must have less than 32k tokens"}`, loop.ErrTooLong, 32000},

	{"a parameter", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","code":"unsupported_parameter"}}`, loop.ErrRefused, 0},
	{"an output limit", 400, `{"error":{"message":"max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas you provided 50000."}}`, loop.ErrRefused, 0},
	{"an image", 400, `{"error":{"message":"messages.0.content.1.image: image exceeds 5 MB maximum"}}`, loop.ErrRefused, 0},
	{"a temperature", 400, `{"error":{"message":"temperature must be less than or equal to 1"}}`, loop.ErrRefused, 0},
	{"a description", 400, `{"error":{"message":"Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024."}}`, loop.ErrRefused, 0},
	{"an id", 400, `{"error":{"message":"Invalid 'messages[2].tool_call_id': string too long. Expected maximum length 40"}}`, loop.ErrRefused, 0},
	{"tokens per minute", 429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000."}}`, loop.ErrRateLimit, 0},
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		f := classify(c.status, []byte(c.text))
		if f.Kind != c.kind || f.Window != c.window {
			t.Errorf("%s: %s with a window of %d, want %s and %d", c.server, f.Kind, f.Window, c.kind, c.window)
		}
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		name   string
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"words", nil, `{"error":{"message":"Rate limit reached. Please try again in 4s."}}`, 4 * time.Second},
		{"words with a fraction", nil, `Please try again in 1.5s. Visit https://x`, 1500 * time.Millisecond},
		{"words in milliseconds", nil, `Please try again in 250ms`, 250 * time.Millisecond},
		{"words in minutes and seconds", nil, `Please try again in 6m30s`, 390 * time.Second},
		{"long words", nil, `Please retry after 30 seconds.`, 30 * time.Second},
		{"Gemini", nil, `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, 34 * time.Second},
		{"a field", nil, `{"retry_after":5}`, 5 * time.Second},
		{"a field in milliseconds", nil, `{"retry_after_ms":"1500"}`, 1500 * time.Millisecond},
		{"a header before words", map[string]string{"Retry-After": "2"}, `try again in 9s`, 2 * time.Second},
		{"a span in the header", map[string]string{"Retry-After": "1m30s"}, ``, 90 * time.Second},
		{"a limit that is used up", map[string]string{
			"x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "7",
			"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0",
		}, ``, 6 * time.Minute},
		{"Anthropic's date", map[string]string{"anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:20Z"}, ``, 20 * time.Second},
		{"milliseconds since 1970", map[string]string{"X-RateLimit-Reset": fmt.Sprint(now.Add(time.Minute).UnixMilli())}, ``, time.Minute},
		{"seconds since 1970", map[string]string{"X-RateLimit-Reset": fmt.Sprint(now.Add(time.Minute).Unix())}, ``, time.Minute},
		{"nothing", nil, `slow down`, 0},
		{"the date of the model", nil, `gpt-4 in 2024`, 0},
	}
	for _, c := range cases {
		h := http.Header{}
		for name, value := range c.header {
			h.Set(name, value)
		}
		if got := retryAfter(h, strings.ToLower(c.body), now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestOutputLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"max_tokens is too large: 50000. this model supports at most 16384 completion tokens":                           "16384",
		"max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5":                 "8192",
		"`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the window": "8192",
		"invalid max_tokens value, the valid range of max_tokens is [1, 8192]":                                          "8192",
		"unsupported parameter: 'max_tokens'":                                                                           "",
		"prompt is too long: 213123 tokens > 200000 maximum":                                                            "",
	} {
		if got := largestOutput(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzFailure: whatever a server says, it is read in time into one line.
func FuzzFailure(f *testing.F) {
	for _, c := range refusals {
		f.Add(c.status, c.text)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		got := classify(status, []byte(text))
		if got.Kind == "" || got.Window < 0 || strings.ContainsAny(OneLine(got.Message), "\n\r") {
			t.Errorf("%+v", got)
		}
		if retryAfter(http.Header{}, strings.ToLower(text), time.Time{}) < 0 || len(got.mendable([]Optional{{Part: "x"}})) > 1 {
			t.Error("out of range")
		}
		var failed Failure
		if !errors.As(error(Reported([]byte(text))), &failed) {
			t.Error("no failure")
		}
	})
}

func TestPlainSchema(t *testing.T) {
	t.Parallel()
	got := PlainSchema(json.RawMessage(`{"type":"object","properties":{"type":{"type":["string","null"],"minLength":1},"n":{"type":"array","items":{"type":"integer","minimum":1}}},"required":["n"],"additionalProperties":false}`))
	want := `{"properties":{"n":{"items":{"type":"integer"},"type":"array"},"type":{"type":"string"}},"required":["n"],"type":"object"}`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

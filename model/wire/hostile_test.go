package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// A number in a refusal is a window only where it can be one.
func TestWindowsThatAreNone(t *testing.T) {
	t.Parallel()
	tests := map[string]int64{
		"maximum context length is 0 tokens":                                             0,
		"maximum context length is -4096 tokens":                                         0,
		"maximum context length is 10 tokens":                                            0,
		"maximum context length is 1000000000000000000000000000000 tokens":               0,
		"this exceeds the maximum context budget of $500 for your plan":                  0,
		"prompt is too long (limit changed on 2026-11-22)":                               0,
		"context length exceeded (request id: 2026112215450012345678901)":                0,
		"context length exceeded, request id req_87654321":                               0,
		"prompt is too long, see #4096, the maximum context length is 8192 tokens":       8192,
		"maximum context length is $4096 or 8192 tokens":                                 0,
		"the context of 2026-11-22 is too long: its maximum context length is 16384.":    16384,
		"maximum context length is 32768tokens":                                          32768,
		"the limit is 1,048,576 tokens":                                                  1048576,
		`{"n_ctx":4096,"n_prompt_tokens":9000}`:                                          4096,
		`{"n_ctx":40961234567890,"message":"the maximum context length is 2048 tokens"}`: 0,
	}
	for text, want := range tests {
		if got := windowIn(text, text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// The limit that a server names must be less than what was sent, or the same
// request would be made again, and enough to work with.
func TestOutputLimitsThatAreNone(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"max_tokens: 64000 > 8192":                            "8192",
		"max_tokens: 64000 > 0":                               "",
		"max_tokens: 64000 > 1":                               "",
		"max_tokens: 64000 > 64000":                           "",
		"max_tokens: 64000 > 128000":                          "",
		"max_tokens: 64000 > 1000000000000000000000000000000": "",
		"max_tokens: 64000 > -5":                              "",
	}
	for text, want := range tests {
		f := Failure{ModelError: &loop.ModelError{Kind: loop.ErrRefused, Status: 400}, text: text}
		got, _ := f.outputLimit([]Optional{{Part: "other", From: "1"}, {Part: PartOutput, From: "64000"}})
		if got.To != want {
			t.Errorf("%q: %q, want %q", text, got.To, want)
		}
	}
}

// A refusal is about the parts that it names, and about no others.
func TestMendable(t *testing.T) {
	t.Parallel()
	optional := []Optional{
		{Part: "temperature"},
		{Part: "reasoning"},
		{Part: "reasoning_effort"},
		{Part: "max_tokens", To: "max_completion_tokens", Words: []string{"max_tokens"}},
	}
	tests := []struct {
		name   string
		status int
		text   string
		want   []string
	}{
		{"one", 400, `{"error":{"message":"Unsupported value: 'temperature'"}}`, []string{"temperature"}},
		{
			"a part of a longer name",
			400,
			`{"error":{"message":"Unknown parameter: reasoning_effort"}}`,
			[]string{"reasoning_effort"},
		},
		{
			"several",
			400,
			`{"error":{"message":"Unknown: temperature, reasoning_effort"}}`,
			[]string{"temperature", "reasoning_effort"},
		},
		{"what cannot be left out", 400, `{"error":{"message":"unsupported: messages, tools, model"}}`, nil},
		{"too long, and a word on the limit", 400, `{"error":{"type":"invalid_request_error","message":"input ` +
			`length and max_tokens exceed context limit: 190000 + 20000 > 200000"}}`, nil},
		{"too long in looks", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported,` +
			` the context is at most 9000 tokens"}}`, []string{"max_tokens"}},
		{"a limit of rates", 429, `{"error":{"message":"unsupported temperature"}}`, nil},
		{"a failure", 500, `{"error":{"message":"unsupported temperature"}}`, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, part := range classify(tt.status, []byte(tt.text)).mendable(optional) {
			got = append(got, part.Part)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// What a journal says was found is taken over as far as it can be ours.
func TestRecall(t *testing.T) {
	t.Parallel()
	var m memory
	m.recall([]plan.Adjusted{
		{Model: "m", Part: "temperature"},
		{Model: "m", Part: "max_tokens", To: "max_completion_tokens"},
		{Model: "m", Part: PartOutput, To: "8192"},
		{Model: "n", Part: PartOutput, To: "-1"},
		{Model: "n", Part: PartOutput, To: "1"},
		{Model: "n", Part: PartOutput, To: "many"},
		{Model: "n", Part: plan.PartContext, To: "9"},
		{Model: "n", Part: "thinking" + once},
		{Model: "n", Part: "reasoning_effort", To: "none\",\"tools\":[\n"},
		{Model: "n", Part: "reasoning_effort", To: strings.Repeat("x", 1000)},
		{Model: "n", Part: ""},
	})
	want := Mends{"temperature": "", "max_tokens": "max_completion_tokens", PartOutput: "8192"}
	if diff := cmp.Diff(want, m.of("m")); diff != "" {
		t.Errorf("of m (-want +got):\n%s", diff)
	}
	if got := m.of("n"); len(got) > 0 {
		t.Errorf("of n: %v, want nothing", got)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		text   string
		want   loop.ErrorKind
	}{
		{400, `{"error":{"code":"invalid_prompt","message":"Your prompt was flagged as potentially violating ` +
			`our usage policy."}}`, loop.ErrFiltered},
		{
			400,
			`{"error":{"code":"invalid_prompt","message":"The prompt is too long: 9000 tokens, maximum 8192"}}`,
			loop.ErrTooLong,
		},
		{400, `{"error":{"code":"bio_policy","message":"no"}}`, loop.ErrFiltered},
		{400, `{"error":{"code":"cyber_policy","message":"no"}}`, loop.ErrFiltered},
		{403, `{"error":{"code":"misalignment_policy_violation","message":"no"}}`, loop.ErrFiltered},
		{500, `{"error":{"code":"invalid_prompt","message":"no"}}`, loop.ErrServed},
		{400, `{"error":{"message":"output_config.effort: Input should not be 'max'"}}`, loop.ErrRefused},
	}
	for _, tt := range tests {
		if got := classify(tt.status, []byte(tt.text)).Kind; got != tt.want {
			t.Errorf("%d %s: %s, want %s", tt.status, tt.text, got, tt.want)
		}
	}
}

func TestHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"X-A\r\nX-B": "1", "": "1", "X A": "1", "X:": "1", "Ünï": "1",
		"X-Key": "sk-secret\nX-B: 1", "X-Nul": "a\x00", "X-Del": "\x7f",
	} {
		_, err := New(Config{BaseURL: "http://x/v1", Headers: map[string]string{name: value}}, nil)
		if err == nil || strings.Contains(err.Error(), "secret") || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q: %q: %v", name, value, err)
		}
	}
	for name, value := range map[string]string{"X-Title": "plan", "x-empty": "", "X-Wide": "größer\tweiter"} {
		if err := checkHeader(name, value); err != nil {
			t.Errorf("%q: %q: %v", name, value, err)
		}
	}
}

func TestOffers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []Offer
	}{
		{"odd windows", `{"data":[
			{"id":"a","context_length":1e30},{"id":"b","context_length":-1},{"id":"c","context_length":"32768"},
			{"id":"d","context_length":null,"max_model_len":8192.0},{"id":"e","context_length":{"max":1}},{"id":"f","context_window":10}
		]}`, []Offer{{Name: "a"}, {Name: "b"}, {Name: "c", Window: 32768}, {Name: "d", Window: 8192}, {Name: "e"}, {Name: "f"}}},
		{
			"the smallest of several",
			`[{"id":"a","context_length":131072,"loaded_context_length":4096}]`,
			[]Offer{{Name: "a", Window: 4096}},
		},
		{"odd fields", `{"models":[{"id":"a","meta":"x","supported_parameters":{}},{"id":7},{"id":"b",` +
			`"type":3}]}`, []Offer{{Name: "a"}, {Name: "b"}}},
		{"names that are none", `{"data":[{"id":""},{"id":"a\nb"},{"id":"\u001b[31m"},{"id":"` + strings.Repeat("x", 5000) + `"},` +
			`{"id":"ok"}]}`, []Offer{{Name: "ok"}}},
	}
	for _, tt := range tests {
		got, err := readOffers([]byte(tt.text))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// What a server says that a call used cannot make sums overflow, and its parts
// stay parts.
func TestUsageIsBounded(t *testing.T) {
	t.Parallel()
	const huge = 1<<63 - 1
	got := bounded(plan.Usage{Requests: 1, Input: huge, Cached: huge, Written: huge, Output: -1, Reasoning: huge})
	want := plan.Usage{Requests: 1, Input: mostTokens, Cached: mostTokens}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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

// refusal is what a server says, and what it means.
type refusal struct {
	Server string         `json:"server"`
	Status int            `json:"status"`
	Text   string         `json:"text"`
	Kind   loop.ErrorKind `json:"kind"`
	Window int64          `json:"window"` // tokens, as far as the text names it
}

// refusals are the words of servers for what does not fit a window, and for what
// is something else.
func refusals(t testing.TB) []refusal {
	t.Helper()
	data, err := os.ReadFile("testdata/refusals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []refusal
	for line := range strings.Lines(string(data)) {
		var r refusal
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if len(out) < 30 {
		t.Fatalf("only %d refusals", len(out))
	}
	return out
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	for _, c := range refusals(t) {
		f := classify(c.Status, []byte(c.Text))
		if f.Kind != c.Kind || f.Window != c.Window {
			t.Errorf("%s: %s with a window of %d, want %s and %d", c.Server, f.Kind, f.Window, c.Kind, c.Window)
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
		{
			"Gemini",
			nil,
			`{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`,
			34 * time.Second,
		},
		{"a field", nil, `{"retry_after":5}`, 5 * time.Second},
		{"a field in milliseconds", nil, `{"retry_after_ms":"1500"}`, 1500 * time.Millisecond},
		{"a header before words", map[string]string{"Retry-After": "2"}, `try again in 9s`, 2 * time.Second},
		{"a span in the header", map[string]string{"Retry-After": "1m30s"}, ``, 90 * time.Second},
		{"a limit that is used up", map[string]string{
			"x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "7",
			"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0",
		}, ``, 6 * time.Minute},
		{"Anthropic's date", map[string]string{"anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:20Z"}, ``, 20 * time.Second},
		{
			"milliseconds since 1970",
			map[string]string{"X-RateLimit-Reset": fmt.Sprint(now.Add(time.Minute).UnixMilli())},
			``,
			time.Minute,
		},
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
	for _, c := range refusals(f) {
		f.Add(c.Status, c.Text)
	}
	f.Fuzz(func(t *testing.T, status int, text string) {
		got := classify(status, []byte(text))
		if got.Kind == "" || got.Window < 0 || strings.ContainsAny(oneLine(got.Message), "\n\r") {
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
	got := PlainSchema(json.RawMessage(`{"type":"object","properties":{"type":{"type":["string","null"],"minLength":1},` +
		`"n":{"type":"array","items":{"type":"integer","minimum":1}}},"required":["n"],"additionalProperties":false}`))
	want := `{"properties":{"n":{"items":{"type":"integer"},"type":"array"},"type":{"type":"string"}},"required":["n"],"type":"object"}`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

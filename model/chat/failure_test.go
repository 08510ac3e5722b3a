package chat_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestStatuses(t *testing.T) {
	t.Parallel()
	message := func(code, text string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"t","code":%q}}`, text, code)
	}
	tests := []struct {
		name    string
		status  int
		body    string
		kind    loop.ErrorKind
		message string // a part of it
	}{
		{"unauthorized", 401, message("invalid_api_key", "Incorrect API key provided"), loop.ErrAuth, "Incorrect"},
		{"forbidden", 403, "", loop.ErrAuth, "Forbidden"},
		{"auth as a bad request", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.",` +
			`"status":"INVALID_ARGUMENT"}}]`, loop.ErrAuth, "API key not valid"},
		{"auth as a server error", 500, message("", "Invalid API key"), loop.ErrAuth, ""},
		{"payment", 402, message("", "This request requires more credits"), loop.ErrQuota, ""},
		{"quota as 429", 429, message("insufficient_quota", "You exceeded your current quota"), loop.ErrQuota, "exceeded"},
		{"quota as 403", 403, message("", "Insufficient Balance"), loop.ErrQuota, ""},
		{"rate", 429, message("rate_limit_exceeded", "Rate limit reached"), loop.ErrRateLimit, "Rate limit"},
		{"rate that speaks of its window", 429, message("", "too many tokens in this window"), loop.ErrRateLimit, ""},
		{"unknown model", 404, message("model_not_found", "The model `x` does not exist"), loop.ErrNotFound, "does not exist"},
		{"unknown model as 400", 400, message("model_not_found", "no"), loop.ErrNotFound, ""},
		{"Ollama's words", 404, `{"error":"model 'x' not found"}`, loop.ErrNotFound, "model 'x' not found"},
		{"wrong path", 404, "404 page not found\n", loop.ErrNotFound, "404 page not found (is the base URL right?)"},
		{"too large", 413, "", loop.ErrTooLong, "Too Large"},
		{"too large, without a word", 400, "  ", loop.ErrTooLong, "not a word why"},
		{"too long in capitals", 400, message("", "Prompt Is Too Long: 9 tokens"), loop.ErrTooLong, ""},
		{"invalid format", 400, message("", "invalid request format"), loop.ErrRefused, "invalid request format"},
		{"too long", 400, message("context_length_exceeded", "This model's maximum context length is 8192 tokens. However,"+
			" max_tokens"), loop.ErrTooLong, "8192"},
		{"too long, llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size",` +
			`"type":"exceed_context_size_error"}}`, loop.ErrTooLong, ""},
		{"too long, as a server error", 500, message("", "prompt is too long: 9 tokens"), loop.ErrTooLong, ""},
		{"timeout", 408, "", loop.ErrServed, "Timeout"},
		{"conflict", 409, "", loop.ErrServed, ""},
		{"a filter", 400, message("content_filter", "The response was filtered"), loop.ErrFiltered, "was filtered"},
		{"a filter that forbids", 403, `{"error":{"message":"Your input was flagged","code":403}}`, loop.ErrFiltered, "flagged"},
		{"bad request", 400, message("", "messages: at least one"), loop.ErrRefused, "at least one"},
		{"unprocessable", 422, `{"detail":[{"loc":["body","messages"],"msg":"bad"}]}`, loop.ErrRefused, `"msg":"bad"`},
		{"teapot", 418, "short and stout", loop.ErrRefused, "short and stout"},
		{"server error", 500, `{"message":"boom"}`, loop.ErrServed, "boom"},
		{"not implemented", 501, "", loop.ErrServed, ""},
		{
			"bad gateway",
			502,
			"<html>\n<head><title>502 Bad\nGateway</title></head><body>" + strings.Repeat("x", 4000),
			loop.ErrUnserved,
			"an HTML page: 502 Bad Gateway",
		},
		{"HTML without a title", 503, "<!DOCTYPE html><p>sorry", loop.ErrUnserved, "an HTML page"},
		{"gateway timeout", 504, "", loop.ErrUnserved, ""},
		{"overloaded", 529, message("overloaded_error", "Overloaded"), loop.ErrUnserved, "Overloaded"},
		{"behind a gateway", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"messages ` +
			`must alternate"}}}`, loop.ErrRefused, "Provider returned error: messages must alternate"},
		{"escape codes and lines", 500, "\x1b[31mred\x1b[0m\r\nnext\u202eline\x00\xff", loop.ErrServed, "red next<U+202E>line^@\uFFFD"},
		{"endless", 500, strings.Repeat("é", 5<<20), loop.ErrServed, "é…"},
		{"somewhat long", 500, strings.Repeat("x", 400), loop.ErrServed, "xxx…"},
		{"a lone code", 500, `{"error":{"code":"boom"}}`, loop.ErrServed, "boom"},
		{"no object", 500, `"sorry"`, loop.ErrServed, "sorry"},
		{"redirect", 302, "", loop.ErrRefused, "redirects to /elsewhere"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			client := clientOf(t, f)
			for what, err := range map[string]error{
				"Generate": second(client.Generate(t.Context(), call("hi"), nil)), "Models": second(client.Models(t.Context())),
			} {
				me := wiretest.ModelError(t, err, tt.kind)
				if me.Status != tt.status || !strings.Contains(me.Message, tt.message) {
					t.Errorf("%s: status %d, message %q; want %d and %q", what, me.Status, me.Message, tt.status, tt.message)
				}
			}
			if f.Count() != 2 {
				t.Errorf("%d requests for 2 calls: the SDK must not retry", f.Count())
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "7", 7 * time.Second},
		{"parts of a second", "Retry-After", "1.5", 1500 * time.Millisecond},
		{"a date", "Retry-After", "Sun, 01 Mar 2026 12:01:30 GMT", 90 * time.Second},
		{"a date in the past", "Retry-After", "Sun, 01 Mar 2026 11:00:00 GMT", 0},
		{"milliseconds", "retry-after-ms", "250", 250 * time.Millisecond},
		{"negative", "Retry-After", "-3", 0},
		{"not a number", "Retry-After", "NaN", 0},
		{"for ever", "Retry-After", "1e300", 365 * 24 * time.Hour},
		{"words", "Retry-After", "soon", 0},
		{"nothing", "X-Other", "7", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
				w.Header().Set(tt.header, tt.value)
				w.WriteHeader(http.StatusTooManyRequests)
			})
			client := clientOf(t, f, func(c *chat.Config) { c.Now = func() time.Time { return now } })
			_, err := client.Generate(t.Context(), call("hi"), nil)
			if me := wiretest.ModelError(t, err, loop.ErrRateLimit); me.RetryAfter != tt.want {
				t.Errorf("RetryAfter = %s, want %s", me.RetryAfter, tt.want)
			}
		})
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	he := deltaOf(`{"content":"he"}`, "")
	half := tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`)
	tests := []struct {
		name, raw string
		kind      loop.ErrorKind
		message   string
	}{
		{"cut in the text", "data: " + he + "\n\n", loop.ErrServed, "broke off"},
		{"cut in a tool call", "data: " + half + "\n\n", loop.ErrServed, "broke off"},
		{"cut in an event", "data: " + he + "\n\ndata: " + stopped[:40], loop.ErrServed, "broke off"},
		{"ended without a reason", sse(he), loop.ErrServed, "broke off"},
		{"empty", "", loop.ErrServed, "broke off"},
		{"only comments", ": hello\n\n", loop.ErrServed, "broke off"},
		{"garbage in an event", sse(he, `{"choices":[`, stopped), loop.ErrServed, "not a chunk"},
		{"not an object", sse(`[1]`), loop.ErrServed, ""},
		{"a page", "<html><title>Sign in</title>", loop.ErrNotFound, "Sign in"},
		{"plain text", "hello there", loop.ErrServed, "broke off"},
		{"half a document", `{"choices":[{"message":{"content":"x"}`, loop.ErrServed, "not a chunk"},
		{"a document without a reason", `{"choices":[{"message":{"content":"x"}}]}`, loop.ErrServed, "broke off"},
		{"an error document", `{"error":{"message":"out of memory"}}`, loop.ErrServed, "out of memory"},
		{"an error frame", sse(he, `{"error":{"message":"overloaded","type":"server_error"}}`), loop.ErrServed, "overloaded"},
		{"an error frame after the reason", sse(he, stopped, `{"error":"late"}`), loop.ErrServed, "late"},
		{"an error frame with a status", sse(`{"id":"x","error":{"code":502,"message":"Provider disconnected"},` +
			`"choices":[]}`), loop.ErrServed, "Provider disconnected"},
		{"a rate limit frame", sse(`{"error":{"code":429,"message":"slow down"}}`), loop.ErrRateLimit, "slow down"},
		{"a rate limit frame without a status", sse(`{"error":{"code":"rate_limit_exceeded","message":"slow ` +
			`down"}}`), loop.ErrRateLimit, "slow down"},
		{
			"a too long frame",
			sse(`{"error":{"code":"context_length_exceeded","message":"too many"}}`),
			loop.ErrTooLong,
			"too many",
		},
		{"an error event", "event: error\ndata: {\"message\":\"gone wrong\"}\n\n", loop.ErrServed, "gone wrong"},
		{"the reason is an error", sse(he, deltaOf("{}", "error")), loop.ErrServed, "gave up"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, err := clientOf(t, wiretest.ServeText(t, "text/event-stream", tt.raw)).Generate(t.Context(), call("hi"), nil)
			me := wiretest.ModelError(t, err, tt.kind)
			if !strings.Contains(me.Message, tt.message) {
				t.Errorf("message = %q, want %q in it", me.Message, tt.message)
			}
			if diff := cmp.Diff(loop.Answer{}, answer); diff != "" {
				t.Errorf("an answer came with the error:\n%s", diff)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret-1234"
	for _, status := range []int{401, 500, 200} {
		f := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, _ string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "data: {\"error\":\"bad key %s\"}\n\n", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		})
		_, err := clientOf(t, f, withKey(secret)).Generate(t.Context(), call("hi"), nil)
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) || !strings.Contains(err.Error(), "[key]") {
			t.Errorf("status %d: error = %v, want [key] in it", status, err)
		}
	}
	f := wiretest.ServeText(t, "", sse(stopped))
	_, err := clientOf(t, f, withKey("two\nlines")).Generate(t.Context(), call("hi"), nil)
	wiretest.ModelError(t, err, loop.ErrAuth)
	broken := errors.New("keyring locked")
	_, err = clientOf(t, f, func(c *chat.Config) {
		c.Key = func(context.Context) (string, error) { return "", broken }
	}).Generate(t.Context(), call("hi"), nil)
	if wiretest.ModelError(t, err, loop.ErrAuth); !errors.Is(err, broken) {
		t.Errorf("error = %v, want the cause in it", err)
	}
	if f.Count() != 0 {
		t.Errorf("%d requests were made without a key", f.Count())
	}
}

func TestOpenAIHost(t *testing.T) {
	t.Parallel()
	var body, host string
	keep := func(r *http.Request, sent string) { body, host = sent, r.URL.String() }
	client, err := chat.New(chat.Config{Config: wire.Config{HTTP: wiretest.Always(sse(stopped), keep)}})
	if err != nil {
		t.Fatal(err)
	}
	req := call("hi")
	req.Settings.MaxOutputTokens = 7
	req.Format = &loop.Format{Name: "v", Schema: []byte(`{}`)}
	if _, err := client.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if host != "https://api.openai.com/v1/chat/completions" || wiretest.Field(t, body, "max_completion_tokens") != "7" ||
		wiretest.Field(t, body, "max_tokens") != "" || wiretest.Field(t, body, "response_format") == "" {
		t.Errorf("sent to %s: %s", host, body)
	}
}

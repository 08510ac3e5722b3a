package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/loop"
)

// maxMessage bounds an error message, in runes.
const maxMessage = 300

// failure is a model error on its way out, with the text it was made from.
type failure struct {
	*loop.ModelError
	text string // the server's whole words, in lower case
}

// Unwrap returns the model error.
func (f failure) Unwrap() error { return f.ModelError }

// orRefusal returns the model error as callers want it, or, when the request
// might be made acceptable, the refusal with its text.
func (f failure) orRefusal() error {
	if f.Kind == loop.ErrRefused && (f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity) {
		return &refusal{failure: f}
	}
	return f.ModelError
}

// refusal is a 400 or 422 that is no other kind of failure.
type refusal struct{ failure }

// httpFailure reads the failure that a response with an error status reports.
func httpFailure(res *http.Response, text []byte, now time.Time) failure {
	f := classify(res.StatusCode, text)
	f.RetryAfter = retryAfter(res.Header, now)
	switch {
	case res.StatusCode < http.StatusBadRequest:
		f.Message = "the server redirects to " + res.Header.Get("Location") + ": make that the base URL, or check it"
	case f.Kind == loop.ErrNotFound && !json.Valid(text):
		f.Message += " (is the base URL right?)"
	}
	return f
}

// frameFailure reads the failure that an answer with a good status reports in
// its body. The server answered, so it never counts as unserved.
func frameFailure(text []byte) failure {
	_, codes := readError(text)
	status := 0
	for _, code := range codes {
		if n, err := strconv.Atoi(code); err == nil && n >= 400 && n <= 599 {
			status = n
		}
	}
	f := classify(status, text)
	if f.Kind == loop.ErrUnserved {
		f.Kind = loop.ErrServed
	}
	return f
}

// servedFailure is a failure of a server that answered.
func servedFailure(format string, args ...any) failure {
	return failure{ModelError: &loop.ModelError{Kind: loop.ErrServed, Message: fmt.Sprintf(format, args...)}}
}

// classify makes a failure of a status (0 if there is none) and the body that
// explains it.
func classify(status int, text []byte) failure {
	message, codes := readError(text)
	f := failure{
		ModelError: &loop.ModelError{Status: status, Message: message},
		text:       strings.ToLower(string(text)),
	}
	if message == "" {
		f.Message = http.StatusText(status)
	}
	f.Kind = kindOf(status, codes, strings.ToLower(message))
	if status == http.StatusBadRequest && len(bytes.TrimSpace(text)) == 0 {
		// Whoever refuses a request says what is wrong with it. A gateway that was
		// sent more than fits says nothing.
		f.Kind, f.Message = loop.ErrTooLong, "Bad Request, and not a word why, which is how some servers answer what does not fit the model's window"
	}
	return f
}

// What servers write, in lower case, in codes and messages, whatever the
// status they send it with.
var (
	quotaWords = []string{
		"insufficient_quota", "insufficient quota", "insufficient balance", "insufficient credits", "billing_hard_limit",
		"billing hard limit", "credit balance is too low", "requires more credits",
	}
	tooLongWords = []string{
		"context_length_exceeded", "exceed_context_size", "maximum context length", "context length", "context window",
		"available context size", "prompt is too long", "input is too long", "request too large", "maximum prompt length",
		"input token count exceeds", "model_context_window",
	}
	authWords = []string{
		"invalid_api_key", "invalid api key", "incorrect api key", "api key not valid", "api_key_invalid", "invalid api-key",
		"missing api key", "no api key", "no auth credentials", "authentication_error", "authentication failed",
		"invalid authentication", "unauthenticated", "unauthorized",
	}
	rateWords     = []string{"rate_limit", "rate limit", "too many requests"}
	notFoundWords = []string{"model_not_found"}
	filterWords   = []string{
		"content_filter", "content_policy_violation", "content management policy", "responsibleaipolicyviolation",
		"data_inspection_failed", "input was flagged", "prohibited_content",
	}
)

// kindOf sorts a failure. Text decides where servers disagree about statuses.
func kindOf(status int, codes []string, message string) loop.ErrorKind {
	said := strings.ToLower(strings.Join(codes, " ")) + " " + message
	says := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	switch {
	case status < http.StatusInternalServerError && says(filterWords):
		return loop.ErrFiltered
	case status == http.StatusPaymentRequired, says(quotaWords):
		return loop.ErrQuota
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return loop.ErrAuth
	case status == http.StatusTooManyRequests:
		return loop.ErrRateLimit
	case status == http.StatusRequestEntityTooLarge, says(tooLongWords):
		return loop.ErrTooLong
	case says(authWords):
		return loop.ErrAuth
	case status == http.StatusNotFound, says(notFoundWords):
		return loop.ErrNotFound
	case status == 0 && says(rateWords):
		return loop.ErrRateLimit
	}
	return kindOfStatus(status)
}

func kindOfStatus(status int) loop.ErrorKind {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		return loop.ErrUnserved
	case 0, http.StatusRequestTimeout, http.StatusConflict:
		return loop.ErrServed
	}
	if status >= http.StatusInternalServerError {
		return loop.ErrServed
	}
	return loop.ErrRefused
}

// readError finds the message of an error body and the short codes beside it.
// It knows {"error":{…}}, {"error":"…"}, {"message":…}, {"detail":…}, a list
// of these, HTML, and plain text.
func readError(text []byte) (message string, codes []string) {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return plainError(string(text)), nil
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return asText(value), nil
	}
	switch inner := fields["error"].(type) {
	case map[string]any:
		fields = inner
	case string:
		message = inner
	}
	for _, name := range []string{"message", "detail", "msg"} {
		if message == "" {
			message = asText(fields[name])
		}
	}
	// A gateway hides what the server behind it said.
	if meta, ok := fields["metadata"].(map[string]any); ok && meta["raw"] != nil {
		message += ": " + asText(meta["raw"])
	}
	for _, name := range []string{"code", "type", "status"} {
		if code := asText(fields[name]); code != "" {
			codes = append(codes, code)
		}
	}
	if message == "" {
		message = strings.Join(codes, " ")
	}
	return message, codes
}

func asText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

var htmlTitle = lazy.Regexp(`(?is)<(?:title|h1)[^>]*>(.*?)</(?:title|h1)>`)

// plainError shortens a page to its title.
func plainError(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<") {
		return text
	}
	if m := htmlTitle().FindStringSubmatch(text); m != nil && strings.TrimSpace(m[1]) != "" {
		return "an HTML page: " + m[1]
	}
	return "an HTML page"
}

// oneLine makes text fit for one line of a terminal.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage-1]) + "…"
	}
	return text
}

// retryAfter reads how long the server asks to wait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return wait(seconds)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// wait turns seconds from the wire, which may be anything, into a duration of
// at most a year.
func wait(seconds float64) time.Duration {
	if !(seconds > 0) { // also not a number
		return 0
	}
	return time.Duration(min(seconds, 365*24*3600) * float64(time.Second))
}

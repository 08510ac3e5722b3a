package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/loop"
)

// maxMessage bounds an error message, in runes.
const maxMessage = 300

// Failure is a model error on its way out, with the text it was made from.
type Failure struct {
	*loop.ModelError
	text string // the server's whole words, in lower case
}

// Unwrap returns the model error.
func (f Failure) Unwrap() error { return f.ModelError }

// Served is a failure of a server that answered.
func Served(format string, args ...any) Failure {
	return Failure{ModelError: &loop.ModelError{Kind: loop.ErrServed, Message: fmt.Sprintf(format, args...)}}
}

// kindOfNetwork sorts the failures of a network. There is no server where its name
// is not known, nothing listens, or who answers is not who was asked for. Strange
// says that a TLS connection was begun and did not come about.
func kindOfNetwork(err error, strange bool) loop.ErrorKind {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns), strange, isTLS(err):
		return loop.ErrUnreachable
	case errors.Is(err, syscall.ECONNREFUSED),
		errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH):
		return loop.ErrUnreachable
	case errors.As(err, &op) && op.Op == "dial":
		return loop.ErrUnreachable
	}
	return loop.ErrUnserved
}

// httpFailure reads the failure that a response with an error status reports.
func httpFailure(res *http.Response, text []byte, now time.Time) Failure {
	f := classify(res.StatusCode, text)
	if f.Kind == loop.ErrRateLimit || f.Kind == loop.ErrUnserved || f.Kind == loop.ErrQuota {
		f.RetryAfter = retryAfter(res.Header, f.text, now)
	}
	switch {
	case res.StatusCode < http.StatusBadRequest:
		f.Message = "the server redirects to " + elsewhere(
			res.Header.Get("Location"),
		) + ": make that the base URL, or check it"
	case f.Kind == loop.ErrNotFound && !json.Valid(text):
		f.Message += " (is the base URL right?)"
	}
	return f
}

// elsewhere is an address without what could be a key in it.
func elsewhere(location string) string {
	at, err := url.Parse(location)
	if err != nil || location == "" {
		return "another address"
	}
	return (&url.URL{
		Scheme: at.Scheme,
		Host:   at.Host,
		Path:   at.Path,
	}).String()
}

// Reported reads the failure that an answer with a good status reports in its
// body. The server answered, so it never counts as unserved.
func Reported(text []byte) Failure {
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
	if f.Kind == loop.ErrRateLimit {
		f.RetryAfter = retryAfter(nil, f.text, time.Time{})
	}
	return f
}

// unescaped undoes what Go's encoder does to signs that limits are written with.
var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func classify(status int, text []byte) Failure {
	message, codes := readError(text)
	f := Failure{
		ModelError: &loop.ModelError{Status: status, Message: message},
		text:       unescaped.Replace(strings.ToLower(beginning(string(text)))),
	}
	if message == "" {
		f.Message = http.StatusText(status)
	}
	f.Kind = kindOf(status, codes, f.text, strings.ToLower(beginning(message)))
	if status == http.StatusBadRequest && len(bytes.TrimSpace(text)) == 0 {
		// Servers that refuse a request say what is wrong with it. A gateway that
		// was sent more than fits says nothing.
		f.Kind = loop.ErrTooLong
		f.Message = "Bad Request, and not a word why, which is how some servers answer what does not fit the " +
			"model's window"
	}
	if f.Kind == loop.ErrTooLong {
		f.Window = windowIn(f.text, strings.ToLower(beginning(message)))
	}
	return f
}

// beginning is as much of a server's words as is looked at.
func beginning(text string) string {
	const most = 16 << 10
	return text[:min(len(text), most)]
}

// What servers write, in lower case, in codes and messages, whatever the
// status they send it with.
var (
	quotaWords = []string{
		"insufficient_quota", "insufficient quota", "insufficient balance", "insufficient credits",
		"billing_hard_limit", "billing hard limit", "credit balance is too low", "requires more credits",
		"exceeded_current_quota_error", "billing_not_active",
	}
	authWords = []string{
		"invalid_api_key", "invalid api key", "incorrect api key", "api key not valid", "api_key_invalid",
		"invalid api-key",
		"missing api key", "no api key", "no auth credentials", "authentication_error", "authentication failed",
		"invalid authentication", "unauthenticated", "unauthorized", "invalid x-api-key",
	}
	rateWords     = []string{"rate_limit", "rate limit", "too many requests"}
	overWords     = []string{"overloaded_error"}
	notFoundWords = []string{"model_not_found"}
	filterWords   = []string{
		"content_filter", "content_policy_violation", "content management policy", "responsibleaipolicyviolation",
		"data_inspection_failed", "input was flagged", "prohibited_content", "bio_policy", "cyber_policy",
		"misalignment_policy_violation",
	}
	// flagged is what a filter's refusal is called where it is not that of a
	// prompt that is too long.
	flagged = []string{"invalid_prompt"}
)

// kindOf sorts a failure. Text decides where servers disagree about statuses.
func kindOf(status int, codes []string, text, message string) loop.ErrorKind {
	codesAndMessage := strings.ToLower(strings.Join(codes, " ")) + " " + message
	says := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(codesAndMessage, w) })
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
	case status == http.StatusRequestEntityTooLarge, tooLong(status, codesAndMessage, text):
		return loop.ErrTooLong
	case status < http.StatusInternalServerError && says(flagged):
		return loop.ErrFiltered
	case says(authWords):
		return loop.ErrAuth
	case status == http.StatusNotFound, says(notFoundWords):
		return loop.ErrNotFound
	case status == 0 && says(rateWords):
		return loop.ErrRateLimit
	case status == 0 && says(overWords):
		return loop.ErrServed
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
	if response, ok := fields["response"].(map[string]any); ok && fields["error"] == nil {
		fields = response // the event of a response that failed
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

// oneLine makes what a server says fit for one line of a terminal.
func oneLine(text string) string { return oneline.Cut(oneline.Of(sanitize.Text(text)), maxMessage) }

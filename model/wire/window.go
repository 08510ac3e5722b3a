package wire

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan/internal/lazy"
)

// tooLongCodes say by themselves that a request does not fit.
var tooLongCodes = []string{
	"context_length_exceeded", "exceed_context_size", "model_context_window", "contextwindowexceeded",
	"context_window_exceeded",
	"prompt_too_long", "input_too_long", "max_context_length", "request_too_large",
	"maximum context length", "prompt is too long",
	"available context size", "context window exceeded",
}

var (
	// ofLength speaks of what is sent, and ofLimit of there being too much of it.
	ofLength = lazy.Regexp(`context|prompt|input|token|request|message|conversation|sequence`)
	ofLimit  = lazy.Regexp(`exceed|maximum|\bmax\b|\blimit|too long|too large|too many|too big|` +
		`longer than|larger than|more than|less than|greater than|at most|<=|overflow|` +
		`does not fit|truncat|reduce the length|n_ctx|range of`)
	// ofOther speaks of other limits than that of the window.
	ofOther = lazy.Regexp(`image|file size|temperature|top_p|budget_tokens|rate limit|per minute|` +
		`tool_call_id|too many (?:tools|images|stop)|number of tools|string too long|schema|effort|` +
		`input should (?:not )?be`)
	// ofOutput speaks of how long an answer may be.
	ofOutput = lazy.Regexp(
		`max_tokens|max_completion_tokens|max_output_tokens|max_new_tokens|completion tokens|output tokens`,
	)
	ofInput = lazy.Regexp(`context|prompt|input|window|messages`)
)

// tooLong reports whether a refusal says that the request does not fit the
// model's window: a code that says so, or words of length and of a limit, where
// the status is one of a refusal. Both texts are in lower case; message is the
// message with its codes, text all of it.
func tooLong(status int, message, text string) bool {
	for _, code := range tooLongCodes {
		if strings.Contains(text, code) && (!ofOther().MatchString(message) || status != http.StatusTooManyRequests) {
			return true
		}
	}
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, 0:
	default:
		return strings.Contains(message, "input is too long") || strings.Contains(message, "request too large")
	}
	switch {
	case ofOther().MatchString(message):
		return false
	case ofOutput().MatchString(message) && !ofInput().MatchString(strings.ReplaceAll(message, "completion", "")):
		return false
	}
	return ofLength().MatchString(message) && ofLimit().MatchString(message)
}

// smallestWindow is less than any model has, in tokens.
const smallestWindow = 256

// smallestInBrackets is the smallest window that stands in brackets: a smaller
// number there is a code.
const smallestInBrackets = 2048

var (
	thousands = lazy.Regexp(`(\d)[,_](\d{3})\b`)
	// windows say how large a window is, the surest first.
	windows = []func() *regexp.Regexp{
		lazy.Regexp(`"?n_ctx(?:_train)?"?\D{0,20}?(\d{3,9}|\d{1,3}k)`),
		lazy.Regexp(`\[1, ?(\d{3,9})\]`),
		lazy.Regexp(`(?:cannot|must not|may not|can't) exceed\D{0,20}?(\d{3,9}|\d{1,3}k)`),
		lazy.Regexp(`>=?\s*(\d{3,9}|\d{1,3}k)`),
		lazy.Regexp(`(?:less than|<=|<|at most|up to|larger than|longer than|more than)\D{0,40}?(\d{3,9}|\d{1,3}k)`),
		lazy.Regexp(`(?:\bmaximum|\bmax\b|\blimit|\bwindow|max_model_len|\bcapacity)[^\d.]{0,60}?(\d{3,9}|\d{1,3}k)`),
		lazy.Regexp(`(?:context (?:length|size|limit)|context)[^\d.]{0,40}?(\d{3,9}|\d{1,3}k)`),
		lazy.Regexp(`(\d{3,9}|\d{1,3}k)[ -](?:tokens? )?(?:maximum|limit|context|window)`),
	}
)

// windowIn reads the model's window in tokens out of a refusal in lower case: a
// field of its text, or its message. It is 0 where neither says.
func windowIn(text, message string) int64 {
	const behind = 8 // bytes that tell whether a number goes on
	if at := windows[0]().FindStringIndex(text); at != nil {
		message = text[at[0]:min(len(text), at[1]+behind)]
	}
	text = message
	for thousands().MatchString(text) {
		text = thousands().ReplaceAllString(text, "$1$2")
	}
	for _, form := range windows {
		for _, at := range form().FindAllStringSubmatchIndex(text, -1) {
			by := strings.Contains(text[at[0]:at[1]], " by ") // by how much it is too long
			if n := windowAt(text, at[2], at[3]); n > 0 && !by {
				return n
			}
		}
	}
	return 0
}

// windowAt reads the digits of a text from one byte to another, with or without a
// k for thousands; 0 where they are not a window.
func windowAt(text string, from, to int) int64 {
	digits, thousand := strings.CutSuffix(text[from:to], "k")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !isCount(text[:from], text[to:]) {
		return 0
	}
	if thousand {
		n *= 1000
	}
	code := strings.HasSuffix(text[:from], "(") && strings.HasPrefix(text[to:], ")") && n < smallestInBrackets
	if n < smallestWindow || code {
		return 0
	}
	return n
}

// isCount reports whether digits between two texts are a number of things: not a
// price, a part of a date, a negative number, or a part of something longer, such
// as the number of a request.
func isCount(before, after string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return !strings.ContainsRune("$€£#-_", r) && !continued().MatchString(after)
}

// continued is how a text goes on behind digits that are a part of something.
var continued = lazy.Regexp(`^(?:\d|[.:/-]\d)`)

// mostOutput says how long an answer may be at most.
var mostOutput = []func() *regexp.Regexp{
	lazy.Regexp(`max_(?:completion_|output_|new_)?tokens.{0,20}\d+\s*>\s*(\d+)`),
	lazy.Regexp(`at most (\d+) (?:completion|output) tokens`),
	lazy.Regexp(
		`max_(?:completion_|output_|new_)?tokens\W.{0,60}(?:less than or equal to|<=|at most|` +
			`maximum(?: value)?(?: is| of)?|\[1,)\s*\W?\s*(\d+)`,
	),
	lazy.Regexp(`range of max_tokens is \[1, ?(\d+)\]`),
	lazy.Regexp(`(?:less than or equal to|<=) .?(\d+).{0,10} the maximum value for .?max_`),
}

// largestOutput reads the largest answer that a server gives out of a refusal of
// a larger one, in lower case; "" where it does not speak of that.
func largestOutput(text string) string {
	for thousands().MatchString(text) {
		text = thousands().ReplaceAllString(text, "$1$2")
	}
	for _, form := range mostOutput {
		if match := form().FindStringSubmatch(text); match != nil {
			return match[1]
		}
	}
	return ""
}

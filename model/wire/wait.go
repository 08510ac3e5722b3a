package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/lazy"
)

// longestWait bounds what a server may ask for.
const longestWait = 365 * 24 * time.Hour

var (
	// inText is how servers write a wait in words, and inBody in a field.
	inText = lazy.Regexp(
		`(?:try again|retry|retry after|wait|available|reset)(?:[a-z ]{0,30}?)\b(?:in|after|for)?\s*` +
			`((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\s*)+)`,
	)
	inBody = lazy.Regexp(
		`"(retrydelay|retry_delay|retry_after|retryafter|retry_after_seconds|retry_after_ms)"\s*:\s*"?([\d.]+)(ms|` +
			`s|m|h)?"?`,
	)
	piece = lazy.Regexp(`(\d+(?:\.\d+)?)\s*(ms|mil|h|m|s)`)
)

// retryAfter reads how long the server asks to wait: from its headers, else from
// what it says, which is in lower case.
func retryAfter(h http.Header, text string, now time.Time) time.Duration {
	if d, ok := fromHeaders(h, now); ok {
		return d
	}
	if m := inBody().FindStringSubmatch(text); m != nil {
		unit := m[3]
		if strings.HasSuffix(m[1], "_ms") {
			unit = "ms"
		}
		return spans(m[2] + orSeconds(unit))
	}
	if m := inText().FindStringSubmatch(text); m != nil {
		return spans(m[1])
	}
	return fromLimits(h, now)
}

func orSeconds(unit string) string {
	if unit == "" {
		return "s"
	}
	return unit
}

// fromHeaders reads the headers that are made for it.
func fromHeaders(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000), true
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return wait(seconds), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	d := spans(text)
	return d, d > 0
}

// limitHeaders say when a limit is lifted; what is left of it stands under the
// same name with "remaining" for "reset".
var limitHeaders = []string{
	"X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens", "X-Ratelimit-Reset", "Ratelimit-Reset",
	"Anthropic-Ratelimit-Requests-Reset", "Anthropic-Ratelimit-Tokens-Reset",
	"Anthropic-Ratelimit-Input-Tokens-Reset", "Anthropic-Ratelimit-Output-Tokens-Reset",
}

// fromLimits is the longest wait for a limit that is used up; where none is said
// to be, the shortest wait that is named.
func fromLimits(h http.Header, now time.Time) time.Duration {
	var usedUp, shortest time.Duration
	for _, name := range limitHeaders {
		d := resetIn(h.Get(name), now)
		if d <= 0 {
			continue
		}
		if h.Get(strings.Replace(name, "Reset", "Remaining", 1)) == "0" {
			usedUp = max(usedUp, d)
		}
		if shortest == 0 || d < shortest {
			shortest = d
		}
	}
	if usedUp > 0 {
		return usedUp
	}
	return shortest
}

// resetIn reads a span, a date, a number of seconds, or of seconds or milliseconds
// since 1970.
func resetIn(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return max(0, at.Sub(now))
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return spans(text)
	case n > 1e11:
		return max(0, time.UnixMilli(int64(min(n, 1e15))).Sub(now))
	case n > 1e8:
		return max(0, time.Unix(int64(n), 0).Sub(now))
	}
	return wait(n)
}

// spans adds up what is written like "1h2m3.5s" or "4 seconds".
func spans(text string) time.Duration {
	total := 0.0
	for _, m := range piece().FindAllStringSubmatch(strings.ToLower(text), -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			continue
		}
		switch m[2] {
		case "ms", "mil":
			n /= 1000
		case "m":
			n *= 60
		case "h":
			n *= 3600
		}
		total += n
	}
	return wait(total)
}

// wait turns seconds from the wire, which may be anything, into a duration of
// at most a year.
func wait(seconds float64) time.Duration {
	if !(seconds > 0) { // also not a number
		return 0
	}
	return time.Duration(min(seconds, longestWait.Seconds()) * float64(time.Second))
}

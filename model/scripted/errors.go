package scripted

import (
	"fmt"

	"github.com/plan-engine/plan"
)

// What error_frame, garbage, refuse and reasoning_only send when a scenario does not say.
const (
	failureWords = "scripted fault: the model failed"
	refusalWords = "scripted fault: this is not something to help with"

	reasoningWords = "scripted fault: there is more to think about"
)

// object is a JSON object that is put together by hand.
type object = map[string]any

// encoded is the JSON of something made of strings, numbers and lists, which
// can always be encoded.
func encoded(v any) string {
	data, err := plan.MarshalCompact(v)
	if err != nil {
		return `{"error":{"message":"the answer cannot be encoded"}}`
	}
	return string(data)
}

// wrong is an error in a server's own words, which begin and end as the server
// would have them.
func wrong(format string, args ...any) error { return wordsError(fmt.Sprintf(format, args...)) }

// wordsError is what a client is told.
type wordsError string

// Error implements error.
func (e wordsError) Error() string { return string(e) }

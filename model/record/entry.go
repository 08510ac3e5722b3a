package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// format is the version of the file that this package writes. It reads no
// newer one.
const format = 1

// headerLine is the first line of a file.
const headerLine = `{"plan_recording":1}` + "\n"

// entry is a call that has ended. One of Answer, Error, Cancelled and Failed
// is set.
type entry struct {
	Request   json.RawMessage `json:"request"`
	Wire      string          `json:"wire,omitempty"` // how the server was spoken to, for people
	Pieces    []piece         `json:"pieces,omitempty"`
	Answer    json.RawMessage `json:"answer,omitempty"`
	Error     *failure        `json:"error,omitempty"`
	Cancelled string          `json:"cancelled,omitempty"`
	Failed    string          `json:"failed,omitempty"`
}

// request is a loop.Call.
type request struct {
	Headers     map[string]string `json:"headers,omitempty"`
	Model       string            `json:"model"`
	Temperature *float64          `json:"temperature,omitempty"`
	Effort      string            `json:"effort,omitempty"`
	MaxOutput   int               `json:"max_output_tokens,omitempty"`
	Format      *answerFormat     `json:"format,omitempty"`
	System      string            `json:"system,omitempty"`
	Tools       []loop.Spec       `json:"tools,omitempty"`
	Messages    []plan.Message    `json:"messages"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type answerFormat struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// piece is a loop.Delta.
type piece struct {
	Kind plan.BlockType `json:"kind"`
	Text string         `json:"text,omitempty"`
	Call string         `json:"call,omitempty"`
	Name string         `json:"name,omitempty"`
}

// answer is a loop.Answer.
type answer struct {
	Message plan.Message    `json:"message"`
	Stop    loop.StopReason `json:"stop"`
	Usage   plan.Usage      `json:"usage"`
	Model   string          `json:"model,omitempty"`
	Finish  string          `json:"finish,omitempty"`

	CostUSD  *float64        `json:"cost_usd,omitempty"`
	Adjusted []plan.Adjusted `json:"adjusted,omitempty"`
}

// failure is a loop.ModelError without its cause, which its message tells.
type failure struct {
	Kind       loop.ErrorKind `json:"kind"`
	Status     int            `json:"status,omitempty"`
	RetryAfter time.Duration  `json:"retry_after_ns,omitempty"`
	Message    string         `json:"message"`

	Window   int64           `json:"window,omitempty"`
	Bound    string          `json:"bound,omitempty"`
	Usage    *plan.Usage     `json:"usage,omitempty"`
	Adjusted []plan.Adjusted `json:"adjusted,omitempty"`
}

// encodeRequest writes a call as it stands in a file: the same call gives the
// same bytes.
func encodeRequest(c loop.Call, clean cleaner) (json.RawMessage, error) {
	r := request{
		Headers:     keptHeaders(c.Headers),
		Model:       c.Model,
		Temperature: c.Settings.Temperature,
		Effort:      c.Settings.Effort,
		MaxOutput:   c.Settings.MaxOutputTokens,
		System:      c.System,
		Tools:       c.Tools,
		Messages:    slices.Clone(c.Messages),
		Metadata:    c.Metadata,
	}
	if c.Format != nil {
		r.Format = &answerFormat{Name: c.Format.Name, Schema: c.Format.Schema}
	}
	if r.Messages == nil {
		r.Messages = []plan.Message{}
	}
	for i := range r.Messages {
		if r.Messages[i].Blocks == nil { // a journal does not tell these apart
			r.Messages[i].Blocks = []plan.Block{}
		}
	}
	data, err := plan.MarshalCompact(r)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return clean.json(data), nil
}

// keptHeaders are the headers that are recorded, under their usual spelling.
func keptHeaders(headers map[string]string) map[string]string {
	recorded := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		usual := http.CanonicalHeaderKey(name)
		if usual != "X-Plan-Run" && !isCredential(usual) {
			recorded[usual] = headers[name]
		}
	}
	return recorded
}

// encodeEntry writes the line of a call.
func encodeEntry(e entry, ans *loop.Answer, clean cleaner) ([]byte, error) {
	e.Pieces = clean.pieces(e.Pieces)
	e.Cancelled, e.Failed = clean.text(e.Cancelled), clean.text(e.Failed)
	if e.Error != nil {
		e.Error.Message = clean.text(e.Error.Message)
	}
	if ans != nil {
		data, err := plan.MarshalCompact(answer(*ans))
		if err != nil {
			return nil, fmt.Errorf("encode the answer: %w", err)
		}
		e.Answer = clean.json(data)
	}
	line, err := plan.MarshalCompact(e)
	if err != nil {
		return nil, fmt.Errorf("encode the call: %w", err)
	}
	return append(line, '\n'), nil
}

// place is where in a run a request was made.
type place struct{ phase, attempt string }

func (p place) String() string {
	if p == (place{}) {
		return "no phase"
	}
	return fmt.Sprintf("phase %q, attempt %q", p.phase, p.attempt)
}

// placeOf reads the place off an encoded request.
func placeOf(encoded json.RawMessage) (place, error) {
	var r request
	if err := json.Unmarshal(encoded, &r); err != nil {
		return place{}, err //nolint:wrapcheck // the caller says which line
	}
	return place{phase: r.Headers["X-Plan-Phase"], attempt: r.Headers["X-Plan-Attempt"]}, nil
}

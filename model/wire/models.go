package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Offer is a model that a server offers.
type Offer struct {
	Name   string
	Window int64 // tokens; 0 if the server does not say
	// Chat and Tools say what the model can do; nil if the server does not say.
	Chat  *bool
	Tools *bool
}

// listing is an entry of a server's list, as the various servers write it.
type listing struct {
	ID            string   `json:"id"`
	ContextLength count    `json:"context_length"`
	MaxModelLen   count    `json:"max_model_len"`
	ContextWindow count    `json:"context_window"`
	MaxInput      count    `json:"max_input_tokens"`
	Loaded        count    `json:"loaded_context_length"`
	Type          string   `json:"type"` // LM Studio: llm, vlm, embeddings
	Parameters    []string `json:"supported_parameters"`
	Capabilities  any      `json:"capabilities"` // LM Studio: a list with tool_use in it
	Meta          struct {
		Context count `json:"n_ctx"`
	} `json:"meta"`
}

// count is a number of tokens; 0 for what is none. Some servers write it as a
// text, or with a fraction.
type count int64

// UnmarshalJSON implements [json.Unmarshaler]. It never fails: one odd entry is no
// reason to know none of the others.
func (c *count) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if *c = 0; err == nil && n >= 1 && n <= largestWindow {
		*c = count(n)
	}
	return nil
}

// Bounds on a list of models.
const (
	largestWindow = 1e9      // tokens
	longestName   = 200      // bytes
	maxList       = 16 << 20 // bytes
)

// Models lists the models that the server offers, in the server's order.
func (c *Client) Models(ctx context.Context) ([]Offer, error) {
	key, err := c.key(ctx, "")
	if err != nil {
		return nil, err
	}
	x := c.begin(ctx, key, 0)
	defer x.end()
	var headers map[string]string
	if p, ok := c.protocol.(interface{ Headers() map[string]string }); ok {
		headers = p.Headers()
	}
	if err := x.get("models", headers); err != nil {
		return nil, modelError(x.failure(err))
	}
	data, err := io.ReadAll(io.LimitReader(x.res.Body, maxList))
	if err != nil {
		return nil, modelError(x.failure(err))
	}
	offers, err := readOffers(data)
	if err != nil {
		return nil, modelError(x.failure(Served("the server's list of models cannot be read: %v", err)))
	}
	return offers, nil
}

// modelError takes the text off a failure.
func modelError(err error) error {
	var failed Failure
	if errors.As(err, &failed) {
		return failed.ModelError
	}
	return err
}

// readOffers reads {"data":[…]}, {"models":[…]} and a list by itself. An entry that
// has a field of another type than usual is read without that field.
func readOffers(data []byte) ([]Offer, error) {
	var page struct {
		Data   []json.RawMessage `json:"data"`
		Models []json.RawMessage `json:"models"`
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		page.Data = list
	} else if err := json.Unmarshal(data, &page); err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it is
	}
	if len(page.Data) == 0 {
		page.Data = page.Models
	}
	offers := make([]Offer, 0, len(page.Data))
	for _, entry := range page.Data {
		var l listing
		var odd *json.UnmarshalTypeError
		if err := json.Unmarshal(entry, &l); err != nil && !errors.As(err, &odd) {
			return nil, err //nolint:wrapcheck // as above
		}
		if named(l.ID) {
			offers = append(offers, l.offer())
		}
	}
	return offers, nil
}

// named reports whether a name can be a model's. It is shown, and asked for.
func named(id string) bool {
	return id != "" && len(id) <= longestName && oneLine(id) == id
}

// offer reads an entry. Of several windows the smallest is what a request must
// fit.
func (l listing) offer() Offer {
	o := Offer{Name: l.ID}
	for _, window := range []count{
		l.Loaded, l.MaxModelLen, l.Meta.Context, l.ContextLength, l.ContextWindow, l.MaxInput,
	} {
		if window >= smallestWindow && (o.Window == 0 || int64(window) < o.Window) {
			o.Window = int64(window)
		}
	}
	if l.Type == "embeddings" || l.Type == "embedding" {
		o.Chat = new(bool)
	}
	can, _ := l.Capabilities.([]any)
	switch {
	case len(l.Parameters) > 0:
		tools := slices.Contains(l.Parameters, "tools")
		o.Tools = &tools
	case len(can) > 0:
		tools := slices.Contains(can, any("tool_use"))
		o.Tools = &tools
	}
	return o
}

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
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
	ContextLength int64    `json:"context_length"`
	MaxModelLen   int64    `json:"max_model_len"`
	ContextWindow int64    `json:"context_window"`
	MaxInput      int64    `json:"max_input_tokens"`
	Loaded        int64    `json:"loaded_context_length"`
	Type          string   `json:"type"` // LM Studio: llm, vlm, embeddings
	Parameters    []string `json:"supported_parameters"`
	Capabilities  any      `json:"capabilities"` // LM Studio: a list with tool_use in it
	Meta          struct {
		Context int64 `json:"n_ctx"`
	} `json:"meta"`
}

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
	data, err := io.ReadAll(x.res.Body)
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

// readOffers reads {"data":[…]}, {"models":[…]} and a list by itself.
func readOffers(data []byte) ([]Offer, error) {
	var page struct {
		Data   []listing `json:"data"`
		Models []listing `json:"models"`
	}
	var list []listing
	if json.Unmarshal(data, &list) == nil {
		page.Data = list
	} else if err := json.Unmarshal(data, &page); err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it is
	}
	if len(page.Data) == 0 {
		page.Data = page.Models
	}
	offers := make([]Offer, 0, len(page.Data))
	for _, l := range page.Data {
		if l.ID != "" {
			offers = append(offers, l.offer())
		}
	}
	return offers, nil
}

// offer reads an entry. Of several windows the smallest is what a request must
// fit.
func (l listing) offer() Offer {
	o := Offer{Name: Valid(l.ID)}
	for _, window := range []int64{l.Loaded, l.MaxModelLen, l.Meta.Context, l.ContextLength, l.ContextWindow, l.MaxInput} {
		if window >= smallestWindow && (o.Window == 0 || window < o.Window) {
			o.Window = window
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

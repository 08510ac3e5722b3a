package chat

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/plan-engine/plan/model/wire"
)

// Add implements [wire.Assembly].
func (a *assembly) Add(ev wire.Event) error {
	switch {
	case ev.Type == wire.EventDone:
		a.marked()
		return nil
	case ev.Type == "error":
		return wire.Reported(ev.Data)
	case ev.Whole:
		if err := a.document(ev.Data); err != nil {
			return err
		}
		return a.failed()
	}
	chunk, err := decodeChunk(ev.Data)
	if err != nil {
		return err
	}
	a.add(chunk)
	return a.failed()
}

// document takes a whole answer, from a server that does not stream. It is a
// chunk whose deltas are called messages.
func (a *assembly) document(data []byte) error {
	chunk, err := decodeChunk(data)
	if err != nil {
		return err
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		message := choice.JSON.ExtraFields["message"].Raw()
		if message == "" {
			continue
		}
		if err := json.Unmarshal([]byte(message), &choice.Delta); err != nil {
			return wire.Served("the server sent a message that cannot be read: %v", err)
		}
	}
	a.add(chunk)
	return nil
}

// decodeChunk reads a chunk, or the error that was sent in its place.
func decodeChunk(data []byte) (sdk.ChatCompletionChunk, error) {
	var chunk sdk.ChatCompletionChunk
	// json.Unmarshal, unlike the chunk's own method, checks the syntax first.
	if err := json.Unmarshal(data, &chunk); err != nil {
		return chunk, wire.Served("the server sent something that is not a chunk of an answer: %v", err)
	}
	switch chunk.JSON.ExtraFields["error"].Raw() {
	case "", "null", `""`, "{}", "false":
		return chunk, nil
	}
	return chunk, wire.Reported(data)
}

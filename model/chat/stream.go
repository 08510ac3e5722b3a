package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/plan-engine/plan/loop"
)

// read reads the response into a. What the body is can be told from how it
// begins, which is more reliable than what the headers say it is.
//
// The SDK's decoder splits the events, but its stream and its accumulator are
// not used: they take a stream that was cut for one that ended, a null error
// for an error, and lose the end of a stream whose ids change.
func (x *exchange) read(a *assembly) error {
	r := bufio.NewReader(x.res.Body)
	first, err := firstByte(r)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch first {
	case '{':
		data, err := io.ReadAll(r)
		if err != nil {
			return err //nolint:wrapcheck // failure says what it means
		}
		if err := a.document(data); err != nil {
			return err
		}
	case '<':
		data, err := io.ReadAll(io.LimitReader(r, maxError))
		if err != nil {
			return err //nolint:wrapcheck // failure says what it means
		}
		// A web page is what stands at a wrong address; asking again finds it again.
		return failure{ModelError: &loop.ModelError{
			Kind: loop.ErrNotFound, Message: fmt.Sprintf("the server answered with %s (is the base URL right?)", plainError(string(data))),
		}}
	default:
		if err := x.events(r, a); err != nil {
			return err
		}
	}
	if a.finish == "" {
		return servedFailure("the model server's answer broke off before its end")
	}
	return a.failed()
}

// firstByte looks at the first byte that is not white space or a byte order
// mark; it is 0 at the end.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err //nolint:wrapcheck // the caller tells the end from a failure
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		default:
			return b, r.UnreadByte() //nolint:wrapcheck // cannot fail after a read
		}
	}
}

// events reads a stream of events to its end. Once the model has said why it
// stopped the answer is complete, and however the stream ends then is fine.
func (x *exchange) events(r io.Reader, a *assembly) error {
	decoder := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(r)})
	for decoder.Next() {
		event := decoder.Event()
		data := bytes.TrimSpace(event.Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			x.within(closing)
			_, _ = io.CopyN(io.Discard, r, 4<<10)
			return nil
		}
		if len(data) == 0 {
			continue
		}
		if event.Type == "error" {
			return frameFailure(data)
		}
		if err := a.event(data); err != nil {
			return err
		}
		if a.finish != "" {
			x.within(trailing)
		}
	}
	if a.finish != "" && x.caller.Err() == nil {
		return nil
	}
	return decoder.Err()
}

// event takes one event of a stream.
func (a *assembly) event(data []byte) error {
	chunk, err := decodeChunk(data)
	if err != nil {
		return err
	}
	a.add(chunk)
	return nil
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
			return servedFailure("the server sent a message that cannot be read: %v", err)
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
		return chunk, servedFailure("the server sent something that is not a chunk of an answer: %v", err)
	}
	switch chunk.JSON.ExtraFields["error"].Raw() {
	case "", "null", `""`, "{}", "false":
		return chunk, nil
	}
	return chunk, frameFailure(data)
}

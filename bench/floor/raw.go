package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// message is a message on the wire, as little of it as is needed.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	Call    string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chunk is one event of a stream.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
			Calls   []struct {
				Index int `json:"index"`
				call
			} `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
}

// readTool is the list of the one tool.
const readTool = `[{"type":"function","function":{"name":"read","description":"Reads a file.",` +
	`"parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]`

// runRaw is run without openai-go. It keeps nothing.
func runRaw(ctx context.Context, dir, _ string, phases []string) error {
	for _, phase := range phases {
		messages := []message{{Role: "user", Content: "Read the files."}}
		for {
			answer, err := askRaw(ctx, phase, messages)
			if err != nil {
				return fmt.Errorf("%s: %w", phase, err)
			}
			if len(answer.Calls) == 0 {
				break
			}
			messages = append(messages, answer)
			for _, c := range answer.Calls {
				messages = append(messages, message{
					Role:    "tool",
					Call:    c.ID,
					Content: read(dir, c.Function.Arguments),
				})
			}
		}
	}
	return nil
}

// askRaw makes one streamed request.
func askRaw(ctx context.Context, phase string, messages []message) (message, error) {
	answer := message{Role: "assistant"}
	body, err := json.Marshal(map[string]any{
		"model": "scripted", "messages": messages, "stream": true, "tools": json.RawMessage(readTool),
	})
	if err != nil {
		return answer, fmt.Errorf("encode the request: %w", err)
	}
	url := os.Getenv("OPENAI_BASE_URL") + "/chat/completions"
	content := bytes.NewReader(body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, content) //nolint:gosec // the scripted server
	if err != nil {
		return answer, fmt.Errorf("make the request: %w", err)
	}
	req.Header = http.Header{
		"Content-Type": {
			"application/json",
		}, "Authorization": {"Bearer " + os.Getenv("OPENAI_API_KEY")}, "X-Plan-Phase": {phase},
	}
	res, err := http.DefaultClient.Do(req) //nolint:gosec // the scripted server
	if err != nil {
		return answer, fmt.Errorf("ask the model: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it has been read
	if res.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("the server answers %s", res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return answer, fmt.Errorf("read the stream: %w", err)
		}
		answer.take(c)
	}
	return answer, lines.Err()
}

// take adds what a chunk says.
func (m *message) take(c chunk) {
	for _, choice := range c.Choices {
		m.Content += choice.Delta.Content
		for _, part := range choice.Delta.Calls {
			for len(m.Calls) <= part.Index {
				m.Calls = append(m.Calls, call{Type: "function"})
			}
			to := &m.Calls[part.Index]
			to.ID += part.ID
			to.Function.Name += part.Function.Name
			to.Function.Arguments += part.Function.Arguments
		}
	}
}

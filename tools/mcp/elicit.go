package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
)

// Question is what a server wants to know of the person.
type Question struct {
	Text    string
	Options []string // to choose from, where there are any
}

// Answer is what the person says; Given is false where there is none.
type Answer struct {
	Text  string
	Given bool
}

// property is one field that a server asks for.
type property struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
}

// mostFields is how many questions a server may ask at once.
const mostFields = 8

// elicit puts what a server asks to the person, a field at a time. Nothing but words of the
// person is an answer; an address is never opened.
func (s *Server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	no := &sdk.ElicitResult{Action: "decline"}
	if r.Params.Mode == "url" || r.Params.URL != "" {
		return no, nil
	}
	var schema struct {
		Properties map[string]property `json:"properties"`
	}
	data, err := json.Marshal(r.Params.RequestedSchema)
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	if err != nil || len(schema.Properties) > mostFields {
		return no, nil //nolint:nilerr // what cannot be asked is declined
	}
	about := fmt.Sprintf("The server %s asks: %s", s.cfg.Name, clean(r.Params.Message))
	if len(schema.Properties) == 0 {
		a := s.ask(ctx, Question{Text: about, Options: []string{"yes", "no"}})
		if a.Given && strings.EqualFold(strings.TrimSpace(a.Text), "yes") {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		}
		return no, nil
	}
	content := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[name]
		a := s.ask(ctx, p.question(about, name))
		value, ok := p.value(a)
		if !ok {
			return no, nil
		}
		content[name] = value
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// ask asks the person. The time until there is an answer is not the server's.
func (s *Server) ask(ctx context.Context, q Question) Answer {
	ctx, cancel := context.WithTimeout(ctx, longestAnswer)
	defer cancel()
	resume := s.clock.pause()
	a := s.cfg.Ask(ctx, q)
	text := a.Text
	if !a.Given {
		text = "no answer"
	}
	resume(fmt.Sprintf("[the person was asked: %s; %s]", q.Text, clean(text)))
	return a
}

func clean(text string) string { return oneline.Cut(oneline.Of(sanitize.Line(text)), 500) }

// question asks for one field.
func (p property) question(about, name string) Question {
	text := about + " [" + clean(name)
	if p.Description != "" {
		text += ": " + clean(p.Description)
	}
	q := Question{Text: text + "]"}
	for _, value := range p.Enum {
		q.Options = append(q.Options, clean(fmt.Sprint(value)))
	}
	if p.Type == "boolean" {
		q.Options = []string{"yes", "no"}
	}
	return q
}

// value is an answer as the field wants it.
func (p property) value(a Answer) (any, bool) {
	text := strings.TrimSpace(a.Text)
	if !a.Given {
		return nil, false
	}
	switch p.Type {
	case "boolean":
		return strings.EqualFold(text, "yes"), strings.EqualFold(text, "yes") || strings.EqualFold(text, "no")
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	}
	for _, value := range p.Enum {
		if clean(fmt.Sprint(value)) == text {
			return value, true
		}
	}
	return text, len(p.Enum) == 0
}

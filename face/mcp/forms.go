package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/sanitize"
)

// What waits for a person is asked in the answer of the call that meets it: the client
// shows a form to the one behind it, and makes the same call again with what was filled
// in. No answer never means yes, and neither does a client that is gone: the run stays
// parked.

// formState is what was asked. It goes out with the forms and comes back with the answers,
// signed, so that an answer is about nothing but what was shown.
type formState struct {
	Run   plan.RunID        `json:"run"`
	Shown map[string]string `json:"shown"` // the digest of each call
	Round int               `json:"round"` // of this call of a tool
}

// The rounds of forms that one call of a tool can have: clients of protocols before
// 2026-07-28 are asked once, and others give up after ten calls.
const (
	maxRounds    = 8
	manyRoundsOf = "2026-07-28"
)

// errNotAsked says that an answer came to what was not asked.
var errNotAsked = errors.New("this answers nothing that was asked: call the tool without requestState")

// sign makes the state that a client gives back.
func (s *server) sign(a formState) (string, error) {
	data, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("write down what is asked: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode(data) + "." + encode(s.signature(data)), nil
}

func (s *server) signature(data []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(data)
	return mac.Sum(nil)
}

// verify reads such a state.
func (s *server) verify(state string) (a formState, err error) {
	first, second, _ := strings.Cut(state, ".")
	data, err := base64.RawURLEncoding.DecodeString(first)
	signature, err2 := base64.RawURLEncoding.DecodeString(second)
	if err != nil || err2 != nil || !hmac.Equal(signature, s.signature(data)) {
		return a, errNotAsked
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, errNotAsked
	}
	return a, nil
}

// roundsOf says how many times the client of a call can be asked in it.
func roundsOf(c *sdk.CallToolRequest) int {
	if c == nil || c.Session == nil {
		return 0
	}
	p := c.Session.InitializeParams()
	switch {
	case p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil:
		return 0
	case p.ProtocolVersion >= manyRoundsOf:
		return maxRounds
	}
	return 1
}

// ask makes the forms for what a run waits with; nil where there is nothing to be asked,
// or no person who could be.
func (s *server) ask(c *sdk.CallToolRequest, run *engine.Run, round int) (*sdk.CallToolResult, error) {
	if run.Parked == nil || round >= roundsOf(c) {
		return nil, nil
	}
	a := formState{
		Run:   run.ID,
		Shown: map[string]string{},
		Round: round,
	}
	forms := sdk.InputRequestMap{}
	for _, w := range run.Parked.Waiting {
		doc := run.Plan()
		if w.IsPlan() && doc != nil {
			w = w.Bound(doc.Text)
		}
		w = w.Bound("")
		a.Shown[w.Call] = w.Digest
		forms[w.Call] = formOf(w, doc)
	}
	if len(forms) == 0 {
		return nil, nil
	}
	state, err := s.sign(a)
	return &sdk.CallToolResult{
		InputRequests: forms,
		RequestState:  state,
	}, err
}

// answered takes what a person filled in, and goes on with the run. It reports false for
// a call that is not such an answer.
func (s *server) answered(
	ctx context.Context,
	c *sdk.CallToolRequest,
	wait waitArgs,
) (_ *sdk.CallToolResult, d Document, found bool, err error) {
	if c == nil || c.Params == nil || c.Params.RequestState == "" {
		return nil, d, false, nil
	}
	a, err := s.verify(c.Params.RequestState)
	if err != nil {
		return nil, d, true, err
	}
	run, err := s.host.Standing(ctx, a.Run, nil)
	if err != nil {
		return nil, d, true, err
	}
	if run.Parked != nil {
		letters, complete := lettersOf(run, a, c.Params.InputResponses)
		for _, l := range letters {
			if _, err := s.host.Tell(ctx, run.ID, l); err != nil {
				return nil, d, true, err
			}
		}
		if !complete { // it is left for later
			d, err = s.document(ctx, run.ID)
			return nil, d, true, err
		}
		if err := s.runs.GoOn(run.ID, s.options.Run); err != nil {
			return nil, d, true, err
		}
	}
	res, d, err := s.answer(ctx, c, run.ID, wait, a.Round+1)
	return res, d, true, err
}

// lettersOf are the decisions and answers that a person gave. Complete reports whether there
// is one for everything that waits.
func lettersOf(run *engine.Run, a formState, got sdk.InputResponseMap) (letters []host.Letter, complete bool) {
	complete = true
	for _, w := range run.Parked.Waiting {
		digest, shown := a.Shown[w.Call]
		filled, ok := got[w.Call].(*sdk.ElicitResult)
		if !shown || !ok || filled.Action != "accept" {
			complete = false
			continue
		}
		l, clear := letterOf(w, filled.Content)
		if !clear {
			complete = false
			continue
		}
		l.Call = w.Call
		l.Digest = digest
		letters = append(letters, l)
	}
	return letters, complete
}

// What a person can choose. "Always" is not offered: it is for settings, or a terminal.
const (
	chooseOnce = "allow once"
	chooseRun  = "allow for this run"
	chooseNo   = "refuse"

	chooseCarryOut = "carry it out"
	chooseSendBack = "send it back"
	chooseEnd      = "end the run"
)

// field is one that a person fills in.
type field struct {
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
}

// form is what a person is shown: the first field has to be filled in.
func form(message, required string, fields map[string]field) *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Mode:    "form",
		Message: clean(message),
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": fields,
			"required":   []string{required},
		},
	}
}

// quoted is what a model wrote, set off from what is said about it: no line of it can
// pass for one of the form.
func quoted(text string) string {
	var out strings.Builder
	for line := range strings.Lines(clean(text)) {
		out.WriteString("  " + line)
	}
	return out.String()
}

// formOf asks about a call, a question or a plan.
func formOf(w plan.WaitingCall, doc *plan.PlanDoc) *sdk.ElicitParams {
	switch {
	case w.Question != "":
		return form("The run asks:\n\n"+quoted(w.Question), "answer", map[string]field{
			"answer": {
				Type:        "string",
				Description: strings.Join(w.Options, " | "),
			},
		})
	case w.IsPlan() && doc != nil:
		message := fmt.Sprintf("Version %d of the plan:\n\n%s", doc.Version, quoted(doc.Text))
		return form(message, "decision", map[string]field{
			"decision": {
				Type: "string",
				Enum: []string{chooseCarryOut, chooseSendBack, chooseEnd},
			},
			"comment": {
				Type:        "string",
				Description: "what should change, where it is sent back",
			},
		})
	}
	choices := []string{chooseOnce}
	message := fmt.Sprintf("The run wants to use %s. %s\n\n%s",
		sanitize.Line(w.Name), sanitize.Line(w.Why), quoted(w.Shown()))
	if w.Grant != (plan.Grant{}) {
		choices = append(choices, chooseRun)
		message += "\n\nFor this run means: " + sanitize.Line(host.GrantText(w.Grant))
	}
	return form(message, "decision", map[string]field{
		"decision": {
			Type: "string",
			Enum: append(choices, chooseNo),
		},
		"comment": {
			Type:        "string",
			Description: "why it is refused; the model reads it",
		},
	})
}

// letterOf is what a filled form means. It reports false where that is not clear.
func letterOf(w plan.WaitingCall, filled map[string]any) (host.Letter, bool) {
	textOf := func(name string) string {
		text, _ := filled[name].(string)
		return strings.TrimSpace(text)
	}
	if w.Question != "" {
		answer := textOf("answer")
		return host.Letter{
			Kind: host.Answer,
			Text: answer,
		}, answer != ""
	}
	l := host.Letter{
		Kind: host.Deny,
		Text: textOf("comment"),
	}
	switch decision := textOf("decision"); {
	case w.IsPlan() && decision == chooseCarryOut, !w.IsPlan() && decision == chooseOnce:
		l.Kind = host.Approve
	case !w.IsPlan() && decision == chooseRun:
		l.Kind = host.Approve
		l.Scope = plan.ScopeRun
	case w.IsPlan() && decision == chooseEnd:
		l.Reject = true
	case w.IsPlan() && decision == chooseSendBack:
		return l, l.Text != ""
	case !w.IsPlan() && decision == chooseNo:
	default:
		return l, false
	}
	return l, true
}

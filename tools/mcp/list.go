package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/loop/arguments"
)

// Lists keeps the tools of one server.
type Lists interface {
	Read() *List // nil for none
	Write(List) error
}

// List is what a server has said of its tools.
type List struct {
	Tools []Described `json:"tools"`
	// Accepted are the digests of the tools that may be called, by name: those of the first
	// list, and those to which a person has said yes since.
	Accepted map[string]string `json:"accepted"`
}

// Described is a tool as its server describes it.
type Described struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	ReadOnly    bool            `json:"read_only,omitempty"` // by the server's word
	Digest      string          `json:"digest"`
	// Broken says why it cannot be offered to a model; Suspicious what in its description
	// speaks to the model as if it were the user.
	Broken     string `json:"broken,omitempty"`
	Suspicious string `json:"suspicious,omitempty"`
	// Resource says that plan itself made the tool, for what the server lets read.
	Resource string `json:"resource,omitempty"`
}

// Bounds of what is taken from a server.
const (
	descriptionBytes = 2000
	schemaBytes      = 16 << 10
	nameBytes        = 128
)

// describe reads what a server says of a tool.
func describe(t *sdk.Tool) Described {
	d := Described{Name: sanitize.Line(t.Name)}
	if t.Annotations != nil {
		d.ReadOnly = t.Annotations.ReadOnlyHint
	}
	raw, err := plan.MarshalCompact(t.InputSchema)
	d.Digest = digestOf(t.Name, t.Title, t.Description, string(raw), fmt.Sprint(d.ReadOnly))
	text := strings.TrimSpace(t.Title + "\n" + t.Description)
	d.Suspicious = suspicious(text)
	d.Description = oneline.CutBytes(strings.TrimSpace(sanitize.Text(t.Description)), descriptionBytes)
	switch {
	case t.Name == "" || len(t.Name) > nameBytes || d.Name != t.Name:
		d.Name, d.Broken = oneline.CutBytes(d.Name, nameBytes), "its name cannot be used"
	case err != nil:
		d.Broken = "its schema cannot be read: " + err.Error()
	case len(raw) > schemaBytes:
		d.Broken = fmt.Sprintf("its schema has %d bytes, more than %d", len(raw), schemaBytes)
	default:
		d.Schema, d.Broken = schemaOf(raw)
	}
	return d
}

// schemaOf is a schema as servers of models take it, or what is wrong with it.
func schemaOf(raw json.RawMessage) (json.RawMessage, string) {
	var s map[string]any
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return nil, "its schema is no object"
	}
	if kind, there := s["type"]; there && kind != "object" {
		return nil, fmt.Sprintf("its schema is of type %v, and arguments are an object", kind)
	}
	s["type"] = "object"
	if s["properties"] == nil {
		s["properties"] = map[string]any{}
	}
	delete(s, "$schema")
	out, err := plan.MarshalCompact(s)
	if err != nil {
		return nil, "its schema cannot be written: " + err.Error()
	}
	if problem := arguments.New("it", out, false).Validate(json.RawMessage("{}")); strings.Contains(problem, "is broken") {
		return nil, oneline.Cut(problem, 300)
	}
	return out, ""
}

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// orders find what in a description speaks to a model: what it is to hide, to leave aside,
// to read or to send before anything else.
var orders = lazy.Regexp(`(?i)(ignore|disregard|forget)\s+(all|any|the|your|previous|prior|earlier)[^.\n]{0,40}` +
	`(instruction|prompt|rule)|(do not|don't|never|without)\s+(tell|mention|inform|show|telling|mentioning|informing)` +
	`[^.\n]{0,30}(user|person|human|anyone)|<\s*/?\s*(important|system|instructions?|secret)\s*>|system prompt|` +
	`you (must|should|have to) (first|always|also)|before (using|calling|you (use|call))[^.\n]{0,60}(read|send|call|cat)\b|` +
	`\.ssh/|id_rsa|\.env\b|api[_ ]key[^.\n]{0,20}(to|in) (this|the)|exfiltrat`)

// suspicious quotes what speaks to a model in a description, "" for nothing.
func suspicious(text string) string {
	if at := orders().FindString(text); at != "" {
		return oneline.Cut(oneline.Of(sanitize.Line(at)), 120)
	}
	if strings.ContainsFunc(text, unseen) {
		return "characters that cannot be seen"
	}
	return ""
}

// unseen are characters that a person does not see and a model reads.
func unseen(r rune) bool {
	switch {
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff:
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f
}

// accepts reports whether a tool may be called as it is.
func (l *List) accepts(d Described) bool { return d.Digest != "" && l.Accepted[d.Name] == d.Digest }

// held are the tools that wait for a person.
func (l *List) held() []Described {
	return slices.DeleteFunc(slices.Clone(l.Tools), func(d Described) bool { return d.Broken != "" || l.accepts(d) })
}

// waiting says which tools wait for a person, nil for none.
func (l *List) waiting(server string) error {
	held := l.held()
	if len(held) == 0 {
		return nil
	}
	return fmt.Errorf("%d tools wait for a person, because they are new, have changed, or hold orders to the model; "+
		"see them with `plan trust` (%s)", len(held), server)
}

// Digest is what a person says yes to: all tools as they are now.
func (l *List) Digest() string {
	var parts []string
	for _, d := range l.Tools {
		parts = append(parts, d.Name, d.Digest)
	}
	return digestOf(parts...)
}

// Waiting says for a person what of a list waits for a yes, "" for nothing.
func (l *List) Waiting() string {
	held := l.held()
	if len(held) == 0 {
		return ""
	}
	var b strings.Builder
	for i, d := range held {
		if i == 20 {
			fmt.Fprintf(&b, "and %d more\n", len(held)-i)
			break
		}
		what := "is new"
		if l.Accepted[d.Name] != "" {
			what = "has changed"
		}
		if d.Suspicious != "" {
			what += fmt.Sprintf(", and speaks to the model (%q)", d.Suspicious)
		}
		fmt.Fprintf(&b, "%s %s: %s\n", d.Name, what, oneline.Cut(oneline.Of(d.Description), 600))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// take makes of what a server says now a list, on top of the one that is kept. The first list
// is accepted, but for what holds orders to the model; later ones where a person has said yes.
func (s *Server) take(tools []Described) {
	s.listing.Lock()
	defer s.listing.Unlock()
	if s.list == nil && !s.read && s.cfg.Lists != nil {
		s.list = s.cfg.Lists.Read()
	}
	s.read = true
	next := List{Tools: tools, Accepted: map[string]string{}}
	first := s.list == nil
	yes := s.cfg.Trusted(next.Digest())
	for _, d := range tools {
		switch {
		case yes || first && d.Suspicious == "":
			next.Accepted[d.Name] = d.Digest
		case !first && s.list.Accepted[d.Name] != "":
			next.Accepted[d.Name] = s.list.Accepted[d.Name]
		}
	}
	if !first { // a tool that is gone for a while, and comes back changed, has changed
		for name, digest := range s.list.Accepted {
			if _, there := next.Accepted[name]; !there {
				next.Accepted[name] = digest
			}
		}
	}
	s.list = &next
	if s.cfg.Lists != nil {
		_ = s.cfg.Lists.Write(next) // the next connection asks again
	}
}

// relist asks a server for its tools, where that was not done or it says that they changed.
func (s *Server) relist(ctx context.Context, c *connection) error {
	if !c.stale.Swap(false) {
		return nil
	}
	tools, err := c.tools(ctx)
	if err != nil {
		c.stale.Store(true)
		return err
	}
	s.take(tools)
	return nil
}

// tools asks for all pages of the list.
func (c *connection) tools(ctx context.Context) ([]Described, error) {
	var out []Described
	cursor := ""
	for range mostPages {
		res, err := ask(ctx, c, func(ctx context.Context) (*sdk.ListToolsResult, error) {
			return c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		})
		if err != nil {
			return nil, fmt.Errorf("ask for its tools: %w", err)
		}
		for _, t := range res.Tools {
			if t != nil && len(out) < mostTools {
				out = append(out, describe(t))
			}
		}
		if cursor = res.NextCursor; cursor == "" {
			break
		}
	}
	if has := c.session.InitializeResult(); has != nil && has.Capabilities != nil && has.Capabilities.Resources != nil {
		out = append(out, resourceTools()...)
	}
	slices.SortFunc(out, func(a, b Described) int { return strings.Compare(a.Name, b.Name) })
	out = slices.CompactFunc(out, func(a, b Described) bool { return a.Name == b.Name })
	return out, nil
}

// resourceTools read what a server has to be read.
func resourceTools() []Described {
	list := Described{
		Name:        "list_resources",
		Description: "List what the server has to be read, with addresses for read_resource.",
		Schema:      json.RawMessage(`{"type":"object","properties":{}}`),
		ReadOnly:    true,
		Resource:    "list",
	}
	read := Described{
		Name:        "read_resource",
		Description: "Read one of the server's resources.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`),
		ReadOnly: true,
		Resource: "read",
	}
	for _, d := range []*Described{&list, &read} {
		d.Digest = digestOf(d.Name, d.Resource)
	}
	return []Described{list, read}
}

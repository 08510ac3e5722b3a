// Package catalog keeps what a source outside says of its tools, and which of them a person
// lets be called. What a source says is a claim: the first list counts as it is, but for
// what speaks to the model; a tool that is new or has changed since waits for a yes.
//
// The package must not know how a source is reached.
package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/loop/arguments"
)

// Store keeps the list of one source from one process to the next.
type Store interface {
	Read() *List // nil for none
	Write(List) error
}

// List is what a source has said of its tools.
type List struct {
	Tools []Tool `json:"tools"`
	// Accepted are the digests of the tools that may be called, by name: those of the first
	// list, and those to which a person has said yes since.
	Accepted map[string]string `json:"accepted"`
	// Of is what the list was made of, where the source can tell without being asked.
	Of string `json:"of,omitempty"`
}

// Tool is a tool as its source describes it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	ReadOnly    bool            `json:"read_only,omitempty"` // by the source's word
	Digest      string          `json:"digest"`
	// Broken says why it cannot be offered to a model; Suspicious what in its description
	// speaks to the model as if it were the user.
	Broken     string `json:"broken,omitempty"`
	Suspicious string `json:"suspicious,omitempty"`
	// How says how it is called, where that is not by its name.
	How string `json:"how,omitempty"`
}

// Declaration is what a source says of a tool.
type Declaration struct {
	Name, Title, Description string
	Schema                   json.RawMessage
	ReadOnly                 bool
	How                      string
}

// Bounds of what is taken from a source.
const (
	descriptionBytes = 2000
	schemaBytes      = 16 << 10
	nameBytes        = 128
)

// Describe reads what a source says of a tool.
func Describe(s Declaration) Tool {
	t := Tool{
		Name:     sanitize.Line(s.Name),
		ReadOnly: s.ReadOnly,
		How:      s.How,
	}
	t.Digest = digestOf(s.Name, s.Title, s.Description, string(s.Schema), fmt.Sprint(s.ReadOnly), s.How)
	text := strings.TrimSpace(s.Title + "\n" + s.Description)
	t.Suspicious = suspicious(text[:min(len(text), 2*descriptionBytes)]) // what is behind that, no model reads
	t.Description = oneline.CutBytes(strings.TrimSpace(sanitize.Text(s.Description)), descriptionBytes)
	switch {
	case s.Name == "" || len(s.Name) > nameBytes || t.Name != s.Name:
		t.Name, t.Broken = oneline.CutBytes(t.Name, nameBytes), "its name cannot be used"
	case len(s.Schema) > schemaBytes:
		t.Broken = fmt.Sprintf("its schema has %d bytes, more than %d", len(s.Schema), schemaBytes)
	default:
		t.Schema, t.Broken = schemaOf(s.Schema)
	}
	return t
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
	problem := arguments.New("it", out, false).Validate(json.RawMessage("{}"))
	if strings.Contains(problem, "is broken") {
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
	`you (must|should|have to) (first|always|also)|before (using|calling|you (use|call))[^.\n]{0,60}(read|send|` +
	`call|cat)\b|` +
	`\.ssh/|id_rsa|\.env\b|api[_ ]key[^.\n]{0,20}(to|in) (this|the)|exfiltrat`)

// suspicious quotes what speaks to a model in a description, "" for nothing.
func suspicious(text string) string {
	if at := orders().FindString(text); at != "" {
		return oneline.Cut(oneline.Of(sanitize.Line(at)), 120)
	}
	if !sanitize.IsInert(text) { // characters that a person does not see and a model reads
		return "characters that cannot be seen"
	}
	return ""
}

// accepts reports whether a tool may be called as it is.
func (l *List) accepts(d Tool) bool { return d.Digest != "" && l.Accepted[d.Name] == d.Digest }

// unaccepted are the tools that wait for a person.
func (l *List) unaccepted() []Tool {
	return slices.DeleteFunc(slices.Clone(l.Tools), func(d Tool) bool { return d.Broken != "" || l.accepts(d) })
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
	held := l.unaccepted()
	if len(held) == 0 {
		return ""
	}
	var b strings.Builder
	for i, d := range held {
		if i == 20 {
			fmt.Fprintf(&b, "and %d more\n", len(held)-i)
			break
		}
		status := "is new"
		if l.Accepted[d.Name] != "" {
			status = "has changed"
		}
		if d.Suspicious != "" {
			status += fmt.Sprintf(", and speaks to the model (%q)", d.Suspicious)
		}
		fmt.Fprintf(&b, "%s %s: %s\n", d.Name, status, oneline.Cut(oneline.Of(d.Description), 600))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Catalog is the list of one source. It is safe for concurrent use.
type Catalog struct {
	store   Store
	trusted func(digest string) bool

	mu   sync.Mutex
	list *List
	read bool // it was looked whether one is kept
}

// New makes a catalog. A nil store keeps nothing; trusted reports whether a person has said
// yes to a list, by its digest, and nil that none has.
func New(store Store, trusted func(digest string) bool) *Catalog {
	if trusted == nil {
		trusted = func(string) bool { return false }
	}
	return &Catalog{
		store:   store,
		trusted: trusted,
	}
}

// look reads the list that is kept, once. The caller holds the lock.
func (c *Catalog) look() {
	if !c.read && c.store != nil {
		c.list = c.store.Read()
	}
	c.read = true
}

// Of is what the list was made of, "" where there is none.
func (c *Catalog) Of() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.look(); c.list == nil {
		return ""
	}
	return c.list.Of
}

// Callable are the tools that may be called, nil where no list is known.
func (c *Catalog) Callable() []Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.look(); c.list == nil {
		return nil
	}
	out := []Tool{}
	yes := len(c.list.unaccepted()) > 0 && c.trusted(c.list.Digest()) // since they were last asked for
	for _, t := range c.list.Tools {
		if t.Broken == "" && (yes || c.list.accepts(t)) {
			out = append(out, t)
		}
	}
	return out
}

// Tool is a tool as its source describes it now, and whether that can be called.
func (c *Catalog) Tool(name string) (Tool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		return Tool{}, false
	}
	for _, t := range c.list.Tools {
		if t.Name == name {
			return t, t.Broken == ""
		}
	}
	return Tool{}, false
}

// Waiting says which tools of a source wait for a person, nil for none.
func (c *Catalog) Waiting(source string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		return nil
	}
	held := c.list.unaccepted()
	if len(held) == 0 || c.trusted(c.list.Digest()) {
		return nil
	}
	return fmt.Errorf("%d tools wait for a person, because they are new, have changed, or hold orders to the model; "+
		"see them with `plan trust` (%s)", len(held), source)
}

// Take makes of what a source says now the list, on top of the one that is kept. The first
// list is accepted, but for what holds orders to the model; later ones where a person has
// said yes. Of is what the list is made of, "" where that cannot be told.
func (c *Catalog) Take(tools []Tool, of string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	next := List{
		Tools:    tools,
		Accepted: map[string]string{},
		Of:       of,
	}
	first := c.list == nil
	yes := c.trusted(next.Digest())
	for _, t := range tools {
		switch {
		case yes || first && t.Suspicious == "":
			next.Accepted[t.Name] = t.Digest
		case !first && c.list.Accepted[t.Name] != "":
			next.Accepted[t.Name] = c.list.Accepted[t.Name]
		}
	}
	if !first { // a tool that is gone for a while, and comes back changed, has changed
		for name, digest := range c.list.Accepted {
			if _, there := next.Accepted[name]; !there {
				next.Accepted[name] = digest
			}
		}
	}
	c.list = &next
	if c.store != nil {
		_ = c.store.Write(next) // the next process asks again
	}
}

package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/arguments"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/tools/outside"
)

// Source is where tools come from, as a person sees it.
type Source struct {
	Name  string `json:"name"`
	Tools []Tool `json:"tools"`
	// Problem says what is missing, and why; Unknown that it was never asked for its tools.
	Problem string `json:"problem,omitempty"`
	Unknown bool   `json:"unknown,omitempty"`
}

// Tool is one tool, as a person sees it.
type Tool struct {
	Name        string          `json:"name"` // as rules have it
	Wire        string          `json:"wire"` // as models call it
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Reads       bool            `json:"reads"` // it may be called by phases that change nothing
	Bytes       int             `json:"bytes"` // that its schema takes in a request
}

// List says which tools there are. Sources that are not known are asked, and with refresh
// all of them.
func (t *Toolbox) List(ctx context.Context, p plan.Phase, refresh bool) ([]Source, error) {
	out := []Source{}
	with := *t
	with.fresh = refresh
	sources := with.Sources(p)
	set := outside.New(outside.Config{Sources: sources})
	for _, src := range sources {
		tools := src.Known()
		s := Source{Name: src.Name(), Tools: []Tool{}}
		if tools == nil || refresh {
			var err error
			if tools, err = src.Load(ctx); err != nil {
				s.Problem = err.Error()
			}
		}
		s.Unknown = tools == nil
		for _, tool := range tools {
			s.Tools = append(s.Tools, viewOf(tool.Info()))
		}
		out = append(out, s)
	}
	return out, set.Close()
}

func viewOf(info loop.Info) Tool {
	return Tool{
		Name:        outside.RuleName(info.Name),
		Wire:        info.Name,
		Description: outside.Words(info.Description),
		Schema:      info.Schema,
		Reads:       outside.Reads(info),
		Bytes:       outside.SchemaBytes(info.Spec),
	}
}

// Reads reports whether a tool that is known only reads.
func (t *Toolbox) Reads(name string) bool {
	for _, src := range t.Sources("") {
		for _, tool := range src.Known() {
			if info := tool.Info(); info.Name == name || outside.RuleName(info.Name) == name {
				return outside.Reads(info)
			}
		}
	}
	return false
}

// Try calls a tool by its name, in either form, once.
func (t *Toolbox) Try(ctx context.Context, p plan.Phase, name, args string) (_ loop.Result, err error) {
	sources := t.Sources(p)
	set := outside.New(outside.Config{Sources: sources})
	defer func() {
		if failed := set.Close(); err == nil {
			err = failed
		}
	}()
	tool, _ := set.Dispatch(name)
	if tool == nil { // it may not have been asked for yet
		for _, src := range sources {
			if strings.HasPrefix(name, src.Name()+".") || outside.SourceOf(name) == src.Name() {
				if _, err := src.Load(ctx); err != nil {
					return loop.Result{}, fmt.Errorf("%s: %w", src.Name(), err)
				}
			}
		}
		var problem string
		if tool, problem = set.Dispatch(name); tool == nil {
			return loop.Result{}, errors.New(strings.ReplaceAll(problem, "find_tools", "`plan tools list`"))
		}
	}
	info := tool.Info()
	mended, _, wrong := arguments.New(info.Name, info.Schema, false).Mend(args)
	if wrong != "" {
		return loop.Failed(wrong), nil
	}
	return tool.Run(ctx, loop.Input{Call: "try", Args: mended, Update: func(string) {}})
}

// Stats is what became of a tool, as a person sees it.
type Stats struct {
	Name    string  `json:"name"`
	Offered int     `json:"offered"`
	Called  int     `json:"called"`
	Failed  int     `json:"failed"`
	MeanMS  int64   `json:"mean_ms"`
	Last    *string `json:"last,omitempty"` // when it was called, as RFC 3339
}

// StatsOf are the statistics that are kept, for people.
func StatsOf(stored []memory.ToolStats) []Stats {
	out := []Stats{}
	for _, k := range stored {
		s := Stats{
			Name:    outside.RuleName(k.Tool),
			Offered: k.Offered,
			Called:  k.Called,
			Failed:  k.Failed,
			MeanMS:  k.Took.Milliseconds(),
		}
		if !k.Last.IsZero() {
			s.Last = new(k.Last.Format("2006-01-02T15:04:05Z07:00"))
		}
		out = append(out, s)
	}
	return out
}

// Tried is what came of a call that a person made.
type Tried struct {
	Output string `json:"output"`
	Error  bool   `json:"error"`
}

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/tools/catalog"
)

// describe reads what a server says of a tool.
func describe(t *sdk.Tool) catalog.Tool {
	declared := catalog.Declaration{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Description,
	}
	if t.Annotations != nil {
		declared.ReadOnly = t.Annotations.ReadOnlyHint
	}
	declared.Schema, _ = plan.MarshalCompact(t.InputSchema) // what it cannot write is no schema, and said to be
	return catalog.Describe(declared)
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
	s.catalog.Take(tools, "")
	return nil
}

// tools asks for all pages of the list.
func (c *connection) tools(ctx context.Context) ([]catalog.Tool, error) {
	var out []catalog.Tool
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
	slices.SortFunc(out, func(a, b catalog.Tool) int { return strings.Compare(a.Name, b.Name) })
	out = slices.CompactFunc(out, func(a, b catalog.Tool) bool { return a.Name == b.Name })
	return out, nil
}

// How the tools are called that plan itself makes for what a server lets be read.
const (
	howList = "list"
	howRead = "read"
)

// resourceTools read what a server has to be read.
func resourceTools() []catalog.Tool {
	return []catalog.Tool{
		catalog.Describe(catalog.Declaration{
			Name:        "list_resources",
			Description: "List what the server has to be read, with addresses for read_resource.",
			Schema:      json.RawMessage(`{"type":"object","properties":{}}`),
			ReadOnly:    true,
			How:         howList,
		}),
		catalog.Describe(catalog.Declaration{
			Name:        "read_resource",
			Description: "Read one of the server's resources.",
			Schema: json.RawMessage(
				`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],` +
					`"additionalProperties":false}`,
			),
			ReadOnly: true,
			How:      howRead,
		}),
	}
}

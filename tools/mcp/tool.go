package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/catalog"
	"github.com/plan-engine/plan/tools/outside"
)

// tool is a tool of a server.
type tool struct {
	server    *Server
	described catalog.Tool
}

// Info implements loop.Tool.
func (t *tool) Info() loop.Info {
	s, d := t.server, t.described
	info := loop.Info{
		Spec: loop.Spec{
			Name:        outside.Name("mcp", s.cfg.Name, d.Name),
			Schema:      d.Schema,
			Description: outside.OwnWords + d.Description,
		},
		Effect:   plan.EffectUnknown,
		Writes:   true,
		Category: loop.CategoryMCP,
		Timeout:  s.cfg.Timeout + 2*startPatience,
	}
	if s.cfg.Ask != nil {
		info.Timeout += longestAnswer
	}
	if d.ReadOnly && fits(s.cfg.ReadOnly, d.Name) {
		info.Effect, info.Writes = plan.EffectReplay, false
	}
	return info
}

// Run implements loop.Tool. Whatever goes wrong is a result.
func (t *tool) Run(ctx context.Context, in loop.Input) (loop.Result, error) {
	s := t.server
	name := s.Name() + "." + t.described.Name
	c, err := s.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return t.stopped(ctx, ""), nil
		}
		return loop.Failed(fmt.Sprintf("%s cannot be called: %s. Nothing was done; go on without it.",
			name, oneline.Cut(oneline.Of(err.Error()), 600))), nil
	}
	now, ok := s.catalog.Tool(t.described.Name)
	switch {
	case !ok:
		return loop.Failed(name + " is not there any more: its server does not list it now. Nothing was done."), nil
	case now.Digest != t.described.Digest:
		return loop.Failed(fmt.Sprintf(
			"%s was not called: its server describes it otherwise than when it was accepted, and a person has to "+
				"look at that first (`plan trust`). Go on without it.",
			name,
		)), nil
	}
	within, stop := s.clock.start(ctx, s.cfg.Timeout)
	defer stop()
	began := s.cfg.Now()
	res, err := t.call(within, c, in)
	if s.cfg.Observe != nil {
		s.cfg.Observe(ctx, t.Info().Name, s.cfg.Now().Sub(began), err != nil || res != nil && res.IsError)
	}
	switch {
	case err == nil:
		c.missed.Store(0)
		out := t.result(res)
		out.Output += s.clock.takeQuestions()
		return out, nil
	case ctx.Err() != nil:
		return t.stopped(ctx, ""), nil
	case errors.Is(err, errSlow):
		if c.missed.Add(1) >= mostMissed {
			c.fail(fmt.Errorf("it left %d calls in a row unanswered, and was ended", mostMissed))
			c.end()
		}
		return t.stopped(
			ctx,
			fmt.Sprintf("%s did not answer in %s, and the call was given up. ", name, s.cfg.Timeout),
		), nil
	}
	failed := loop.Failed(fmt.Sprintf("%s failed: %s.", name, oneline.Cut(oneline.Of(err.Error()), 600)))
	if c.dead() != nil && !outside.Reads(t.Info()) {
		failed.Output += outside.Unsure
		failed.Status = "unknown"
	}
	return failed, nil
}

var errSlow = errors.New("the server did not answer in time")

// stopped is the result of a call that was given up.
func (t *tool) stopped(ctx context.Context, why string) loop.Result {
	res := loop.Result{
		Output: why,
		Error:  true,
		Status: "timeout",
	}
	if ctx.Err() != nil {
		res.Output, res.Status = "Cancelled.", "cancelled"
	}
	if !outside.Reads(t.Info()) {
		res.Output = strings.TrimSpace(res.Output) + outside.Unsure
	}
	return res
}

// call makes a call.
func (t *tool) call(ctx context.Context, c *connection, in loop.Input) (*sdk.CallToolResult, error) {
	switch t.described.How {
	case howList:
		return c.listResources(ctx)
	case howRead:
		return c.readResource(ctx, in.Args)
	}
	token := in.Key
	if token == "" {
		token = in.Call
	}
	params := &sdk.CallToolParams{Name: t.described.Name, Arguments: in.Args}
	if token != "" && in.Update != nil {
		params.SetProgressToken(token)
		c.watch(token, t.paced(in.Update))
		defer c.watch(token, nil)
	}
	return ask(ctx, c, func(ctx context.Context) (*sdk.CallToolResult, error) {
		return c.session.CallTool(ctx, params)
	})
}

// paced lets through what comes not too soon after what came before.
func (t *tool) paced(update func(string)) func(string) {
	const least = 200 * time.Millisecond
	var last time.Time
	return func(text string) {
		if now := t.server.cfg.Now(); now.Sub(last) >= least {
			last = now
			update(text)
		}
	}
}

// watch says where progress of a call goes; nil: nowhere any more.
func (c *connection) watch(token string, update func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if update == nil {
		delete(c.progress, token)
		return
	}
	c.progress[token] = update
}

// listBytes bounds a list of resources.
const listBytes = 8 << 20

// result is what a model reads of an answer.
func (t *tool) result(res *sdk.CallToolResult) loop.Result {
	switch {
	case res == nil:
		return loop.Failed(t.server.Name() + " answered with nothing.")
	case res.IsError:
		return outside.Answer(textOf(res), "The server says that it failed.")
	}
	return outside.Answer(textOf(res), "")
}

// textOf writes an answer as text.
func textOf(res *sdk.CallToolResult) string {
	var parts []string
	for _, content := range res.Content {
		switch c := content.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			parts = append(parts, fmt.Sprintf("[a picture, %s, %d bytes, which is not shown]", c.MIMEType, len(c.Data)))
		case *sdk.AudioContent:
			parts = append(parts, fmt.Sprintf("[a sound, %s, %d bytes, which is not played]", c.MIMEType, len(c.Data)))
		case *sdk.ResourceLink:
			parts = append(parts, fmt.Sprintf("[a resource: %s %s]", c.URI, c.Name))
		case *sdk.EmbeddedResource:
			parts = append(parts, resourceText(c.Resource))
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if data, err := json.MarshalIndent(res.StructuredContent, "", " "); err == nil {
			parts = append(parts, string(data))
		}
	}
	if len(parts) == 0 {
		return "(nothing)"
	}
	return strings.Join(parts, "\n")
}

func resourceText(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Text != "":
		return fmt.Sprintf("%s:\n%s", r.URI, r.Text)
	}
	return fmt.Sprintf("[%s, %s, %d bytes, which are no text]", r.URI, r.MIMEType, len(r.Blob))
}

// listResources lists what the server has to be read.
func (c *connection) listResources(ctx context.Context) (*sdk.CallToolResult, error) {
	var b strings.Builder
	cursor := ""
	for range mostPages {
		res, err := ask(ctx, c, func(ctx context.Context) (*sdk.ListResourcesResult, error) {
			return c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		})
		if err != nil {
			return nil, err
		}
		for _, r := range res.Resources {
			fmt.Fprintf(&b, "%s %s %s\n", r.URI, r.Name, oneline.Cut(oneline.Of(r.Description), 200))
		}
		if cursor = res.NextCursor; cursor == "" || b.Len() > listBytes {
			break
		}
	}
	return textResult(b.String()), nil
}

// readResource reads one of them.
func (c *connection) readResource(ctx context.Context, args json.RawMessage) (*sdk.CallToolResult, error) {
	var wanted struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(args, &wanted); err != nil {
		return nil, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	res, err := ask(ctx, c, func(ctx context.Context) (*sdk.ReadResourceResult, error) {
		return c.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: wanted.URI})
	})
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, r := range res.Contents {
		parts = append(parts, resourceText(r))
	}
	return textResult(strings.Join(parts, "\n")), nil
}

func textResult(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

package mcp

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan/internal/hint"
)

// answering goes on with a call for which a person has filled in a form, and makes any
// other.
func answering[A interface{ wait() waitArgs }](
	s *server,
	call sdk.ToolHandlerFor[A, Document],
) sdk.ToolHandlerFor[A, Document] {
	return func(ctx context.Context, c *sdk.CallToolRequest, a A) (*sdk.CallToolResult, Document, error) {
		if res, d, found, err := s.answered(ctx, c, a.wait()); found {
			return res, d, err
		}
		return call(ctx, c, a)
	}
}

// advising has a tool's error say what to do about it.
func advising[A, R any](call sdk.ToolHandlerFor[A, R]) sdk.ToolHandlerFor[A, R] {
	return func(ctx context.Context, c *sdk.CallToolRequest, a A) (*sdk.CallToolResult, R, error) {
		res, out, err := call(ctx, c, a)
		return res, out, withHint(err)
	}
}

// withHint is an error with what to do about it, as a model reads it.
func withHint(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if advice := hint.Of(err); advice != "" {
		text += ". " + advice
	}
	return errors.New(clean(text))
}

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// readRun is a run as a resource.
func (s *server) readRun(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	id, err := s.run(ctx, strings.TrimPrefix(r.Params.URI, resourcePrefix))
	if err != nil {
		return nil, sdk.ResourceNotFoundError(r.Params.URI) //nolint:wrapcheck // the protocol's own error for it
	}
	d, err := s.document(ctx, id)
	if err != nil {
		return nil, withHint(err)
	}
	run, err := s.host.Standing(ctx, id, nil)
	if err != nil {
		return nil, withHint(err)
	}
	whole := struct {
		Document
		Plan   string `json:"plan,omitempty"`
		Report string `json:"report,omitempty"`
	}{
		Document: d,
		Report:   clean(run.Report),
	}
	if doc := run.Plan(); doc != nil {
		whole.Plan = clean(doc.Text)
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("encode run %s: %w", id, err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{
		URI:      r.Params.URI,
		MIMEType: "application/json",
		Text:     string(data),
	}}}, nil
}

// resourcePrefix begins the addresses of runs.
const resourcePrefix = "plan://runs/"

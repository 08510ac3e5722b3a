package traces

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/userinfo"
)

// The variables that say where spans go, as all programs have them.
const (
	endpointEnv       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointEnv = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	headersEnv        = "OTEL_EXPORTER_OTLP_HEADERS"
	serviceEnv        = "OTEL_SERVICE_NAME"
	contentEnv        = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
)

// path is where a collector takes spans.
const path = "/v1/traces"

// perRequest is how many spans are sent at once.
const perRequest = 500

// Collector takes spans.
type Collector struct {
	URL     string            // of its traces
	Headers map[string]string // such as keys
	Service string            // what it is told that they come from
	Content bool              // what models and tools said is wanted, too
}

// CollectorOf is the collector that the environment names. It reports false for none.
func CollectorOf(getenv func(string) string) (Collector, bool) {
	c := at(getenv)
	switch {
	case getenv(tracesEndpointEnv) != "":
		c.URL = getenv(tracesEndpointEnv)
	case getenv(endpointEnv) != "":
		c.URL = strings.TrimRight(getenv(endpointEnv), "/") + path
	default:
		return c, false
	}
	return c, true
}

// CollectorAt is the collector at an address. One without a path takes spans at the usual
// one.
func CollectorAt(address string, getenv func(string) string) (Collector, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Collector{}, hint.Usage(
			"--otlp %q: write the address of a collector, such as http://127.0.0.1:4318",
			address,
		)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = path
	}
	c := at(getenv)
	c.URL = u.String()
	return c, nil
}

func at(getenv func(string) string) Collector {
	c := Collector{
		Headers: map[string]string{},
		Service: getenv(serviceEnv),
		Content: getenv(contentEnv) == "true",
	}
	if c.Service == "" {
		c.Service = "plan"
	}
	for pair := range strings.SplitSeq(getenv(headersEnv), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if text, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			c.Headers[strings.TrimSpace(name)] = text
		}
	}
	return c
}

// Send sends spans.
func (c Collector) Send(ctx context.Context, client *http.Client, spans []Span) error {
	for len(spans) > 0 {
		n := min(len(spans), perRequest)
		if err := c.send(ctx, client, spans[:n]); err != nil {
			return fmt.Errorf("send spans to %s: %w", userinfo.Redact(c.URL), err)
		}
		spans = spans[n:]
	}
	return nil
}

func (c Collector) send(ctx context.Context, client *http.Client, spans []Span) error {
	data, err := json.Marshal(c.document(spans))
	if err != nil {
		return fmt.Errorf("encode them: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range c.Headers {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		return err //nolint:wrapcheck // it names the address
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s: %s", response.Status, text)
	}
	return nil
}

// The protocol's messages, with the field names of its JSON form.
type (
	document struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []wireSpan `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	wireSpan struct {
		TraceID      string      `json:"traceId"`
		SpanID       string      `json:"spanId"`
		ParentSpanID string      `json:"parentSpanId,omitempty"`
		Name         string      `json:"name"`
		Kind         Kind        `json:"kind"`
		Start        string      `json:"startTimeUnixNano"`
		End          string      `json:"endTimeUnixNano"`
		Attributes   []attribute `json:"attributes,omitempty"`
		Status       status      `json:"status"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
	attribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// statusError is the protocol's number for what failed.
const statusError = 2

func (c Collector) document(spans []Span) document {
	wire := make([]wireSpan, len(spans))
	for i, s := range spans {
		wire[i] = wireSpan{
			TraceID: hex.EncodeToString(s.Trace[:]),
			SpanID:  hex.EncodeToString(s.ID[:]),
			Name:    s.Name,
			Kind:    s.Kind,
			Start:   nanos(s.Start),
			End:     nanos(s.End),
		}
		if s.Parent != ([8]byte{}) {
			wire[i].ParentSpanID = hex.EncodeToString(s.Parent[:])
		}
		if s.Failed {
			wire[i].Status.Code = statusError
		}
		for _, a := range s.Attrs {
			wire[i].Attributes = append(wire[i].Attributes, a.wire())
		}
	}
	from := Attr{
		Key:   "service.name",
		Value: c.Service,
	}
	return document{ResourceSpans: []resourceSpans{{
		Resource: resource{Attributes: []attribute{from.wire()}},
		ScopeSpans: []scopeSpans{{
			Scope: scope{Name: "plan"},
			Spans: wire,
		}},
	}}}
}

// wire is the attribute in the protocol's form, in which whole numbers are strings.
func (a Attr) wire() attribute {
	out := attribute{Key: a.Key}
	switch v := a.Value.(type) {
	case int64:
		out.Value = map[string]any{"intValue": strconv.FormatInt(v, 10)}
	case float64:
		out.Value = map[string]any{"doubleValue": v}
	case bool:
		out.Value = map[string]any{"boolValue": v}
	default:
		out.Value = map[string]any{"stringValue": fmt.Sprint(v)}
	}
	return out
}

func nanos(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

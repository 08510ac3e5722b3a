// Package openai speaks OpenAI's Chat Completions wire, as OpenAI and the many
// servers that imitate it serve it, and turns it into [loop.Model].
//
// It is the only package that knows the OpenAI SDK. It makes one attempt per
// call (retrying is the loop's), keeps no conversation, and must not know about
// phases, tools, journals or prices. It reads no environment variables.
package openai

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/plan-engine/plan/loop"
)

// The ways to ask for an answer that fits a schema (see [Config.Structured]).
const (
	StructuredAuto   = "auto"   // schema where it is known to work, else text
	StructuredSchema = "schema" // response_format json_schema, strict
	StructuredTool   = "tool"   // an extra function tool whose arguments are the answer
	StructuredText   = "text"   // nothing: the prompt alone asks
)

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultIdle is how long a server may be silent.
const DefaultIdle = 2 * time.Minute

// openAIHost is the host whose habits differ from those of its imitators.
const openAIHost = "api.openai.com"

// Config describes a server. The zero value talks to OpenAI without a key.
type Config struct {
	// BaseURL is what comes before /chat/completions; default DefaultBaseURL.
	BaseURL string
	// Key is asked before every call. A nil Key, or an empty key, sends no
	// Authorization header.
	Key func(ctx context.Context) (string, error)
	// HTTP carries the requests; default a client of our own, without a total
	// timeout. Redirects are not followed unless its CheckRedirect says so.
	HTTP *http.Client
	// Idle bounds the silence of the server: before the headers, and between
	// any two reads of the body. Keep-alive comments break the silence.
	// Default DefaultIdle.
	Idle time.Duration
	// Structured is one of the Structured constants; default StructuredAuto.
	Structured string
	// Caps says what a model can do; nil means nothing out of the ordinary.
	Caps func(model string) Caps
	// Now reads the clock for Retry-After dates; default time.Now.
	Now func() time.Time
}

// Caps are abilities that not every server or model has.
type Caps struct {
	StructuredOutput bool // response_format json_schema works
	SendReasoning    bool // the server wants reasoning sent back
}

// Client is a [loop.Model] for one server. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base *url.URL
	chat sdk.ChatCompletionService
	list sdk.ModelService

	mu      sync.Mutex
	refused map[string]nameSet // parameters each model turned out not to take

	said  transcripts
	fixed fixed
}

var _ loop.Model = (*Client)(nil)

// New makes a client, or says what is wrong with cfg. It sends nothing.
func New(cfg Config) (*Client, error) {
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	switch cfg.Structured {
	case "":
		cfg.Structured = StructuredAuto
	case StructuredAuto, StructuredSchema, StructuredTool, StructuredText:
	default:
		return nil, fmt.Errorf("structured output mode %q is unknown: use auto, schema, tool or text", cfg.Structured)
	}
	if cfg.Idle < 0 {
		return nil, fmt.Errorf("idle timeout %s is negative: use a positive duration, or 0 for %s", cfg.Idle, DefaultIdle)
	}
	if cfg.Idle == 0 {
		cfg.Idle = DefaultIdle
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.HTTP = httpClient(cfg.HTTP)
	opts := []option.RequestOption{
		option.WithBaseURL(base.String()), option.WithHTTPClient(cfg.HTTP), option.WithMaxRetries(0),
	}
	return &Client{
		cfg: cfg, base: base, refused: make(map[string]nameSet),
		// The services, unlike the SDK's client, read no environment variables.
		chat: sdk.NewChatCompletionService(opts...), list: sdk.NewModelService(opts...),
	}, nil
}

// Close drops idle connections. The client stays usable.
func (c *Client) Close() { c.cfg.HTTP.CloseIdleConnections() }

// parseBase checks a base URL and returns it with a path that ends in "/".
func parseBase(text string) (*url.URL, error) {
	if text == "" {
		text = DefaultBaseURL
	}
	base, err := url.Parse(text)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, fmt.Errorf("the model server's base URL is not a URL: %w", err)
	}
	problem := ""
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Hostname() == "":
		problem = "start it with http:// or https:// and a host"
	case base.User != nil:
		problem = "leave the user name and password out and use an API key"
	case base.RawQuery != "" || base.Fragment != "":
		problem = "leave the part after ? or # out"
	case strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/chat/completions"):
		problem = "leave /chat/completions out: it is added"
	}
	if problem != "" {
		return nil, fmt.Errorf("the model server's base URL %q cannot be used: %s", base.Redacted(), problem)
	}
	base.Path = strings.TrimRight(base.Path, "/") + "/"
	return base, nil
}

// httpClient returns a copy of given, or a client of our own, that does not
// follow redirects: net/http would turn the POST into a GET and the server's
// complaint about that would hide the reason.
func httpClient(given *http.Client) *http.Client {
	client := http.Client{}
	if given != nil {
		client = *given
	} else {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
		client.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 8,
			// Compressed event streams arrive late, in lumps.
			DisableCompression: true,
			// A request goes out in one piece. What does not fit is copied
			// through a buffer that is made for each request.
			WriteBufferSize: 64 << 10,
		}
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &client
}

// Generate implements [loop.Model]. A request that is refused because of a
// parameter it could do without is made again without it, and the client
// remembers that for the model.
func (c *Client) Generate(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	source := c.cfg.Key
	if req.Key != "" {
		source = func(context.Context) (string, error) { return req.Key, nil }
	}
	key, err := askKey(ctx, source)
	if err != nil {
		return loop.Answer{}, err
	}
	refused := c.known(req.Model)
	for {
		body, err := c.encode(req, refused)
		if err != nil {
			return loop.Answer{}, err
		}
		answer, err := c.attempt(ctx, key, req, body, live)
		if err == nil {
			c.remember(req.Model, refused)
			return answer, nil
		}
		var no *refusal
		if !errors.As(err, &no) {
			return loop.Answer{}, err
		}
		named := body.named(no.text)
		if len(named) == 0 {
			return loop.Answer{}, no.ModelError
		}
		refused = refused.with(named)
	}
}

// attempt sends one request and reads its answer.
func (c *Client) attempt(ctx context.Context, key string, req loop.Call, body body, live func(loop.Delta)) (loop.Answer, error) {
	said, err := body.text()
	if err != nil {
		return loop.Answer{}, err
	}
	x := c.begin(ctx, key)
	x.said = said
	defer x.end()
	opts := x.options(req.Headers)
	var raw *http.Response
	opts = append(opts, option.WithRequestBody("application/json", said.open()), option.WithResponseBodyInto(&raw))
	//nolint:contextcheck // x.ctx is made from ctx
	if _, err := c.chat.New(x.ctx, sdk.ChatCompletionNewParams{}, opts...); err != nil {
		return loop.Answer{}, x.failure(err)
	}
	if x.res.StatusCode >= http.StatusMultipleChoices {
		return loop.Answer{}, x.failure(nil)
	}
	answer := newAssembly(req, body.formatTool, live)
	if err := x.read(answer); err != nil {
		return loop.Answer{}, x.failure(err)
	}
	return answer.finished(), nil
}

// Models lists the models the server offers, in the server's order.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	key, err := askKey(ctx, c.cfg.Key)
	if err != nil {
		return nil, err
	}
	x := c.begin(ctx, key)
	defer x.end()
	page, err := c.list.List(x.ctx, x.options(nil)...) //nolint:contextcheck // x.ctx is made from ctx
	if err != nil || x.res.StatusCode >= http.StatusMultipleChoices {
		err = x.failure(err)
		var no *refusal
		if errors.As(err, &no) {
			return nil, no.ModelError
		}
		return nil, err
	}
	names := make([]string, 0, len(page.Data))
	for _, model := range page.Data {
		if model.ID != "" {
			names = append(names, model.ID)
		}
	}
	return names, nil
}

// askKey asks for the key of a call.
func askKey(ctx context.Context, source func(context.Context) (string, error)) (string, error) {
	if source == nil {
		return "", nil
	}
	key, err := source(ctx)
	key = strings.TrimSpace(key)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", &loop.ModelError{Kind: loop.ErrAuth, Message: oneLine("get the API key: " + err.Error()), Err: err}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", &loop.ModelError{Kind: loop.ErrAuth, Message: "the API key has white space or control characters in it: check where it is read from"}
	}
	return key, nil
}

// known returns what the model was found to refuse.
func (c *Client) known(model string) nameSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[model]
}

// remember keeps what had to be left out of a request that then succeeded.
func (c *Client) remember(model string, refused nameSet) {
	if len(refused) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[model] = c.refused[model].with(slices.Collect(maps.Keys(refused)))
}

// nameSet is a set of parameter names. It is never changed once made.
type nameSet map[string]bool

// with returns the set with names in it.
func (s nameSet) with(names []string) nameSet {
	out := make(nameSet, len(s)+len(names))
	maps.Copy(out, s)
	for _, name := range names {
		out[name] = true
	}
	return out
}

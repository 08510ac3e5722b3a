package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// How long a server may take, unless [Config] says otherwise.
const (
	DefaultFirstByte = 15 * time.Minute // no byte for minutes is normal where a model thinks
	LocalFirstByte   = time.Hour        // a server on this machine reads the prompt itself
	DefaultIdle      = 2 * time.Minute
	DefaultWhole     = 30 * time.Minute
)

// The ways to say who is calling (see [Config.Auth]).
const (
	AuthBearer  = "bearer"    // Authorization: Bearer KEY
	AuthAPIKey  = "api-key"   // api-key: KEY, as Azure has it
	AuthXAPIKey = "x-api-key" // x-api-key: KEY, as Anthropic has it
	AuthNone    = "none"      // nothing
)

// The ways to ask for an answer that fits a schema (see [Config.Structured]).
const (
	StructuredAuto   = "auto"   // schema where it is known to work, else text
	StructuredSchema = "schema" // the wire's own way, strict
	StructuredTool   = "tool"   // an extra tool whose arguments are the answer
	StructuredText   = "text"   // nothing: the prompt alone asks
)

// Config describes a server.
type Config struct {
	// Provider is the server's name in the settings. It marks what only this
	// server may see; default "default".
	Provider string
	// BaseURL is what comes before the paths of the protocol.
	BaseURL string
	// Key is asked before every call. A nil Key, or an empty key, sends none.
	Key func(ctx context.Context) (string, error)
	// Auth is one of the Auth constants; default AuthBearer.
	Auth string
	// Headers and Query go with every request.
	Headers map[string]string
	Query   map[string]string
	// Secrets are texts beside the key that no error may hold, such as values of
	// headers. Those of less than four bytes are no secrets.
	Secrets []string
	// Body is laid over every request: a field that is there already is
	// replaced.
	Body map[string]json.RawMessage
	// Structured is one of the Structured constants; default StructuredAuto.
	Structured string
	// NoCache leaves out the marks that let a server keep the prompt, on wires that
	// have such marks.
	NoCache bool
	// HTTP carries the requests; default a client of our own, without a total
	// timeout. Redirects are not followed unless its CheckRedirect says so.
	HTTP *http.Client
	// FirstByte bounds the wait for the first byte of an answer; default
	// DefaultFirstByte, and LocalFirstByte for a server on this machine.
	FirstByte time.Duration
	// Idle bounds the silence between any two reads of an answer that has
	// begun. Keep-alive comments break it. Default DefaultIdle.
	Idle time.Duration
	// Whole bounds all of an answer; default DefaultWhole.
	Whole time.Duration
	// Known is what earlier processes found that models do not take.
	Known []plan.Adjusted
	// Now reads the clock for dates in answers; default time.Now.
	Now func() time.Time
}

// Protocol writes the requests of one wire and reads its answers. It is safe for
// concurrent use.
type Protocol interface {
	// Encode writes a call without what the server was found to refuse. Its
	// bytes depend on nothing else.
	Encode(call loop.Call, mends Mends) (Request, error)
	// Begin starts to put the answer to a request together.
	Begin(call loop.Call, sent Request, live func(loop.Delta)) Assembly
	// Events splits a stream.
	Events(stream io.Reader) iter.Seq2[Event, error]
}

// Request is an encoded call.
type Request struct {
	Path string // below the base URL
	Body Text
	// Headers go with this request; the server's own are laid over them.
	Headers map[string]string
	// Optional is what the request could do without, or say in another way.
	Optional []Optional
	// Tool is the tool whose call is the answer, "" if there is none.
	Tool string
}

// Event is one event of a stream, or a whole answer.
type Event struct {
	Type string // as the stream names it; may be ""
	Data []byte
	// Whole says that Data is a whole answer, from a server that does not
	// stream.
	Whole bool
}

// EventDone is the type of the event that stands for the end mark of a stream.
const EventDone = "[DONE]"

// Assembly puts one answer together.
type Assembly interface {
	// Add takes the next event. A failure that the server reports in it is a
	// [Failure].
	Add(ev Event) error
	// Complete reports whether the model has said why it stopped. However the
	// stream ends then is fine.
	Complete() bool
	// Answer is what there is so far; of one that broke off, the usage counts.
	Answer() loop.Answer
}

// Client is a [loop.Model] for one server. It is safe for concurrent use.
type Client struct {
	cfg      Config
	base     *url.URL
	protocol Protocol
	mends    memory
}

var _ loop.Model = (*Client)(nil)

// New makes a client, or says what is wrong with cfg. It sends nothing. Suffixes
// are ends of a base URL that the protocol adds itself.
func New(cfg Config, p Protocol, suffixes ...string) (*Client, error) {
	base, err := parseBase(cfg.BaseURL, suffixes)
	if err != nil {
		return nil, err
	}
	for name, d := range map[string]time.Duration{"first byte": cfg.FirstByte, "idle": cfg.Idle, "answer": cfg.Whole} {
		if d < 0 {
			return nil, fmt.Errorf(
				"the %s timeout %s is negative: use a positive duration, or 0 for the default",
				name,
				d,
			)
		}
	}
	if cfg.Structured != "" && !slices.Contains(StructuredModes(), cfg.Structured) {
		return nil, fmt.Errorf(
			"structured output mode %q is unknown: use %s",
			cfg.Structured,
			Alternatives(StructuredModes()),
		)
	}
	if cfg.Auth != "" && !slices.Contains(Auths(), cfg.Auth) {
		return nil, fmt.Errorf(
			"the way to authenticate %q is unknown: use %s",
			cfg.Auth,
			Alternatives(Auths()),
		)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Headers)) {
		if err := checkHeader(name, cfg.Headers[name]); err != nil {
			return nil, modelError(err)
		}
	}
	firstByte := DefaultFirstByte
	if isLoopback(base.Hostname()) {
		firstByte = LocalFirstByte
	}
	cfg.Provider = cmp.Or(cfg.Provider, "default")
	cfg.Auth = cmp.Or(cfg.Auth, AuthBearer)
	cfg.FirstByte = cmp.Or(cfg.FirstByte, firstByte)
	cfg.Idle = cmp.Or(cfg.Idle, DefaultIdle)
	cfg.Whole = cmp.Or(cfg.Whole, DefaultWhole)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.HTTP = httpClient(cfg.HTTP)
	c := &Client{
		cfg:      cfg,
		base:     base,
		protocol: p,
	}
	c.mends.recall(cfg.Known)
	return c, nil
}

// Close drops idle connections. The client stays usable.
func (c *Client) Close() { c.cfg.HTTP.CloseIdleConnections() }

// BaseURL is where the server is; it ends in "/".
func (c *Client) BaseURL() string { return c.base.String() }

// mostMends is how many parts of one request can be mended, one after the other.
const mostMends = 8

// Generate implements [loop.Model]. A request that is refused because of a
// part it could do without, or say in another way, is mended and made again, and
// the client remembers that for the model.
func (c *Client) Generate(ctx context.Context, call loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	key, err := c.key(ctx, call.Key)
	if err != nil {
		return loop.Answer{}, err
	}
	mends := c.mends.of(call.Model)
	lasting := mends
	var adjusted []plan.Adjusted
	for left := mostMends; ; left-- {
		req, err := c.protocol.Encode(call, mends)
		if err != nil {
			return loop.Answer{}, fmt.Errorf("encode the request: %w", err)
		}
		answer, err := c.attempt(ctx, key, call, req, live)
		if err == nil {
			c.mends.keep(call.Model, lasting)
			answer.Adjusted = adjusted
			return answer, nil
		}
		var failed Failure
		if !errors.As(err, &failed) {
			return loop.Answer{}, err
		}
		named := failed.mendable(req.Optional)
		if len(named) == 0 || left == 0 {
			if failed.Kind != loop.ErrRefused {
				failed.Adjusted = adjusted
				c.mends.keep(call.Model, lasting)
			}
			return loop.Answer{}, failed.ModelError
		}
		mends, lasting = mends.with(named), lasting.lasting(named)
		for _, part := range named {
			adjusted = append(without(adjusted, part), part.adjusted(call.Model, failed.Message))
		}
	}
}

// attempt sends one request and reads its answer.
func (c *Client) attempt(
	ctx context.Context,
	key string,
	call loop.Call,
	req Request,
	live func(loop.Delta),
) (loop.Answer, error) {
	x := c.begin(ctx, key, call.Patience)
	defer x.end()
	if err := x.post(req, call.Headers); err != nil {
		return loop.Answer{}, x.failure(err)
	}
	t := &tally{live: live}
	assembly := c.protocol.Begin(call, req, t.show)
	if err := x.read(assembly, t, c.protocol.Events); err != nil {
		err = x.failure(err)
		var failed Failure
		if errors.As(err, &failed) {
			failed.Usage = reported(assembly)
		}
		return loop.Answer{}, err
	}
	answer := assembly.Answer()
	answer.Usage = bounded(answer.Usage)
	if answer.CostUSD != nil && *answer.CostUSD > mostCost {
		answer.CostUSD = nil // no call costs as much
	}
	return answer, nil
}

// What a server may say that one call used. More would make sums overflow.
const (
	mostTokens = 1e12
	mostCost   = 1e6 // USD
)

// bounded takes no number of tokens that cannot be.
func bounded(u plan.Usage) plan.Usage {
	u.Input = min(max(0, u.Input), mostTokens)
	u.Cached = min(max(0, u.Cached), u.Input)
	u.Written = min(max(0, u.Written), u.Input-u.Cached)
	u.WrittenHour = min(max(0, u.WrittenHour), u.Input-u.Cached-u.Written)
	u.Output = min(max(0, u.Output), mostTokens)
	u.Reasoning = min(max(0, u.Reasoning), u.Output)
	return u
}

// reported is the usage of an answer that broke off; nothing where the server
// reported none.
func reported(a Assembly) plan.Usage {
	usage := bounded(a.Answer().Usage)
	if usage.Tokens() == 0 {
		return plan.Usage{}
	}
	return usage
}

// key asks for the key of a call, or takes the call's own.
func (c *Client) key(ctx context.Context, own string) (string, error) {
	if own != "" {
		return checkKey(own)
	}
	if c.cfg.Key == nil {
		return "", nil
	}
	key, err := c.cfg.Key(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", &loop.ModelError{
			Kind:    loop.ErrAuth,
			Message: oneLine("get the API key: " + err.Error()),
			Err:     err,
		}
	}
	return checkKey(key)
}

func checkKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", &loop.ModelError{
			Kind:    loop.ErrAuth,
			Message: "the API key has white space or control characters in it: check where it is read from",
		}
	}
	return key, nil
}

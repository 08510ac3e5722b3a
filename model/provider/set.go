// Package provider sends each call to the server that the name of its model means,
// over the wire that is spoken there.
//
// A name is "provider/model" where the first part is a provider of the settings or
// of the catalogue; any other name is a model of the default provider. What it
// opens it opens when the first call needs it. It must not know about phases,
// prompts or journals.
package provider

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wires"
)

// Default is the provider's name where the settings name none and the catalogue
// does not know the server.
const Default = "default"

// openAI is the provider that a name without one means, where no address is set.
const openAI = "openai"

// defaultKey is the variable of the default provider's key.
const defaultKey = "OPENAI_API_KEY"

// Config is what the servers are found by.
type Config struct {
	Settings config.Config
	Catalog  *catalog.Catalog
	Getenv   func(string) string
	// Command runs a key_command and returns what it prints. Nil: there is none.
	Command func(ctx context.Context, line string) (string, error)
	// Secret is told each key, before it is sent; nil: it need not be.
	Secret func(key string)
	// HTTP carries the requests; nil: connections of each server's own.
	HTTP *http.Client
	// Known is what earlier processes found that servers refuse.
	Known []plan.Adjusted
	Now   func() time.Time
}

// Set is a [loop.Model] for all servers of the settings. It is safe for concurrent
// use.
type Set struct {
	cfg    Config
	ctx    context.Context //nolint:containedctx // of what goes on behind calls, until Close
	cancel context.CancelFunc
	behind sync.WaitGroup

	mu      sync.Mutex
	clients map[clientKey]*wire.Client
	keys    map[string]string // what key commands printed, by provider
	learnt  map[string]int64  // windows that servers named, by the model's whole name
	offers  map[server]*offers

	commands chan struct{} // holds one where a key command runs
}

// server is one of a provider, which can be at two addresses: its own, and one
// that the settings give as their base URL.
type server struct{ provider, baseURL, keyFrom string }

type clientKey struct {
	server
	wire string
}

var _ loop.Model = (*Set)(nil)

// New makes a set. It sends nothing and opens nothing.
func New(cfg Config) *Set {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Set{
		cfg:     cfg,
		ctx:     ctx,
		cancel:  cancel,
		clients: map[clientKey]*wire.Client{},
		keys:    map[string]string{},
		learnt:  map[string]int64{},
		offers:  map[server]*offers{},

		commands: make(chan struct{}, 1),
	}
}

// Close ends what goes on behind calls, and drops idle connections.
func (s *Set) Close() {
	s.mu.Lock()
	s.cancel() // nothing more is begun from now on
	s.mu.Unlock()
	s.behind.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		c.Close()
	}
}

// Place is where a model is and how it is spoken to.
type Place struct {
	Provider string // of the settings or the catalogue, or Default
	Model    string // as the server knows it
	Wire     string // one of those that [wires.All] lists
	BaseURL  string
	Auth     string
	// KeyFrom says where the key comes from: the name of a variable, "command",
	// or "" for none.
	KeyFrom string
	// NoKey says that the server wants no key.
	NoKey bool
	// Usual says that this is the default provider: the model's name has none.
	Usual bool

	own config.ProviderConfig
}

// Place finds the server of a model.
func (s *Set) Place(name string) (Place, error) {
	provider, model := config.Split(name, s.cfg.Settings.Known(s.inCatalogue))
	if provider != "" {
		return s.named(provider, model)
	}
	place, err := s.usual(model)
	place.Usual = true
	return place, err
}

func (s *Set) inCatalogue(provider string) bool {
	_, ok := s.cfg.Catalog.Provider(provider)
	return ok
}

// usual is the default provider: the one that the settings name, else the one at
// the base URL that is set, else OpenAI.
func (s *Set) usual(model string) (Place, error) {
	if name := s.cfg.Settings.Provider; name != "" {
		return s.named(name, model)
	}
	baseURL := s.cfg.Settings.BaseURL
	if baseURL == "" {
		return s.named(openAI, model)
	}
	name, known := s.cfg.Catalog.At(baseURL)
	if !known {
		name = Default
	}
	own := s.cfg.Settings.Providers[name]
	if at, _ := s.cfg.Catalog.At(own.BaseURL); own.BaseURL != "" && at != name {
		own = config.ProviderConfig{} // of another host, which has its own key and headers
	}
	own.BaseURL = baseURL
	own.Structured = cmp.Or(own.Structured, s.cfg.Settings.Structured)
	p := s.complete(name, model, own)
	if s.cfg.Getenv(defaultKey) != "" || !known {
		p.KeyFrom = defaultKey
	}
	p.NoKey = p.NoKey || !known // a gateway or local server of which nothing is known
	return p, nil
}

// named is a provider of the settings or of the catalogue.
func (s *Set) named(name, model string) (Place, error) {
	own, set := s.cfg.Settings.Providers[name]
	known, listed := s.cfg.Catalog.Provider(name)
	if !set && !listed {
		return Place{}, &unknown{name}
	}
	if own.BaseURL == "" && known.BaseURL == "" {
		return Place{}, &adviceError{
			fmt.Sprintf("the provider %s has no address", name),
			fmt.Sprintf("Set base_url in [providers.%s] of config.toml.", name),
		}
	}
	own.Structured = cmp.Or(own.Structured, s.cfg.Settings.Structured)
	return s.complete(name, model, own), nil
}

// complete fills in what the catalogue knows.
func (s *Set) complete(name, model string, own config.ProviderConfig) Place {
	known, _ := s.cfg.Catalog.Provider(name)
	p := Place{
		Provider: name,
		Model:    model,
		BaseURL:  cmp.Or(own.BaseURL, known.BaseURL),
		own:      own,
	}
	p.Wire = cmp.Or(own.Wire, s.cfg.Catalog.WireAt(name, model, p.BaseURL))
	p.Auth = cmp.Or(own.Auth, known.Auth, wires.Auth(p.Wire))
	switch {
	case p.Auth == wire.AuthNone:
		p.NoKey = true
	case own.KeyCommand != "":
		p.KeyFrom = "command"
	default:
		p.KeyFrom = cmp.Or(own.KeyEnv, known.KeyEnv)
		p.NoKey = p.KeyFrom == ""
	}
	return p
}

// BaseURL is where the default provider is, "" for OpenAI's own.
func (s *Set) BaseURL() string { return s.cfg.Settings.BaseURL }

// HasKey reports whether the key of a provider is set.
func (s *Set) HasKey(name string) bool {
	place, err := s.named(name, "")
	return err == nil && s.KeySet(place)
}

// KeySet reports whether the key of a place is set, or can be asked for.
func (s *Set) KeySet(p Place) bool {
	return p.own.KeyCommand != "" || p.KeyFrom != "" && trimmed(s.cfg.Getenv(p.KeyFrom)) != ""
}

// overWire is the place, spoken to over a wire that was chosen before.
func (p Place) overWire(name string) Place {
	p.Wire = name
	return p
}

func (p Place) server() server { return server{p.Provider, p.BaseURL, p.KeyFrom} }

// Name is the model's whole name, which finds the same place from anywhere.
func (p Place) Name() string { return p.Provider + "/" + p.Model }

// Wire is how a model is spoken to; "" for one that has no place.
func (s *Set) Wire(name string) string {
	place, err := s.Place(name)
	if err != nil {
		return ""
	}
	return place.Wire
}

// Same reports whether two models are reached at the same server, over the same
// wire.
func (s *Set) Same(a, b string) bool {
	x, err := s.Place(a)
	if err != nil {
		return false
	}
	y, err := s.Place(b)
	return err == nil && x.server() == y.server() && x.Wire == y.Wire
}

// Server names the server of a model, the same in every set; "" for one that has no
// place.
func (s *Set) Server(name string) string {
	place, err := s.Place(name)
	if err != nil {
		return ""
	}
	return place.BaseURL
}

// Generate implements [loop.Model].
func (s *Set) Generate(ctx context.Context, call loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	place, err := s.Place(call.Model)
	if err != nil {
		return loop.Answer{}, &loop.ModelError{
			Kind:    loop.ErrNotFound,
			Message: err.Error(),
			Err:     err,
		}
	}
	if call.Wire != "" {
		place = place.overWire(call.Wire)
	}
	client, err := s.client(place)
	if err != nil {
		return loop.Answer{}, &loop.ModelError{
			Kind:    loop.ErrRefused,
			Message: err.Error(),
			Err:     err,
		}
	}
	name := call.Model
	call.Model = place.Model
	had := s.printed(place)
	answer, err := client.Generate(ctx, call, live)
	if call.Key == "" && s.forget(place, had, err) {
		answer, err = client.Generate(ctx, call, live)
	}
	rename(answer.Adjusted, name)
	if failed, ok := loop.AsModelError(err); ok {
		rename(failed.Adjusted, name)
		s.learn(ctx, name, place, client, failed)
	} else {
		// The first request is not kept waiting for it.
		s.ask(name, place, client) //nolint:contextcheck // it goes on behind the calls, until Close
	}
	return answer, err
}

// rename gives what was adjusted the name that the settings have for the model.
func rename(adjusted []plan.Adjusted, name string) {
	for i := range adjusted {
		adjusted[i].Model = name
	}
}

// client is the client of a place, made when it is first needed.
func (s *Set) client(p Place) (*wire.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := clientKey{p.server(), p.Wire}
	if c := s.clients[key]; c != nil {
		return c, nil
	}
	c, err := s.open(p)
	if err != nil {
		return nil, fmt.Errorf("open the provider %s: %w", p.Provider, err)
	}
	s.clients[key] = c
	return c, nil
}

// unknown is a provider that is named and nowhere described.
type unknown struct{ name string }

func (u *unknown) Error() string { return fmt.Sprintf("there is no provider named %s", u.name) }

// Hint says what to do.
func (u *unknown) Hint() string {
	return fmt.Sprintf(
		"Describe it as [providers.%s] in config.toml, or use one that `plan models --providers` lists.",
		u.name,
	)
}

// adviceError is an error with a hint.
type adviceError struct{ text, hint string }

func (e *adviceError) Error() string { return e.text }

// Hint says what to do.
func (e *adviceError) Hint() string { return e.hint }

// trimmed is a key without the line's end that commands print.
func trimmed(key string) string { return strings.TrimSpace(key) }

package provider

import (
	"context"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/wire"
)

// askTime bounds a question for the models that a server offers.
const askTime = 5 * time.Second

// offers is what one server said that it offers.
type offers struct {
	done chan struct{} // closed once list is there
	list []wire.Offer
	err  error
}

// Entry is what is known of a model beforehand.
func (s *Set) Entry(name string) (catalog.Entry, bool) {
	place, err := s.Place(name)
	if err != nil {
		return catalog.Entry{}, false
	}
	return s.cfg.Catalog.LookupAt(place.Provider, place.Model, place.BaseURL)
}

// Price says what a usage of a model costs, and whether that is known.
func (s *Set) Price(name string, u plan.Usage) (usd float64, known bool) {
	entry, ok := s.Entry(name)
	if !ok {
		return 0, false
	}
	return entry.Cost(u)
}

// MaxOutput is how long an answer of a model can become in tokens, 0 if it is not
// known.
func (s *Set) MaxOutput(name string) int {
	entry, _ := s.Entry(name)
	return entry.MaxOutput
}

// Provider names the provider of a model, "" where the name is of none.
func (s *Set) Provider(name string) string {
	place, err := s.Place(name)
	if err != nil || place.Usual {
		return ""
	}
	return place.Provider
}

// Window is a model's window in tokens, 0 while it is not known: what the server
// named in a refusal, else what it lists, else what the settings and the catalogue
// have. A smaller window of the settings always counts.
func (s *Set) Window(name string) int64 {
	entry, _ := s.Entry(name)
	window := int64(entry.Window)
	server := s.serverWindow(name)
	if server == 0 {
		return window
	}
	if own := s.ownWindow(name); own > 0 {
		return min(own, server)
	}
	return server
}

// ownWindow is the window that the settings give a model.
func (s *Set) ownWindow(name string) int64 {
	for _, key := range s.keysOf(name) {
		if window := s.cfg.Settings.Models[key].Window; window > 0 {
			return int64(window)
		}
	}
	return 0
}

// keysOf are the names that a model can have in the settings.
func (s *Set) keysOf(name string) []string {
	place, err := s.Place(name)
	if err != nil {
		return []string{name}
	}
	return []string{place.Name(), place.Model, name}
}

// serverWindow is the window that the server itself named.
func (s *Set) serverWindow(name string) int64 {
	place, err := s.Place(name)
	if err != nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if window := s.learnt[place.Name()]; window > 0 {
		return window
	}
	known := s.offers[place.server()]
	if known == nil {
		return 0
	}
	select {
	case <-known.done:
		return windowOf(known.list, place.Model)
	default:
		return 0
	}
}

func windowOf(list []wire.Offer, model string) int64 {
	for _, o := range list {
		if o.Name == model {
			return o.Window
		}
	}
	return 0
}

// Learn takes over the window that a server turned out to have.
func (s *Set) Learn(name string, window int64) {
	place, err := s.Place(name)
	if err != nil || window <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learnt[place.Name()] = window
}

// ask has the server list its models behind the call, where the model's window is
// not known. It is asked once.
func (s *Set) ask(name string, place Place, client *wire.Client) {
	if entry, _ := s.Entry(name); entry.Window > 0 {
		return
	}
	s.offersOf(place, client)
}

// offersOf is the question to a server for its models, which is put at the first
// call.
func (s *Set) offersOf(place Place, client *wire.Client) *offers {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offers[place.server()]
	if o != nil || s.ctx.Err() != nil {
		return o
	}
	o = &offers{done: make(chan struct{})}
	s.offers[place.server()] = o
	s.behind.Go(func() {
		defer close(o.done)
		ctx, cancel := context.WithTimeout(s.ctx, askTime)
		defer cancel()
		o.list, o.err = client.Models(ctx)
	})
	return o
}

// learn completes what a server said of its window, and remembers it.
func (s *Set) learn(ctx context.Context, name string, place Place, client *wire.Client, failed *loop.ModelError) {
	if failed.Kind != loop.ErrTooLong {
		return
	}
	if failed.Window == 0 {
		if o := s.offersOf(place, client); o != nil { //nolint:contextcheck // the answer is for later calls, too
			select {
			case <-o.done:
				failed.Window = windowOf(o.list, place.Model)
			case <-ctx.Done():
			}
		}
	}
	s.Learn(name, failed.Window)
}

// Offers lists what the server of a provider offers; "" is the default one.
func (s *Set) Offers(ctx context.Context, provider string) ([]wire.Offer, error) {
	place, err := s.at(provider)
	if err != nil {
		return nil, err
	}
	client, err := s.client(place)
	if err != nil {
		return nil, err
	}
	return client.Models(ctx)
}

// At is where a provider's models are; "" is the default one's.
func (s *Set) at(provider string) (Place, error) {
	if provider == "" {
		return s.Place("")
	}
	return s.named(provider, "")
}

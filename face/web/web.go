// Package web serves pages and an API on which runs are watched, decided and reviewed. Its
// rooms: guard says who may ask, work does what is asked, watch hands events out, api
// answers programs, page people. It has no rule of the domain in it, and must not know how a run is
// shown anywhere else.
package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/api"
	"github.com/plan-engine/plan/face/web/desk"
	"github.com/plan-engine/plan/face/web/guard"
	"github.com/plan-engine/plan/face/web/page"
	"github.com/plan-engine/plan/face/web/watch"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/background"
)

// Options say where a server listens, and how its runs are driven.
type Options struct {
	// Place is where it listens.
	Place guard.Place

	// Dir is the repository in which runs may be begun where neither Repos nor the
	// settings name one. Default: ".".
	Dir string

	// Repos are repositories in which runs may be begun.
	Repos []string

	// Run holds for every run that is begun or gone on with.
	Run host.Options

	// Concurrency is how many runs are driven at the same time. Default: 4.
	Concurrency int
}

// Served is where a server listens.
type Served struct {
	URL   string `json:"url"`
	Token string `json:"token"`

	// Enter is the address that lets a browser in.
	Enter string `json:"-"`
}

// defaultConcurrency is how many runs are driven where no number is given.
const defaultConcurrency = 4

// Serve serves until ctx ends, and returns once every run that it drove is parked or has
// ended. Began is called once it listens.
func Serve(ctx context.Context, h *host.Host, o Options, began func(Served) error) error {
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	repos, err := desk.Allowed(ctx, h, o.Dir, o.Repos)
	if err != nil {
		return err
	}
	l, err := o.Place.Listen(ctx)
	if err != nil {
		return err
	}
	token := rand.Text()
	hub := watch.New(h)
	live := func(ev plan.Event) {
		if ev.Live() {
			hub.Live(ev)
		}
	}
	runs := background.New(ctx, h, background.Config{
		Most: o.Concurrency,
		See:  live,
	})
	w := &desk.Desk{
		Host:    h,
		Runs:    runs,
		Options: o.Run,
		Repos:   repos,
		See:     live,
	}
	g := guard.New(token, l.Secure, l.Origins...)
	pages, err := page.New(w, hub, g.CSRF())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.Handle(api.Prefix+"/", api.New(w, hub)) //nolint:contextcheck // requests have theirs
	server := guard.Server(g.Wrap(mux, api.Description))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	err = began(Served{
		URL:   l.Origins[0] + "/",
		Token: token,
		Enter: l.Origins[0] + guard.EnterPath + "?" + url.Values{"token": {token}}.Encode(),
	})
	if err == nil {
		select {
		case err = <-served:
		case <-ctx.Done():
		}
	}
	runs.Park()
	hub.Close()
	runs.Wait()
	if err = errors.Join(err, server.Close()); errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve the pages: %w", err)
	}
	return nil
}

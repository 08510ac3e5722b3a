// Package web serves pages and an API on which runs are watched, decided and reviewed. Its
// rooms: guard says who may ask, service does what is asked, watch hands events out, page
// answers people and api programs, metrics counts, and record keeps a log. It has no rule
// of the domain in it, and must not know how a run is shown anywhere else.
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
	"github.com/plan-engine/plan/face/web/guard"
	"github.com/plan-engine/plan/face/web/metrics"
	"github.com/plan-engine/plan/face/web/page"
	"github.com/plan-engine/plan/face/web/record"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/face/web/watch"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/background"
	"github.com/plan-engine/plan/host/batches"
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

	// Queue has batches that are shown beside those of the home. Default: none.
	Queue *batches.Queued

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
func Serve(ctx context.Context, h *host.Host, o Options, began func(Served) error) (err error) {
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	repos, err := service.Allowed(ctx, h, o.Dir, o.Repos)
	if err != nil {
		return err
	}
	paths, err := h.Paths()
	if err != nil {
		return err
	}
	log, err := record.Open(paths.Logs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	l, err := o.Place.Listen(ctx)
	if err != nil {
		return err
	}
	s := newServer(ctx, h, o, repos, log)
	token := rand.Text()
	handler, err := s.handler(guard.New(token, l.Secure, l.Origins...)) //nolint:contextcheck // requests have theirs
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := guard.Server(handler)
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
	s.service.Runs.Park()
	s.hub.Close()
	s.service.Runs.Wait()
	if err = errors.Join(err, server.Close()); errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serve the pages: %w", err)
	}
	return nil
}

// server is what stands behind the guard.
type server struct {
	service *service.Service
	hub     *watch.Hub
	metrics *metrics.Metrics
	log     *record.Log
}

func newServer(ctx context.Context, h *host.Host, o Options, repos []string, log *record.Log) *server {
	h = h.Below(repos...)
	s := &server{
		hub: watch.New(h),
		log: log,
	}
	s.service = &service.Service{
		Host:    h,
		Options: o.Run,
		Repos:   repos,
		Queue:   o.Queue,
		See:     s.see,
		Runs: background.New(ctx, h, background.Config{
			Most:  o.Concurrency,
			See:   s.see,
			Ended: log.Ended,
			Note:  log.Note,
		}),
	}
	s.metrics = &metrics.Metrics{
		Service:  s.service,
		Watchers: s.hub.Watchers,
		Most:     o.Concurrency,
		Began:    h.Now(),
	}
	return s
}

// see takes each event of what is driven here.
func (s *server) see(ev plan.Event) {
	if ev.Live() {
		s.hub.Live(ev)
		return
	}
	s.metrics.Saw(ev)
	s.log.Saw(ev)
}

// handler answers what the guard lets through.
func (s *server) handler(g *guard.Guard) (http.Handler, error) {
	pages, err := page.New(s.service, s.hub, g.CSRF())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.Handle(api.Prefix+"/", api.New(s.service, s.hub))
	mux.Handle("GET "+metrics.Path, s.metrics)
	return s.log.Wrap(g.Wrap(mux, api.Description), s.service.Host.Now, s.metrics.Answered), nil
}

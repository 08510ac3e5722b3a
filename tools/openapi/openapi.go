// Package openapi makes tools of services that an OpenAPI document describes: one tool an
// operation. What only gets is taken to only read; all else may change something.
//
// A document is read apart from what needs its tools, once: a list of its operations is kept
// until the document changes. What it says is a claim, as in package catalog. A key is sent
// to the service alone, and no redirect leads it elsewhere.
//
// The package must not know phases, settings or the journal.
package openapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/theory/jsonpath"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/catalog"
	"github.com/plan-engine/plan/tools/outside"
)

// Config describes a service, and where a conversation works that uses it.
type Config struct {
	Name string // as settings have it
	// Spec is the document: an absolute path, or an address.
	Spec string
	// BaseURL is where the service is. Default: the first server of the document.
	BaseURL string
	Headers map[string]string // of each request, to the service alone
	// Key fetches the service's key, "" for none. Nil: there is none. It is sent as a bearer
	// token, or as it is in KeyHeader.
	Key       func(ctx context.Context) (string, error)
	KeyHeader string
	// Allow are patterns of operations that are tools, Deny of those that are not.
	Allow, Deny []string
	// Trim are JSON paths of what is read of an answer, by patterns of operations.
	Trim    map[string]string
	Timeout time.Duration // of a call; default 2 minutes
	// Lists keeps the list of operations from one process to the next; nil: nothing does.
	Lists catalog.Store
	// Trusted reports whether a person has said yes to a list, by its digest. Nil: to none.
	Trusted func(digest string) bool
	// Ahead begins to read a document that is not known yet before anything asks for it, and
	// Fresh reads one at an address again that is known.
	Ahead, Fresh bool
	// Offline says why the service is not reached from here, "" where it is.
	Offline string
	// Observe is told of each call that was made: how long it took, and whether it failed.
	Observe func(ctx context.Context, tool string, duration time.Duration, failed bool)
	Now     func() time.Time
}

const usualTimeout = 2 * time.Minute

// Service is a service as one conversation uses it. It is safe for concurrent use.
type Service struct {
	cfg     Config
	catalog *catalog.Catalog
	client  *http.Client
	trims   []trim

	ctx  context.Context //nolint:containedctx // the life of the conversation, in which a document is fetched
	end  context.CancelFunc
	once sync.Once
	done chan struct{} // closed when the document was read
	err  error         // what was wrong with it; set before done is closed
}

// trim is which part of an answer is read.
type trim struct {
	pattern string
	path    *jsonpath.Path
	wrong   error
}

var _ outside.Source = (*Service)(nil)

// New makes a service. Close it when the conversation is over.
func New(cfg Config) *Service {
	if cfg.Timeout <= 0 {
		cfg.Timeout = usualTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Service{
		cfg:     cfg,
		catalog: catalog.New(cfg.Lists, cfg.Trusted),
		client:  newClient(),
		ctx:     ctx,
		end:     end,
		done:    make(chan struct{}),
	}
	for pattern, path := range cfg.Trim {
		parsed, err := jsonpath.Parse(path)
		s.trims = append(s.trims, trim{
			pattern: pattern,
			path:    parsed,
			wrong:   err,
		})
	}
	slices.SortFunc(s.trims, func(a, b trim) int { // the narrowest is taken
		return len(b.pattern) - len(a.pattern)
	})
	if cfg.Ahead && s.isStale() {
		s.begin()
	}
	return s
}

// Name implements [outside.Source].
func (s *Service) Name() string { return "openapi." + s.cfg.Name }

// Close gives up what is being fetched, and waits for nothing.
func (s *Service) Close() error {
	s.end()
	s.client.CloseIdleConnections()
	return nil
}

// Known implements [outside.Source].
func (s *Service) Known() []loop.Tool {
	tools := s.catalog.Callable()
	if tools == nil {
		return nil
	}
	out := []loop.Tool{}
	for _, t := range tools {
		if op, err := operationOf(t.How); err == nil && s.isEnabled(t.Name) {
			out = append(out, &tool{
				service: s,
				tool:    t,
				op:      op,
			})
		}
	}
	return out
}

// Load implements [outside.Source].
func (s *Service) Load(ctx context.Context) ([]loop.Tool, error) {
	for _, t := range s.trims {
		if t.wrong != nil {
			return s.Known(), fmt.Errorf("trim of %q: %w", t.pattern, t.wrong)
		}
	}
	if s.isStale() {
		s.begin()
		select {
		case <-s.done:
		case <-ctx.Done():
			return s.Known(), context.Cause(ctx)
		}
		if s.err != nil {
			return s.Known(), s.err
		}
	}
	return s.Known(), s.catalog.Waiting(s.Name())
}

// begin reads the document, once in the life of the service.
func (s *Service) begin() {
	s.once.Do(func() {
		go func() {
			defer close(s.done)
			s.err = s.read(s.ctx)
		}()
	})
}

// isEnabled reports whether the user wants an operation at all.
func (s *Service) isEnabled(name string) bool {
	return (len(s.cfg.Allow) == 0 || fits(s.cfg.Allow, name)) && !fits(s.cfg.Deny, name)
}

func fits(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return doublestar.MatchUnvalidated(pattern, strings.ReplaceAll(name, "/", "_"))
	})
}

// newClient is a client that follows redirects within one place alone, since a request may
// carry a key.
func newClient() *http.Client {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		MaxIdleConns:          4,
		IdleConnTimeout:       time.Minute,
		ResponseHeaderTimeout: 10 * time.Minute,
	}
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			first := via[0].URL
			switch {
			case len(via) > 5:
				return errors.New("it leads from one place to the next, and was not followed")
			case r.URL.Scheme != first.Scheme || r.URL.Host != first.Host:
				return fmt.Errorf("it leads to another place (%s), which is not followed", r.URL.Host)
			case r.Method != via[0].Method:
				return http.ErrUseLastResponse // what was to be changed is not got instead
			}
			return nil
		},
	}
}

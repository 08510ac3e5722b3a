// Package mcp makes tools of servers that speak the Model Context Protocol: programs that
// are started behind the wall of a phase, and services that are reached over HTTP.
//
// What a server says is a claim: that a tool only reads counts where the user says so too,
// and a tool that has changed since it was accepted waits for a person. A server that hangs,
// floods or dies is a result that the model reads.
//
// The package must not know phases, settings or the journal.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/catalog"
	"github.com/plan-engine/plan/tools/outside"
)

// Shell starts a server. [sandbox.Shell] is one.
type Shell interface {
	Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error)
}

// Variable is one of a server's environment.
type Variable struct{ Name, Value string }

// Config describes a server, and where a conversation works that uses it.
type Config struct {
	Name string // as settings have it
	// Line starts it; or else it is reached at URL, with Headers in each request, to that
	// place alone.
	Line    string
	Env     []Variable
	URL     string
	Headers map[string]string
	// Key fetches the server's key, "" for none. Over HTTP it is sent as a bearer token; a
	// program gets it in the variable KeyName. Nil: there is none.
	Key     func(ctx context.Context) (string, error)
	KeyName string
	// ReadOnly are patterns of tools that only read, by the user's word; Allow and Deny of
	// those that are there, and are not.
	ReadOnly, Allow, Deny []string
	Timeout               time.Duration // of a call; default 2 minutes
	// Check looks whether the server is still what was trusted, before it is started.
	// Nil: it always is.
	Check func() error
	// Lists keeps the list of tools from one connection to the next; nil: nothing does.
	Lists catalog.Store
	// Trusted reports whether a person has said yes to a list of tools, by its digest.
	// Nil: to none.
	Trusted func(digest string) bool

	Dir   string // the tree, as the phase sees it
	Shell Shell  // nil: no program is started here
	// Offline says why addresses are not reached from here, "" where they are.
	Offline string
	// Ask puts what a server wants to know to the person. Nil: no person can be asked,
	// and the server is told that there is no answer.
	Ask func(ctx context.Context, q Question) Answer
	// Observe is told of each call that was made: how long it took, and whether it failed.
	Observe func(ctx context.Context, tool string, duration time.Duration, failed bool)
	Now     func() time.Time
	// After is the clock that back-off waits by. Default time.After.
	After func(time.Duration) <-chan time.Time
}

// Bounds of what is done with a server.
const (
	usualTimeout  = 2 * time.Minute
	startPatience = 30 * time.Second // until it has said which tools it has
	backOff       = time.Second      // before it is started again
	mostStarts    = 2                // in one conversation
	mostMissed    = 2                // calls in a row that it may leave unanswered
	mostPages     = 50               // of a list of tools
	mostTools     = 2000
)

// Server is a server as one conversation uses it. It is started when it is first needed,
// and is safe for concurrent use.
type Server struct {
	cfg Config

	mu      sync.Mutex // held while it is connected
	conn    *connection
	started int
	gone    error // why it is not started any more
	clock   clock

	catalog *catalog.Catalog
}

var _ outside.Source = (*Server)(nil)

// New makes a server. Close it when the conversation is over.
func New(cfg Config) *Server {
	if cfg.Timeout <= 0 {
		cfg.Timeout = usualTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.After == nil {
		cfg.After = time.After
	}
	return &Server{
		cfg:     cfg,
		catalog: catalog.New(cfg.Lists, cfg.Trusted),
	}
}

// Name implements [outside.Source].
func (s *Server) Name() string { return "mcp." + s.cfg.Name }

// Close ends the server with all that it started.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = errors.New("the phase is over")
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
	return nil
}

// Known implements [outside.Source].
func (s *Server) Known() []loop.Tool {
	tools := s.catalog.Callable()
	if tools == nil {
		return nil
	}
	out := []loop.Tool{}
	for _, d := range tools {
		if s.isEnabled(d.Name) {
			out = append(out, &tool{server: s, described: d})
		}
	}
	return out
}

// Load implements [outside.Source].
func (s *Server) Load(ctx context.Context) ([]loop.Tool, error) {
	if _, err := s.connect(ctx); err != nil {
		return s.Known(), err
	}
	return s.Known(), s.catalog.Waiting(s.Name())
}

// isEnabled reports whether the user wants a tool at all.
func (s *Server) isEnabled(name string) bool {
	return (len(s.cfg.Allow) == 0 || fits(s.cfg.Allow, name)) && !fits(s.cfg.Deny, name)
}

func fits(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return doublestar.MatchUnvalidated(pattern, strings.ReplaceAll(name, "/", "_"))
	})
}

// connect returns the connection, and makes one where there is none. A server that has ended
// is started once more.
func (s *Server) connect(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn.dead() == nil {
		return s.conn, s.relist(ctx, s.conn)
	}
	var last error
	for s.gone == nil {
		if s.conn != nil {
			last = s.conn.dead()
			s.conn.close()
			s.conn = nil
		}
		if s.started >= mostStarts {
			s.gone = fmt.Errorf("it was started %d times and is not started again in this phase: %w",
				s.started, orUnknown(last))
			break
		}
		if s.started > 0 {
			select {
			case <-s.cfg.After(backOff):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		c, err := s.open(ctx)
		if err == nil {
			s.started++
			s.conn = c
			return c, nil
		}
		var no *refusal
		if errors.As(err, &no) { // nothing was started
			return nil, err
		}
		s.started++
		if ctx.Err() != nil {
			return nil, err
		}
		last = err
		if s.started >= mostStarts {
			s.gone = fmt.Errorf("it was started %d times and is not started again in this phase: %w", s.started, last)
		}
	}
	return nil, s.gone
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("it has ended")
	}
	return err
}

// refusal says why a server is not used where the conversation works.
type refusal struct{ why string }

// Error implements error.
func (r *refusal) Error() string { return r.why }

// open starts the server, or reaches it, and asks for its tools.
func (s *Server) open(ctx context.Context) (*connection, error) {
	if s.cfg.Check != nil {
		if err := s.cfg.Check(); err != nil {
			return nil, &refusal{err.Error()}
		}
	}
	key := ""
	if s.cfg.Key != nil {
		var err error
		if key, err = s.cfg.Key(ctx); err != nil {
			return nil, &refusal{"its key cannot be had: " + err.Error()}
		}
	}
	within, cancel := context.WithTimeoutCause(ctx, startPatience,
		fmt.Errorf("it has not said in %s which tools it has", startPatience))
	defer cancel()
	var c *connection
	var err error
	switch {
	case s.cfg.URL != "" && s.cfg.Offline != "":
		return nil, &refusal{s.cfg.Offline}
	case s.cfg.URL != "":
		c, err = s.dial(within, key)
	case s.cfg.Shell == nil:
		return nil, &refusal{"no programs are started where no commands run"}
	default:
		c, err = s.start(within, key)
	}
	if err != nil {
		return nil, err
	}
	if err := s.relist(within, c); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/background"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/internal/subpath"
)

// Options say what a client may do, and how its runs are driven.
type Options struct {
	// Dir is the repository of calls that name none. Default: ".".
	Dir string
	// Repos are the repositories that calls may name beside Dir, whose runs alone they
	// see; none: every one.
	Repos []string
	// Run holds for every run that is begun or gone on with.
	Run host.Options
	// AllowDecisions offers a tool that approves and refuses what runs wait with.
	AllowDecisions bool
	// Stay goes on with runs when the client of standard input has left, until they
	// end or park. Default: they park, as by Ctrl-C.
	Stay bool
	// Version is the program's.
	Version string
}

// server answers what clients call.
type server struct {
	host    *host.Host
	options Options
	runs    *background.Runs
	key     []byte // of what goes out with a form and comes back
}

// instructions are what a client's model reads of the server.
const instructions = `plan makes a change to a repository and proves it: it explores read-only, plans,
implements, and lets an independent reviewer that cannot write run the result. "approved" rests on
commands that plan itself ran.

Use plan_run for a change that has to be right, and plan_review to have a change judged that is there
already. Both take long: where a call answers with "running", call plan_wait with the run's id until it
does not. "next" in each answer says what can be done. A run that waits for a person is decided by a
person: tell them what it says, and do not try to decide in their place.`

func newServer(ctx context.Context, h *host.Host, o Options) *server {
	if o.Dir == "" {
		o.Dir = "."
	}
	h = h.At(o.Dir)
	if len(o.Repos) > 0 {
		h = h.Below(append([]string{o.Dir}, o.Repos...)...)
	}
	return &server{
		host:    h,
		options: o,
		runs:    background.New(ctx, h, background.Config{}),
		key:     []byte(rand.Text()),
	}
}

// protocol is the server as the protocol has it.
func (s *server) protocol() *sdk.Server {
	p := sdk.NewServer(
		&sdk.Implementation{
			Name:    "plan",
			Title:   "plan",
			Version: s.options.Version,
		},
		&sdk.ServerOptions{Instructions: instructions},
	)
	s.addTools(p)
	p.AddResourceTemplate(&sdk.ResourceTemplate{
		Name:        "run",
		Title:       "A run",
		Description: "How a run stands, as plan_status says it, with its plan and its report",
		URITemplate: resourcePrefix + "{id}",
		MIMEType:    "application/json",
	}, s.readRun)
	return p
}

// ServeStdio speaks to the client at in and out, until that closes in or ctx ends, and
// returns once every run that it drove is parked or has ended.
func ServeStdio(ctx context.Context, h *host.Host, in io.ReadCloser, out io.WriteCloser, o Options) error {
	s := newServer(ctx, h, o)
	session, err := s.protocol().Connect(ctx, &sdk.IOTransport{
		Reader: in,
		Writer: out,
	}, nil)
	if err != nil {
		s.runs.Park()
		return fmt.Errorf("serve the Model Context Protocol: %w", err)
	}
	left := make(chan error, 1)
	go func() { left <- session.Wait() }()
	select {
	case err = <-left:
		if !o.Stay {
			s.runs.Park()
		}
	case <-ctx.Done():
		s.runs.Park()
		defer func() { go func() { _ = session.Close() }() }() // it may wait for a read from a terminal
	}
	s.runs.Wait()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// repo is the folder that a call is about.
func (s *server) repo(named string) (string, error) {
	if named == "" {
		return s.options.Dir, nil
	}
	if !filepath.IsAbs(named) {
		return "", hint.Usage("repo is %q: write the absolute path of the repository", named)
	}
	return named, s.requireAllowed(named)
}

// run finds the run that a call names. One of a repository that calls may not name is
// not there for them.
func (s *server) run(ctx context.Context, named string) (plan.RunID, error) {
	id, err := s.host.Resolve(ctx, named)
	if err != nil || len(s.options.Repos) == 0 {
		return id, err
	}
	run, err := s.host.Standing(ctx, id, nil)
	if err != nil {
		return "", err
	}
	if run.Start == nil {
		return id, nil
	}
	return id, s.requireAllowed(run.Start.Repo)
}

// requireAllowed refuses a repository that calls may not name.
func (s *server) requireAllowed(dir string) error {
	real := realPath(dir)
	for _, allowed := range append([]string{s.options.Dir}, s.options.Repos...) {
		if _, within := subpath.Of(realPath(allowed), real); within {
			return nil
		}
	}
	if len(s.options.Repos) == 0 {
		return nil
	}
	return hint.New(
		fmt.Sprintf("runs in %s are not allowed here", dir),
		"The person who started `plan mcp` allows a repository with --repo.",
	)
}

// realPath is where a folder really is, as far as that can be told.
func realPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// clean makes a text safe to show.
func clean(text string) string { return sanitize.Text(text) }

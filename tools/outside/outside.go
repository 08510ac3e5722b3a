// Package outside offers tools that come from outside the program: those of servers, or of
// descriptions of services. There may be hundreds, so a conversation is offered few of them
// by name; the rest is found by words and called by name.
//
// It must not know what speaks with a server, which phases there are or where settings are
// kept: it is given sources of tools, and which of them may be called.
package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// Source is where tools come from. Its methods are safe for concurrent use.
type Source interface {
	// Name is what rules call it: "mcp.github".
	Name() string
	// Known lists its tools as they were last seen, at once, and nil where they never were.
	Known() []loop.Tool
	// Load finds out which tools there are, which may take a while. An error says what is
	// missing; the tools beside it are there all the same.
	Load(ctx context.Context) ([]loop.Tool, error)
}

// Document is a text that is searched.
type Document struct{ Name, Text string }

// Index searches texts.
type Index interface {
	// Search lists the numbers of the texts that hold some of the words, the best first.
	Search(ctx context.Context, query string, most int) ([]int, error)
	Close() error
}

// Config says what a set offers.
type Config struct {
	Sources []Source
	// Refuse says why a tool is not offered, "" for one that is. Nil: all are.
	Refuse func(loop.Info) string
	// Index makes an index of texts; nil: words are looked for one by one.
	Index func(ctx context.Context, of []Document) (Index, error)
	// Patience is how long a source has to say which tools there are. Default 30s.
	Patience time.Duration
}

// usualPatience is enough for a server that a package manager has to start.
const usualPatience = 30 * time.Second

// Set is what one conversation can call from outside. Its methods are safe for concurrent use.
type Set struct {
	cfg Config

	mu      sync.Mutex // held while the index is made or asked
	index   Index
	indexed string // what it was made of
}

// New makes a set. Close it when the conversation is over.
func New(cfg Config) *Set {
	if cfg.Refuse == nil {
		cfg.Refuse = func(loop.Info) string { return "" }
	}
	if cfg.Patience <= 0 {
		cfg.Patience = usualPatience
	}
	return &Set{cfg: cfg}
}

// Close ends the sources that can be, and lets go of what a search has made.
func (s *Set) Close() error {
	errs := make([]error, len(s.cfg.Sources))
	var closing sync.WaitGroup
	for i, src := range s.cfg.Sources {
		if c, ok := src.(io.Closer); ok {
			closing.Go(func() { errs[i] = c.Close() })
		}
	}
	closing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		errs = append(errs, s.index.Close())
		s.index = nil
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the tools from outside: %w", err)
	}
	return nil
}

// Reads reports whether a tool only looks, so that phases may have it which change nothing.
func Reads(info loop.Info) bool { return !info.Writes && info.Effect == plan.EffectReplay }

// Tool is a tool that a conversation is offered by name. One that is not known any more
// is offered all the same, as it was described: its calls say that it is gone.
func (s *Set) Tool(spec loop.Spec) loop.Tool {
	if t := s.known(spec.Name); t != nil {
		return t
	}
	return missingTool{spec}
}

// known finds a tool by its name.
func (s *Set) known(name string) loop.Tool {
	for _, src := range s.cfg.Sources {
		if !strings.HasPrefix(name, wirePrefix(src.Name())) {
			continue
		}
		for _, t := range src.Known() {
			if t.Info().Name == name {
				return t
			}
		}
	}
	return nil
}

// missingTool stands for a tool that was offered when the run began and is not there now.
type missingTool struct{ spec loop.Spec }

// Info implements loop.Tool.
func (g missingTool) Info() loop.Info {
	return loop.Info{
		Spec:     g.spec,
		Effect:   plan.EffectUnknown,
		Writes:   true,
		Category: loop.CategoryMCP,
	}
}

// Run implements loop.Tool.
func (g missingTool) Run(context.Context, loop.Input) (loop.Result, error) {
	return loop.Failed(fmt.Sprintf(
		"%s is not there any more: its source is not in the settings now, or does not have it. Go on without it.",
		RuleName(g.spec.Name),
	)), nil
}

// Dispatch finds the tool that a call by name means.
func (s *Set) Dispatch(name string) (tool loop.Tool, problem string) {
	wanted := wireName(name)
	if t := s.known(wanted); t != nil {
		if why := s.cfg.Refuse(t.Info()); why != "" {
			return nil, why
		}
		return t, ""
	}
	var near []string
	unknown := false
	for _, src := range s.cfg.Sources {
		tools := src.Known()
		unknown = unknown || tools == nil
		for _, t := range tools {
			info := t.Info()
			if s.cfg.Refuse(info) == "" && (strings.HasSuffix(info.Name, "__"+wanted) || info.Name == wanted) {
				near = append(near, info.Name)
			}
		}
	}
	switch {
	case len(near) > 0:
		return nil, fmt.Sprintf("There is no tool %q here. Did you mean %s?", name, strings.Join(near, " or "))
	case unknown:
		return nil, fmt.Sprintf("It is not known whether there is a tool %q: look for it with find_tools first.", name)
	}
	return nil, fmt.Sprintf("There is no tool %q here. Look for one with find_tools.", name)
}

// loaded is what a source has said.
type loaded struct {
	source Source
	tools  []loop.Tool
	err    error
}

// load asks all sources at the same time which tools there are.
func (s *Set) load(ctx context.Context) []loaded {
	out := make([]loaded, len(s.cfg.Sources))
	within, cancel := context.WithTimeoutCause(ctx, s.cfg.Patience, errLate)
	defer cancel()
	answers := make(chan int, len(out))
	loading := make([]loaded, len(out))
	for i, src := range s.cfg.Sources {
		out[i] = loaded{source: src, err: errLate}
		go func() {
			tools, err := src.Load(within)
			loading[i] = loaded{
				source: src,
				tools:  tools,
				err:    err,
			}
			answers <- i
		}()
	}
	for range out {
		select {
		case i := <-answers:
			out[i] = loading[i]
		case <-within.Done():
			select {
			case i := <-answers: // it came at the same time
				out[i] = loading[i]
				continue
			default:
			}
			for i := range out {
				if errors.Is(out[i].err, errLate) {
					out[i].tools = out[i].source.Known()
				}
			}
			return out
		}
	}
	return out
}

var errLate = errors.New("it has not said in time which tools it has")

// Call is what the tool use_tool takes.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// offered are the tools of what was loaded that may be called, in the order of names.
func (s *Set) offered(tools []loaded) (out []loop.Info, refused int) {
	for _, l := range tools {
		for _, t := range l.tools {
			info := t.Info()
			if s.cfg.Refuse(info) != "" {
				refused++
				continue
			}
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b loop.Info) int { return strings.Compare(a.Name, b.Name) })
	return out, refused
}

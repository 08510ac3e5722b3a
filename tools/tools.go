// Package tools is what a model can do: read, edit, search and run commands
// under one root.
//
// Every file tool goes through [os.Root], so neither ".." nor a symbolic link
// leaves the repository. What goes wrong is told to the model as a result that
// says what to do instead; a Go error is kept for what the run cannot survive.
//
// The package must not know phases, models or the journal: who may use which
// tool is decided above it.
package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
)

// Config says where the tools work.
type Config struct {
	// Root is the directory that no tool leaves.
	Root string
	// Shell runs the commands of the bash tool, in Root where it knows no better
	// place; nil leaves bash out.
	Shell Shell
	// Blob fetches a kept output by hash, so that read can page through what
	// was cut. Nil means that there are none.
	Blob func(ctx context.Context, hash string) ([]byte, error)
	// Seen holds the content hashes that this conversation has been shown, by
	// path, for a conversation that is being resumed. Before is the closed set of the
	// same conversation in this process, which knows more; nil: there is none.
	Seen   map[string]string
	Before *Set
	// Withheld reports whether rules do not let a file be read that no call has named, by
	// its path relative to Root: a search of a folder leaves it out. Nil: no file is.
	Withheld func(path string) bool
	// Redact replaces known secrets in what commands print, before it is cut:
	// half a secret would not be known any more. Default: nothing.
	Redact func(string) string
	// Remember keeps a fact and says what became of it; nil: nothing is kept.
	Remember func(ctx context.Context, text string) (string, error)
	// Recall finds what earlier runs left by the words of a query, in a form that shows
	// it to be data; nil: there is nothing.
	Recall func(ctx context.Context, query string) (string, error)
	// Skill returns the text of a skill; nil: there are none.
	Skill func(ctx context.Context, name string) (string, error)
	// Replan asks for another plan, and reports whether there will be one; nil:
	// there never is.
	Replan func(evidence string) bool
	// Servers are the command lines of language servers by the language that symbols
	// asks them about, as [syntax.Language.Name] has it. Shell starts them. Nil: none.
	Servers map[string]string
	// Patience is how long a language server has for an answer. Default 10 seconds.
	Patience time.Duration
	// Index is where symbols finds what mentions a name. Sets of one run share it; nil:
	// the set has one of its own, which forgets all when it is closed.
	Index *Index
	// Avoid reports whether an absolute path leads to where git is not to be found, nor
	// finds anything: the tree around Root is one such place anyway. Nil: there is no other.
	Avoid func(path string) bool
	// Outside finds and names tools that come from outside; nil: there are none.
	Outside Outsiders
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Outsiders finds tools that come from outside. [outside.Set] does.
type Outsiders interface {
	// Find searches them by words, and says what a model can call.
	Find(ctx context.Context, query string) loop.Result
	// Dispatch is the tool of this name; without one, problem says why.
	Dispatch(name string) (tool loop.Tool, problem string)
}

// Shell runs command lines. [sandbox.Shell] is one.
type Shell interface {
	Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error)
}

// Set is the built-in tools over one root. Its methods are safe for
// concurrent use.
type Set struct {
	cfg   Config
	dir   string
	root  *os.Root
	tools []loop.Tool // in the order in which they are offered

	seen    *knownFiles
	index   *Index
	now     func() time.Time
	asking  servers
	writing sync.Mutex // held from checking a file to having replaced it
}

// New opens the root. Close the set when the conversation is over.
func New(cfg Config) (*Set, error) {
	dir, err := filepath.Abs(cfg.Root)
	if err != nil {
		return nil, fmt.Errorf("open tools at %q: %w", cfg.Root, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open tools: %w", err)
	}
	if cfg.Redact == nil {
		cfg.Redact = func(text string) string { return text }
	}
	s := &Set{
		cfg:   cfg,
		dir:   dir,
		root:  root,
		seen:  newKnownFiles(),
		index: cfg.Index,
		now:   cfg.Now,
	}
	if cfg.Before != nil {
		s.seen = cfg.Before.seen
	} else {
		for path, hash := range cfg.Seen {
			s.note(path, hash)
		}
	}
	if s.index == nil {
		s.index = NewIndex("")
	}
	if s.now == nil {
		s.now = time.Now
	}
	for _, b := range all() {
		if t := b.open(s, b.info); t != nil {
			s.tools = append(s.tools, t)
		}
	}
	return s, nil
}

// Close releases the root.
func (s *Set) Close() error {
	s.asking.close()
	err := s.root.Close()
	if s.cfg.Index == nil {
		err = errors.Join(err, s.index.Close())
	}
	if err != nil {
		return fmt.Errorf("close tools: %w", err)
	}
	return nil
}

// Tools returns the named tools, in the order of their names. A name that this set does
// not have is an error.
func (s *Set) Tools(names ...string) ([]loop.Tool, error) {
	out := make([]loop.Tool, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(s.tools, func(t loop.Tool) bool { return t.Info().Name == name })
		if i < 0 {
			return nil, fmt.Errorf("tools: there is no %s among those of %s", name, strings.Join(names, ", "))
		}
		out = append(out, s.tools[i])
	}
	return out, nil
}

// tool is a function with typed arguments as a loop.Tool.
type tool[A any] struct {
	info loop.Info
	run  func(ctx context.Context, args A, in loop.Input) (loop.Result, error)
}

// opens makes a tool of what runs its calls; its schema is reflected from A.
func opens[A any](
	run func(s *Set, ctx context.Context, args A, in loop.Input) (loop.Result, error),
) func(*Set, loop.Info) loop.Tool {
	return func(s *Set, info loop.Info) loop.Tool {
		info.Schema = schemaOf[A]()
		return &tool[A]{
			info: info,
			run: func(ctx context.Context, args A, in loop.Input) (loop.Result, error) {
				return run(s, ctx, args, in)
			},
		}
	}
}

// Info implements loop.Tool.
func (t *tool[A]) Info() loop.Info { return t.info }

// Run implements loop.Tool.
func (t *tool[A]) Run(ctx context.Context, in loop.Input) (loop.Result, error) {
	var args A
	if err := json.Unmarshal(in.Args, &args); err != nil {
		return loop.Failed(fmt.Sprintf("%s: the arguments do not fit the schema: %v", t.info.Name, err)), nil
	}
	return t.run(ctx, args, in)
}

// schemas are those that were reflected, by type. Every phase opens its tools
// anew, and the schema of a type never changes.
var schemas sync.Map

// schemaOf reflects the JSON schema of an argument struct. Fields without
// omitempty are required, others optional; nothing else is accepted.
func schemaOf[A any]() json.RawMessage {
	of := reflect.TypeFor[A]()
	if known, ok := schemas.Load(of); ok {
		return known.(json.RawMessage) //nolint:forcetypeassert // nothing else is stored below
	}
	r := jsonschema.Reflector{
		Anonymous:      true,
		ExpandedStruct: true,
		DoNotReference: true,
	}
	schema := r.Reflect(new(A))
	schema.Version = ""
	data, err := plan.MarshalCompact(schema)
	if err != nil {
		panic(fmt.Sprintf("tools: schema of %T: %v", *new(A), err)) // a program error: the types are ours
	}
	schemas.Store(of, json.RawMessage(data))
	return data
}

// rel turns a path as a model gave it into a clean path relative to the root.
// The second result is what to tell the model when it cannot be one.
func (s *Set) rel(path string) (string, string) {
	p := filepath.Clean(path)
	if filepath.IsAbs(p) {
		p = s.inside(p)
	}
	if !filepath.IsLocal(p) {
		return "", fmt.Sprintf("%q is outside the repository; give a path relative to its root", path)
	}
	return filepath.ToSlash(p), ""
}

// inside makes an absolute path relative to the root, which it may name by the
// way it was opened or with the symbolic links of that way resolved. A path
// that is not inside stays one that is not local.
func (s *Set) inside(path string) string {
	if r, err := filepath.Rel(s.dir, path); err == nil && filepath.IsLocal(r) {
		return r
	}
	real, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return path
	}
	if r, err := filepath.Rel(real, path); err == nil && filepath.IsLocal(r) {
		return r
	}
	return path
}

// Note says that the conversation has been shown a file as it is now.
func (s *Set) Note(path, hash string) { s.note(path, hash) }

// Changed tells how the files that the conversation has been shown have changed
// since; "" says that none has. What is shown of it counts as read.
func (s *Set) Changed() string {
	text, _ := s.changed()
	return text
}

// note remembers the content that the conversation has now been shown or has
// written; "" says that the file is gone.
func (s *Set) note(path, hash string) {
	if s.seen.put(path, hash, nil) {
		return
	}
	f, info, err := openRegular(s.root, path)
	if err != nil {
		return // only the hash is needed; the text is for explaining a change
	}
	defer f.Close() //nolint:errcheck // only read from
	if info.Size() > keepFile {
		return
	}
	if data, err := io.ReadAll(io.LimitReader(f, keepFile)); err == nil && hashOf(data) == hash {
		s.seen.put(path, hash, data)
	}
}

// noteText is note for a content at hand. It returns the hash.
func (s *Set) noteText(path string, data []byte) string {
	hash := hashOf(data)
	s.seen.put(path, hash, data)
	return hash
}

// known returns the hash of the content last shown for path.
func (s *Set) known(path string) (string, bool) { return s.seen.hash(path) }

// hashOf is the hash under which contents are remembered and kept.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

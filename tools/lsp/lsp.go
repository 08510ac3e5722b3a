// Package lsp asks a language server where something is used: a program that knows the
// types of a language, which it is told about over its standard input and output.
//
// It knows the few requests that it makes and no more of the protocol. It must not know
// trees or tools; the server is started by the shell that it is given, behind whatever
// wall that has.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/sandbox"
)

// longest is how long a server may run: a phase ends before.
const longest = 7 * 24 * time.Hour

// Shell starts a server. [sandbox.Shell] is one.
type Shell interface {
	Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error)
}

// ErrGone says that a server has ended.
var ErrGone = errors.New("it has ended")

// Server is a language server that was started. It is safe for concurrent use.
type Server struct {
	dir  string // the tree, as the server sees it
	conn *conn
	end  context.CancelFunc
	over chan struct{} // closed when the process is gone

	mu   sync.Mutex
	open map[string]bool // files that it was told of
}

// Position is a place in a file: a line and the UTF-16 units before it in the line,
// both from 0.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Location is a place that a server found. Path is relative to the tree, and "" for one
// outside of it.
type Location struct {
	Path string
	At   Position
}

// Start starts a server with a command line, in a folder that the shell may know by
// another name. The server has until the end of ctx to be ready, and then runs until it is
// closed.
func Start(ctx context.Context, shell Shell, dir, command string) (*Server, error) {
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	fromUs, toServer := io.Pipe()
	fromServer, ours := io.Pipe()
	s := &Server{
		end:  end,
		over: make(chan struct{}),
		open: map[string]bool{},
	}
	go func() {
		defer close(s.over)
		var stderr tail
		res, err := shell.Run(own, sandbox.Command{
			// The server is told the folder by the name that it has where it runs.
			Line:    "pwd -P; exec " + command,
			Dir:     dir,
			Timeout: longest,
			Feed:    fromUs,
			Errors:  stderr.add,
			Output:  func(chunk []byte) { _, _ = ours.Write(chunk) }, // nothing is read after the end
		})
		if err == nil {
			err = fmt.Errorf("%w with status %d%s", ErrGone, res.ExitCode, stderr.suffix())
		}
		_ = ours.CloseWithError(err)
		_ = fromUs.CloseWithError(err)
	}()
	s.conn = newConn(fromServer, toServer)
	var err error
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		err = s.begin(ctx)
	}()
	select {
	case <-ready:
		if err == nil {
			return s, nil
		}
		s.Close()
		return nil, err
	case <-ctx.Done():
		s.Close()
		<-ready
		return nil, context.Cause(ctx)
	}
}

// tail is the end of what a server complains about.
type tail struct{ text []byte }

const tailBytes = 300

func (t *tail) add(chunk []byte) {
	t.text = append(t.text, chunk...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
}

func (t *tail) suffix() string {
	text := oneline.Of(strings.ToValidUTF8(string(t.text), ""))
	if text == "" {
		return ""
	}
	return ": " + text
}

// begin reads where the server runs, and introduces this program.
func (s *Server) begin(ctx context.Context) error {
	dir, err := s.conn.in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("start it: %w", err)
	}
	s.dir = strings.TrimSuffix(dir, "\n")
	go s.conn.read()
	root := fileURI(s.dir)
	links := map[string]any{"linkSupport": false}
	var nothing struct{}
	err = s.conn.call(ctx, "initialize", map[string]any{
		"processId":        nil,
		"clientInfo":       map[string]any{"name": "plan"},
		"rootUri":          root,
		"workspaceFolders": []any{map[string]any{"uri": root, "name": filepath.Base(s.dir)}},
		"capabilities": map[string]any{
			"workspace": map[string]any{
				"workspaceFolders":      true,
				"configuration":         true,
				"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true},
			},
			"textDocument": map[string]any{
				"implementation": links,
				"references":     map[string]any{},
			},
		},
	}, &nothing)
	if err != nil {
		return err
	}
	return s.conn.notify("initialized", map[string]any{})
}

// Close ends the server with all that it started, and waits for its end.
func (s *Server) Close() {
	s.end()
	s.conn.close(ErrGone)
	<-s.over
}

// Gone reports whether the server has ended.
func (s *Server) Gone() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// What may be asked about a place.
const (
	References      = "textDocument/references"
	Implementations = "textDocument/implementation"
)

// Ask asks about what stands at a place of a file. Language is what the protocol calls
// the language of the file, and text is what it holds.
func (s *Server) Ask(
	ctx context.Context,
	method, path, language, text string,
	at Position,
) ([]Location, error) {
	uri := fileURI(filepath.Join(s.dir, filepath.FromSlash(path)))
	if err := s.show(uri, language, text); err != nil {
		return nil, err
	}
	var locations []struct {
		URI   string `json:"uri"`
		Range struct {
			Start Position `json:"start"`
		} `json:"range"`
	}
	err := s.conn.call(ctx, method, map[string]any{
		"textDocument": map[string]any{"uri": uri},
		"position":     at,
		"context":      map[string]any{"includeDeclaration": false},
	}, &locations)
	if err != nil {
		return nil, err
	}
	out := make([]Location, 0, len(locations))
	for _, f := range locations {
		out = append(out, Location{Path: s.relative(f.URI), At: f.Range.Start})
	}
	return out, nil
}

// show tells the server of a file that it is asked about, once.
func (s *Server) show(uri, language, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[uri] {
		return nil
	}
	s.open[uri] = true
	return s.conn.notify("textDocument/didOpen", map[string]any{
		"textDocument": map[string]any{
			"uri":        uri,
			"languageId": language,
			"version":    1,
			"text":       text,
		},
	})
}

// Change is what became of a file.
type Change int

// What can become of one, as the protocol has it.
const (
	Created Change = 1
	Changed Change = 2
	Deleted Change = 3
)

// Tell tells the server which files have changed on disk.
func (s *Server) Tell(changed map[string]Change) error {
	if len(changed) == 0 {
		return nil
	}
	var events []any
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, how := range changed {
		uri := fileURI(filepath.Join(s.dir, filepath.FromSlash(path)))
		if s.open[uri] { // what it was shown is not what is there
			delete(s.open, uri)
			err := s.conn.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
			if err != nil {
				return err
			}
		}
		events = append(events, map[string]any{"uri": uri, "type": how})
	}
	return s.conn.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
}

// fileURI is the address of a file.
func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// relative is the path in the tree of an address, "" for one outside.
func (s *Server) relative(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	rel, err := filepath.Rel(s.dir, filepath.FromSlash(u.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// message is one message of the protocol: a request, an answer or a notice.
type message struct {
	Version string           `json:"jsonrpc"`
	ID      *json.RawMessage `json:"id,omitempty"`
	Method  string           `json:"method,omitempty"`
	Params  json.RawMessage  `json:"params,omitempty"`
	Result  json.RawMessage  `json:"result,omitempty"`
	Error   *rpcError        `json:"error,omitempty"`
}

// rpcError is how a server refuses.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *rpcError) Error() string { return fmt.Sprintf("it refused: %s (%d)", e.Message, e.Code) }

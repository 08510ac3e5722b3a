package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/tools/lsp"
	"github.com/plan-engine/plan/tools/syntax"
	"github.com/plan-engine/plan/tools/words"
)

const (
	serverPatience = 10 * time.Second // for one question, with what it takes to start
	serverAsked    = 8                // definitions of the name that a server is asked about
	serverMisses   = 2                // questions that it may leave unanswered before it is given up
)

// servers are the language servers of a set that were started.
type servers struct {
	mu sync.Mutex
	by map[string]*served // by language
}

// served is one server. Questions are put one after the other.
type served struct {
	mu     sync.Mutex
	server *lsp.Server
	knows  map[string]words.Key // what files held when it was last told
	missed int
	gone   error // why it is not asked any more
}

func (v *servers) of(language string) *served {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		v.by = map[string]*served{}
	}
	if v.by[language] == nil {
		v.by[language] = &served{}
	}
	return v.by[language]
}

func (v *servers) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.by {
		s.mu.Lock()
		if s.server != nil {
			s.server.Close()
		}
		s.server, s.gone = nil, errors.New("the phase is over")
		s.mu.Unlock()
	}
}

// answerOf is what servers found, by file, and of which languages.
type answerOf struct {
	lines   map[string][]string
	outside int // places outside of the tree
	by      []string
	notes   []string // about servers that did not answer
}

// askServers asks the servers of the languages in which the name is defined. What they
// answer takes the place of what the syntax says of those languages.
func (q *mentionSearch) askServers(ctx context.Context) (answerOf, error) {
	out := answerOf{lines: map[string][]string{}}
	s := q.set
	if len(s.cfg.Servers) == 0 || q.module != "" {
		return out, nil
	}
	files, err := s.index.tree(s.dir).refresh(ctx, s) // it may be defined where it is not asked for
	if err != nil {
		return out, err
	}
	search := symbolSearch{set: s, want: q.want}
	if err := search.run(ctx, files); err != nil {
		return out, err
	}
	of := map[string][]syntax.Symbol{}
	for _, d := range search.symbols {
		name := s.index.languages.Of(d.Path).Name()
		if q.want.rank(d) == 4 && d.Kind != "test" && s.cfg.Servers[name] != "" && len(of[name]) < serverAsked {
			of[name] = append(of[name], d)
		}
	}
	for _, language := range slices.Sorted(maps.Keys(of)) {
		program := path.Base(strings.Fields(s.cfg.Servers[language])[0])
		locations, err := q.askServer(ctx, language, of[language], files)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if err != nil {
			out.notes = append(
				out.notes,
				fmt.Sprintf("%s: %s; this is by syntax", program, oneline.Cut(err.Error(), 300)),
			)
			continue
		}
		out.by = append(out.by, language)
		for _, l := range locations {
			if l.Path == "" {
				out.outside++
			}
		}
		if err := q.tellLocations(ctx, locations, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// askServer asks one server about definitions of the name.
func (q *mentionSearch) askServer(
	ctx context.Context,
	language string,
	about []syntax.Symbol,
	files []source,
) ([]lsp.Location, error) {
	s := q.set
	if s.cfg.Shell == nil {
		return nil, errors.New("it is not started where no commands run")
	}
	v := s.asking.of(language)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone != nil {
		return nil, v.gone
	}
	late := fmt.Errorf("it did not answer in %s", s.patience())
	bounded, cancel := context.WithTimeoutCause(ctx, s.patience(), late)
	defer cancel()
	locations, err := v.ask(bounded, q, language, about, files)
	switch {
	case err == nil:
		v.missed = 0
		return locations, nil
	case ctx.Err() != nil:
		return nil, err
	case v.server == nil || v.server.Gone():
		v.gone = err
	default:
		if v.missed++; v.missed == serverMisses {
			v.gone = fmt.Errorf("%w %d times", err, v.missed)
		}
	}
	if v.gone != nil && v.server != nil {
		v.server.Close()
		v.server = nil
	}
	return nil, err
}

// ask starts the server if it does not run, and puts the questions.
func (v *served) ask(
	ctx context.Context,
	q *mentionSearch,
	language string,
	about []syntax.Symbol,
	files []source,
) ([]lsp.Location, error) {
	var err error
	if v.server == nil {
		if v.server, err = lsp.Start(ctx, q.set.cfg.Shell, q.set.dir, q.set.cfg.Servers[language]); err != nil {
			v.server = nil
			return nil, err
		}
	}
	type answer struct {
		locations []lsp.Location
		err       error
	}
	server := v.server
	changed := v.changes(q.set.index.tree(q.set.dir).sources())
	done := make(chan answer, 1)
	go func() { // it may hang where the server reads nothing, until that is closed
		locations, err := q.put(ctx, server, changed, about)
		done <- answer{locations, err}
	}()
	select {
	case a := <-done:
		return a.locations, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// changes are the files that are not what they were when the server was last told, all
// of which it has read itself at first.
func (v *served) changes(now []source) map[string]lsp.Change {
	before := v.knows
	v.knows = make(map[string]words.Key, len(now))
	changed := map[string]lsp.Change{}
	for _, f := range now {
		v.knows[f.name] = f.key
		if previous, ok := before[f.name]; !ok {
			changed[f.name] = lsp.Created
		} else if previous != f.key {
			changed[f.name] = lsp.Changed
		}
	}
	if before == nil {
		return nil
	}
	for name := range before {
		if _, ok := v.knows[name]; !ok {
			changed[name] = lsp.Deleted
		}
	}
	return changed
}

// put puts the questions about each definition.
func (q *mentionSearch) put(
	ctx context.Context,
	server *lsp.Server,
	changed map[string]lsp.Change,
	about []syntax.Symbol,
) ([]lsp.Location, error) {
	if err := server.Tell(changed); err != nil {
		return nil, err
	}
	method := lsp.References
	if q.kind == findImplementations {
		method = lsp.Implementations
	}
	r := &reader{root: q.set.root}
	defer r.close()
	var out []lsp.Location
	for _, d := range about {
		text, err := r.load(d.Path, false, symbolFile)
		if err != nil {
			return nil, err
		}
		at := lsp.Position{
			Line:      d.NameLine,
			Character: units(lineAt(text, d.NameLine), d.NameColumn),
		}
		locations, err := server.Ask(ctx, method, d.Path, protocolName(d.Path, q.set), string(text), at)
		if err != nil {
			return nil, err
		}
		for _, l := range locations {
			if !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// protocolName is what the protocol calls the language of a file.
func protocolName(name string, s *Set) string {
	language := s.index.languages.Of(name).Name()
	if ext := path.Ext(name); ext == ".tsx" || ext == ".jsx" {
		return language + "react"
	}
	return language
}

// tellLocations makes lines of what a server found, in the form that they have by
// syntax: what stands there is looked up in the text.
func (q *mentionSearch) tellLocations(ctx context.Context, locations []lsp.Location, out *answerOf) error {
	at := map[string][]lsp.Position{}
	for _, l := range locations {
		if l.Path != "" && q.covers(l.Path) {
			at[l.Path] = append(at[l.Path], l.At)
		}
	}
	r := &reader{root: q.set.root}
	defer r.close()
	for name, places := range at {
		language := q.set.index.languages.Of(name)
		text, err := r.load(name, false, symbolFile)
		if language == nil || err != nil {
			continue // it was made by what the server runs
		}
		file, err := language.Parse(ctx, name, text)
		if err != nil {
			return err
		}
		mentions := file.Mentions(name, q.want.exact)
		file.Close()
		slices.SortFunc(places, func(a, b lsp.Position) int {
			if a.Line != b.Line {
				return a.Line - b.Line
			}
			return a.Character - b.Character
		})
		for _, p := range places {
			line := lineAt(text, p.Line)
			if entry := q.tellPlace(file.Symbols, mentions, p.Line, column(line, p.Character), line); entry != "" {
				out.lines[name] = append(out.lines[name], entry)
			}
		}
	}
	return nil
}

// covers reports whether a file is among those that are asked about.
func (q *mentionSearch) covers(name string) bool {
	return q.below == "." || q.below == "" || name == q.below || strings.HasPrefix(name, q.below+"/")
}

// tellPlace is one place that a server found, as a line of the result; "" for one that
// is not asked for.
func (q *mentionSearch) tellPlace(
	symbols []syntax.Symbol,
	mentions []syntax.Mention,
	line, col int,
	text []byte,
) string {
	defined := slices.IndexFunc(symbols, func(s syntax.Symbol) bool {
		return s.NameLine == line && s.NameColumn == col
	})
	if defined >= 0 && q.kind == findImplementations {
		if s := symbols[defined]; s.Kind != "declaration" && !isAbstract(s, symbols) {
			return s.String()
		}
		return ""
	}
	at := slices.IndexFunc(mentions, func(m syntax.Mention) bool { return m.Line == line+1 && m.Column == col })
	switch {
	case q.kind == findCallers && (at < 0 || mentions[at].Role != syntax.Call):
		return ""
	case at >= 0:
		return mentionLine(mentions[at])
	}
	return fmt.Sprintf("%d %s  %s", line+1, syntax.Use, clean(cutText(bytes.TrimSpace(text), excerptBytes)))
}

// lineAt is a line of a text, from 0.
func lineAt(text []byte, n int) []byte {
	for range n {
		_, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return nil
		}
		text = rest
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

// units is how many UTF-16 units so many bytes of a line are, and column the other way
// round.
func units(line []byte, bytes int) int {
	n := 0
	for _, r := range string(line[:min(bytes, len(line))]) {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

func column(line []byte, units int) int {
	at := 0
	for units > 0 && at < len(line) {
		r, size := utf8.DecodeRune(line[at:])
		units -= max(utf16.RuneLen(r), 1)
		at += size
	}
	return at
}

// patience is how long a server may take to answer.
func (s *Set) patience() time.Duration {
	if s.cfg.Patience > 0 {
		return s.cfg.Patience
	}
	return serverPatience
}

// Package syntax reads source code of eight languages by tree-sitter: what a text
// defines, and where it mentions a name. It must not know files, trees or tools.
package syntax

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unsafe"

	sitter "github.com/tree-sitter/go-tree-sitter"
	c "github.com/tree-sitter/tree-sitter-c/bindings/go"
	cpp "github.com/tree-sitter/tree-sitter-cpp/bindings/go"
	golang "github.com/tree-sitter/tree-sitter-go/bindings/go"
	java "github.com/tree-sitter/tree-sitter-java/bindings/go"
	javascript "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
	python "github.com/tree-sitter/tree-sitter-python/bindings/go"
	rust "github.com/tree-sitter/tree-sitter-rust/bindings/go"
	typescript "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

// Each query captures definitions under the name of their kind, with @name and
// sometimes @receiver inside. Strings in what is @names name things, as identifiers do:
// what a module exports, or a member. Where several patterns of a query name the same
// thing the first of them counts.
//
//go:embed queries/*.scm
var queries embed.FS

// Supported are the languages that are known, for people and models.
const Supported = "Go, Python, JavaScript, TypeScript, Rust, Java, C, C++"

// Language is a grammar and the query for its definitions. They are loaded
// when a file first needs them.
type Language struct {
	extensions []string
	load       func() unsafe.Pointer
	query      string // file of queries, which is named for the language
	shared     string // another, with what it has in common with others

	once     sync.Once
	grammar  *sitter.Language
	compiled *sitter.Query
	err      error
}

// Languages is every language. It is safe for concurrent use; close it when no
// text is parsed any more.
type Languages []*Language

// New returns the languages, of which nothing is loaded yet.
func New() Languages {
	allocateInC()
	return Languages{
		{extensions: []string{".go"}, load: golang.Language, query: "go"},
		{extensions: []string{".py", ".pyi"}, load: python.Language, query: "python"},
		{
			extensions: []string{".js", ".jsx", ".mjs", ".cjs"},
			load:       javascript.Language,
			query:      "javascript",
			shared:     "ecma",
		},
		{
			extensions: []string{".ts", ".mts", ".cts"},
			load:       typescript.LanguageTypescript,
			query:      "typescript",
			shared:     "ecma",
		},
		{
			extensions: []string{".tsx"},
			load:       typescript.LanguageTSX,
			query:      "typescript",
			shared:     "ecma",
		},
		{extensions: []string{".rs"}, load: rust.Language, query: "rust"},
		{extensions: []string{".java"}, load: java.Language, query: "java"},
		{extensions: []string{".c"}, load: c.Language, query: "c"},
		// Headers are read as C++, of whose declarations C's are nearly a part.
		{extensions: []string{".h", ".hh", ".hpp", ".hxx", ".cc", ".cpp", ".cxx"}, load: cpp.Language, query: "cpp"},
	}
}

// Of returns the language of a file by its name, or nil.
func (ls Languages) Of(name string) *Language {
	ext := strings.ToLower(path.Ext(name))
	for _, l := range ls {
		if slices.Contains(l.extensions, ext) {
			return l
		}
	}
	return nil
}

// Name is the language as settings name it: go, python, javascript, typescript, rust,
// java, c or cpp.
func (l *Language) Name() string { return l.query }

// Close frees what was loaded.
func (ls Languages) Close() {
	for _, l := range ls {
		if l.compiled != nil {
			l.compiled.Close()
		}
	}
}

// ready loads the grammar and compiles the query.
func (l *Language) ready() error {
	l.once.Do(func() {
		source, err := l.source()
		if err != nil {
			l.err = err
			return
		}
		l.grammar = sitter.NewLanguage(l.load())
		compiled, qerr := sitter.NewQuery(l.grammar, source)
		if qerr != nil { // a *QueryError: compared here, so that no typed nil gets out
			l.err = fmt.Errorf("syntax: query %s: %w", l.query, qerr)
			return
		}
		l.compiled = compiled
	})
	return l.err
}

// source is the query. What languages share comes first.
func (l *Language) source() (string, error) {
	var source strings.Builder
	for _, name := range []string{l.shared, l.query} {
		if name == "" {
			continue
		}
		text, err := queries.ReadFile("queries/" + name + ".scm")
		if err != nil {
			return "", fmt.Errorf("syntax: %w", err)
		}
		source.Write(text)
	}
	return source.String(), nil
}

package syntax

import (
	"context"
	"fmt"
	"slices"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// parseChunk is how much text the parser is given at a time. The binding
// copies what is left of a text on every request, so all at once would cost
// time that grows with the square of the size.
const parseChunk = 32 << 10

// File is a text as it was parsed. Close it; what it returned stays valid.
type File struct {
	// Symbols are the definitions, in the order of the text.
	Symbols []Symbol

	text []byte
	tree *sitter.Tree // nil where there is none
	// names are the parts of the text whose strings name what code defines.
	names [][2]uint
}

// Parse finds the definitions in a text, which must not change before the file is
// closed. Syntax errors cost what they touch and nothing else.
func (l *Language) Parse(ctx context.Context, path string, text []byte) (*File, error) {
	if err := l.ready(); err != nil {
		return nil, err
	}
	parser := sitter.NewParser()
	defer parser.Close()
	if err := parser.SetLanguage(l.grammar); err != nil {
		return nil, fmt.Errorf("syntax: grammar of %s: %w", path, err)
	}
	tree := parser.ParseWithOptions(func(i int, _ sitter.Point) []byte {
		if i >= len(text) || ctx.Err() != nil {
			return nil // the end; the rest of a cancelled call is not read
		}
		return text[i:min(i+parseChunk, len(text))]
	}, nil, nil)
	f := &File{text: text, tree: tree}
	if tree == nil {
		return f, nil
	}
	cursor := sitter.NewQueryCursor()
	defer cursor.Close()
	var defs []Symbol
	kinds := l.compiled.CaptureNames()
	matches := cursor.Matches(l.compiled, tree.RootNode(), text)
	for m := matches.Next(); m != nil; m = matches.Next() {
		for _, capture := range m.Captures {
			if kinds[capture.Index] == "names" {
				start, end := capture.Node.ByteRange()
				f.names = append(f.names, [2]uint{start, end})
			}
		}
		if d, ok := definitionOf(m, kinds, text); ok {
			d.Path = path
			defs = append(defs, d)
		}
	}
	f.Symbols = nest(defs)
	return f, nil
}

// Close frees the tree.
func (f *File) Close() {
	if f.tree != nil {
		f.tree.Close()
		f.tree = nil
	}
}

// naming reports whether a string names what code defines, as some texts do.
func (f *File) naming(n *sitter.Node) bool {
	start, end := n.ByteRange()
	return slices.ContainsFunc(f.names, func(in [2]uint) bool { return in[0] <= start && end <= in[1] })
}

// around is the innermost definition that a place in the text is in, nil for none.
func (f *File) around(at uint) *Symbol {
	var in *Symbol
	for i := range f.Symbols {
		s := &f.Symbols[i]
		if !s.Asked && s.start <= at && at < s.end && (in == nil || s.start >= in.start) {
			in = s
		}
	}
	return in
}

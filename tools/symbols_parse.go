package tools

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

const (
	// parseChunk is how much text the parser is given at a time. The binding
	// copies what is left of a text on every request, so all at once would cost
	// time that grows with the square of the size.
	parseChunk = 32 << 10
	// signatureBytes is how much of a definition's head is shown.
	signatureBytes = 160
)

// symbol is one definition.
type symbol struct {
	path        string
	first, last int // lines, with what precedes the definition proper
	kind        string
	container   string // what it is a member of, outermost first, dotted
	name        string
	signature   string
}

// full is the name with what it is a member of.
func (s symbol) full() string {
	if s.container == "" {
		return s.name
	}
	return s.container + "." + s.name
}

func (s symbol) String() string {
	return fmt.Sprintf("%d-%d %s %s  %s", s.first, s.last, s.kind, s.full(), s.signature)
}

// definition is a symbol and where in the text it stands.
type definition struct {
	symbol
	start, end uint // bytes
	nameAt     uint
	pattern    uint
}

// parse finds the definitions in a text. Syntax errors cost what they touch and
// nothing else.
func (l *language) parse(ctx context.Context, path string, text []byte) ([]symbol, error) {
	if err := l.ready(); err != nil {
		return nil, err
	}
	parser := sitter.NewParser()
	defer parser.Close()
	if err := parser.SetLanguage(l.grammar); err != nil {
		return nil, fmt.Errorf("symbols: grammar of %s: %w", path, err)
	}
	tree := parser.ParseWithOptions(func(i int, _ sitter.Point) []byte {
		if i >= len(text) || ctx.Err() != nil {
			return nil // the end; the rest of a cancelled call is not read
		}
		return text[i:min(i+parseChunk, len(text))]
	}, nil, nil)
	if tree == nil {
		return nil, nil
	}
	defer tree.Close()
	cursor := sitter.NewQueryCursor()
	defer cursor.Close()
	var defs []definition
	kinds := l.compiled.CaptureNames()
	matches := cursor.Matches(l.compiled, tree.RootNode(), text)
	for m := matches.Next(); m != nil; m = matches.Next() {
		if d, ok := definitionOf(m, kinds, text); ok {
			d.path = path
			defs = append(defs, d)
		}
	}
	return nest(defs), nil
}

// definitionOf makes a definition of a match.
func definitionOf(m *sitter.QueryMatch, kinds []string, text []byte) (definition, bool) {
	d := definition{pattern: m.PatternIndex}
	for _, capture := range m.Captures {
		node := &capture.Node
		switch kind := kinds[capture.Index]; kind {
		case "name":
			named := innermost(node)
			d.name = memberName(named.Utf8Text(text))
			d.nameAt = named.StartByte()
		case "receiver":
			d.container = memberName(strings.TrimLeft(node.Utf8Text(text), "*( "))
		default:
			d.kind = kind
			d.start, d.end = node.ByteRange()
			d.first = int(outer(node).StartPosition().Row) + 1
			d.last = int(node.EndPosition().Row) + 1
			if end := node.EndPosition(); end.Column == 0 && d.last > d.first {
				d.last-- // the node ends with the newline
			}
			d.signature = signature(node, kind, text)
		}
	}
	if i := strings.LastIndex(d.name, "."); i >= 0 && i < len(d.name)-1 {
		d.container, d.name = d.name[:i], d.name[i+1:]
		if d.kind == "function" {
			d.kind = "method"
		}
	}
	return d, d.name != "" && d.kind != ""
}

// innermost goes from a C declarator, which wraps the name in pointers, arrays
// and parameters, to the name.
func innermost(n *sitter.Node) *sitter.Node {
	for {
		inner := n.ChildByFieldName("declarator")
		if inner == nil && strings.HasSuffix(n.Kind(), "_declarator") && n.NamedChildCount() > 0 {
			inner = n.NamedChild(n.NamedChildCount() - 1)
		}
		if inner == nil {
			return n
		}
		n = inner
	}
}

// memberName is a name without type arguments, with dots between its parts.
func memberName(name string) string {
	if !strings.HasPrefix(name, "operator") {
		if i := strings.IndexAny(name, "<["); i > 0 {
			name = name[:i] + afterArguments(name[i:])
		}
	}
	return clean([]byte(strings.Join(strings.Fields(strings.ReplaceAll(name, "::", ".")), " ")))
}

// afterArguments is what follows type arguments, as in List<T>::add.
func afterArguments(rest string) string {
	if i := strings.LastIndex(rest, ">::"); i >= 0 {
		return rest[i+1:]
	}
	return ""
}

// outer is the node that puts modifiers before a definition, or the definition.
func outer(n *sitter.Node) *sitter.Node {
	for {
		p := n.Parent()
		if p == nil {
			return n
		}
		switch p.Kind() {
		case "decorated_definition", "export_statement", "template_declaration":
			n = p
		default:
			return n
		}
	}
}

// signature is the head of a definition in one line.
func signature(n *sitter.Node, kind string, text []byte) string {
	start := afterAnnotations(n)
	head := text[start:n.EndByte()]
	switch body := n.ChildByFieldName("body"); {
	case body != nil:
		head = text[start:body.StartByte()]
	case kind == "constant" || kind == "variable" || kind == "macro" || kind == "type":
		head, _, _ = bytes.Cut(head, []byte("\n"))
	default:
		head, _, _ = bytes.Cut(head, []byte("{"))
	}
	line := bytes.Join(bytes.Fields(head), []byte(" "))
	line = bytes.TrimRight(line, " {:;=(")
	if short := cutText(line, signatureBytes); len(short) < len(line) {
		return clean(short) + "…"
	}
	return clean(line)
}

// afterAnnotations is where a definition begins when the annotations that Java
// puts first are left out.
func afterAnnotations(n *sitter.Node) uint {
	start := n.StartByte()
	modifiers := n.NamedChild(0)
	if modifiers == nil || modifiers.Kind() != "modifiers" {
		return start
	}
	for i := range modifiers.ChildCount() {
		child := modifiers.Child(i)
		if !strings.HasSuffix(child.Kind(), "annotation") {
			break
		}
		start = child.EndByte()
	}
	return start
}

// nest sorts definitions, drops the doubles and the variables of functions, and
// says what each is a member of.
func nest(defs []definition) []symbol {
	slices.SortFunc(defs, func(a, b definition) int {
		return cmp.Or(cmp.Compare(a.nameAt, b.nameAt), cmp.Compare(a.pattern, b.pattern))
	})
	defs = slices.CompactFunc(defs, func(a, b definition) bool { return a.nameAt == b.nameAt })
	slices.SortStableFunc(defs, func(a, b definition) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var out []symbol
	var around []definition
	for _, d := range defs {
		for len(around) > 0 && around[len(around)-1].end <= d.start {
			around = around[:len(around)-1]
		}
		if isValue(d.kind) && slices.ContainsFunc(around, func(a definition) bool { return isCode(a.kind) }) {
			continue
		}
		if len(around) > 0 {
			in := around[len(around)-1]
			if d.container == "" || !isCode(in.kind) {
				d.container = strings.TrimSuffix(in.full()+"."+d.container, ".")
			}
			if d.kind == "function" && isType(in.kind) {
				d.kind = "method"
			}
		}
		out = append(out, d.symbol)
		if isCode(d.kind) || isType(d.kind) || d.kind == "namespace" || d.kind == "module" {
			around = append(around, d)
		}
	}
	return out
}

func isCode(kind string) bool {
	return kind == "function" || kind == "method" || kind == "constructor"
}

func isType(kind string) bool {
	switch kind {
	case "class", "struct", "union", "interface", "trait", "impl", "enum", "record", "annotation":
		return true
	}
	return false
}

func isValue(kind string) bool {
	return kind == "variable" || kind == "constant" || kind == "declaration"
}

package syntax

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// signatureBytes is how much of a definition's head is shown.
const signatureBytes = 160

// Symbol is one definition.
type Symbol struct {
	Path        string
	First, Last int // lines, with what precedes the definition proper
	Kind        string
	Container   string // what it is a member of, outermost first, dotted
	Name        string
	Signature   string

	// NameLine and NameColumn are where its name stands: the lines before it in the
	// text, and the bytes before it in its line.
	NameLine, NameColumn int

	start, end uint // bytes
	nameAt     uint
	pattern    uint
	alias      bool // another name has been given the same value with it
}

// Full is the name with what it is a member of.
func (s Symbol) Full() string {
	if s.Container == "" {
		return s.Name
	}
	return s.Container + "." + s.Name
}

// String is the symbol in a line of output.
func (s Symbol) String() string {
	return fmt.Sprintf("%d-%d %s %s  %s", s.First, s.Last, s.Kind, s.Full(), s.Signature)
}

// IsCode reports whether it is code that is called.
func (s Symbol) IsCode() bool { return isCode(s.Kind) }

// definitionOf makes a definition of a match.
func definitionOf(m *sitter.QueryMatch, kinds []string, text []byte) (Symbol, bool) {
	d := Symbol{pattern: m.PatternIndex}
	member, title := false, false
	for _, capture := range m.Captures {
		node := &capture.Node
		switch kind := kinds[capture.Index]; kind {
		case "name":
			d.setName(innermost(node), text)
		case "member":
			member = d.setMember(node, text)
		case "title":
			d.setName(node, text)
			d.Name, title = titleOf(node, text), true
		case "receiver":
			d.Container = memberName(strings.TrimLeft(node.Utf8Text(text), "*( "))
		case "object":
			d.Container = plainObject(memberName(node.Utf8Text(text)))
		case "callee":
			if !isTestCall(node, text) {
				return d, false
			}
		case "unused":
		default:
			d.setExtent(node, kind, text)
		}
	}
	if i := strings.LastIndex(d.Name, "."); i >= 0 && i < len(d.Name)-1 && !title {
		d.Container, d.Name, member = d.Name[:i], d.Name[i+1:], true
	}
	if member && d.Kind == "function" && d.Container != "" {
		d.Kind = "method"
	}
	return d, d.Name != "" && d.Kind != ""
}

// setExtent notes what a node defines, and from where to where.
func (s *Symbol) setExtent(n *sitter.Node, kind string, text []byte) {
	if s.Kind = kind; kind == "assigned" {
		s.Kind, s.alias = assigned(n)
	}
	s.start, s.end = n.ByteRange()
	s.First = int(outer(n).StartPosition().Row) + 1
	s.Last = int(n.EndPosition().Row) + 1
	if end := n.EndPosition(); end.Column == 0 && s.Last > s.First {
		s.Last-- // the node ends with the newline
	}
	s.Signature = signature(n, s.Kind, text)
}

// setMember notes the name of what an assignment is to, and reports whether that is a
// member of something.
func (s *Symbol) setMember(n *sitter.Node, text []byte) bool {
	property := n.ChildByFieldName("property")
	if property == nil {
		s.setName(n, text)
		return false
	}
	s.setName(property, text)
	s.Container = plainObject(memberName(n.ChildByFieldName("object").Utf8Text(text)))
	return true
}

// setName notes the name, and where it stands.
func (s *Symbol) setName(n *sitter.Node, text []byte) {
	s.Name = memberName(n.Utf8Text(text))
	s.nameAt = n.StartByte()
	at := n.StartPosition()
	s.NameLine, s.NameColumn = int(at.Row), int(at.Column)
}

// assigned is what an assignment defines: a function or a class under another name,
// however many names it is given, or, at the top of a file, a member of something.
// It is "" for one that defines nothing.
func assigned(n *sitter.Node) (kind string, alias bool) {
	value := n.ChildByFieldName("right")
	if value == nil {
		value = n.ChildByFieldName("value")
	}
	for value != nil {
		switch value.Kind() {
		case "assignment_expression":
			value = value.ChildByFieldName("right")
			continue
		case "parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression":
			value = value.NamedChild(0)
			continue
		case "arrow_function", "function_expression", "generator_function":
			kind = "function"
		case "class":
			kind = "class"
		}
		break
	}
	p := n.Parent()
	for p != nil && (p.Kind() == "assignment_expression" || p.Kind() == "variable_declarator") {
		alias = true
		n, p = p, p.Parent()
	}
	if left := n.ChildByFieldName("left"); kind == "" && left != nil && left.Kind() == "member_expression" &&
		p != nil && p.Kind() == "expression_statement" && p.Parent() != nil && p.Parent().Kind() == "program" {
		kind = "property"
	}
	return kind, alias
}

// plainObject is an object as its members are asked for: what a module exports and
// what an object says of itself have no name of their own.
func plainObject(name string) string {
	parts := strings.Split(name, ".")
	parts = slices.DeleteFunc(parts, func(part string) bool {
		return slices.Contains([]string{"module", "exports", "this", "self", "prototype"}, part)
	})
	return strings.Join(parts, ".")
}

// titleOf is the content of a string as a name on one line.
func titleOf(n *sitter.Node, text []byte) string {
	title := bytes.Join(bytes.Fields(text[n.StartByte():n.EndByte()]), []byte(" "))
	if len(title) >= 2 {
		title = title[1 : len(title)-1]
	}
	return clean(cutText(title, signatureBytes))
}

// isTestCall reports whether what is called is how test runners of JavaScript are
// told of a case or of a group of cases: mocha, jest, jasmine, vitest, node:test.
func isTestCall(n *sitter.Node, text []byte) bool {
	for {
		inner := n.ChildByFieldName("object") // describe.only
		if inner == nil {
			inner = n.ChildByFieldName("function") // it.each(table)
		}
		if inner == nil {
			break
		}
		n = inner
	}
	name := n.Utf8Text(text)
	if short := strings.TrimLeft(name, "xf"); len(name)-len(short) == 1 { // left out, or alone
		name = short
	}
	return slices.Contains([]string{"describe", "it", "test", "suite", "context", "specify", "Deno"}, name)
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
	case kind == "constant" || kind == "variable" || kind == "field" || kind == "macro" || kind == "type":
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
func nest(defs []Symbol) []Symbol {
	slices.SortFunc(defs, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.nameAt, b.nameAt), cmp.Compare(a.pattern, b.pattern))
	})
	defs = slices.CompactFunc(defs, func(a, b Symbol) bool { return a.nameAt == b.nameAt })
	slices.SortStableFunc(defs, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var out, around []Symbol
	for _, d := range defs {
		for len(around) > 0 && around[len(around)-1].end <= d.start {
			around = around[:len(around)-1]
		}
		outside := around
		for d.alias && len(outside) > 0 && outside[len(outside)-1].end == d.end {
			outside = outside[:len(outside)-1] // the other name is no place that it is in
		}
		if isValue(d.Kind) && slices.ContainsFunc(outside, Symbol.IsCode) {
			continue
		}
		if len(outside) > 0 && d.Kind != "test" {
			d.putInto(outside[len(outside)-1])
		}
		out = append(out, d)
		if isCode(d.Kind) || isType(d.Kind) || d.Kind == "namespace" || d.Kind == "module" {
			around = append(around, d)
		}
	}
	return out
}

// putInto says what a definition is a member of.
func (s *Symbol) putInto(in Symbol) {
	if s.Container == "" || !isCode(in.Kind) {
		s.Container = strings.TrimSuffix(in.Full()+"."+s.Container, ".")
	}
	if s.Kind == "function" && isType(in.Kind) {
		s.Kind = "method"
	}
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

// cutText returns at most limit bytes of the beginning of b, never a part of a
// rune.
func cutText(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	return bytes.ToValidUTF8(b[:limit], nil)
}

// clean makes text that is valid UTF-8 of any bytes.
func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

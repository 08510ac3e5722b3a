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
	// Asked is for one that is told only where its name is asked for: a field, or what
	// else an outline has no room for.
	Asked bool

	// NameLine and NameColumn are where its name stands: the lines before it in the
	// text, and the bytes before it in its line.
	NameLine, NameColumn int

	start, end uint // bytes
	nameAt     uint
	pattern    uint
	alias      bool // another name has been given the same value with it
	inner      bool // the name that an expression has for itself
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
			if d.Name == "" {
				d.setName(innermost(node), text)
			}
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
		case "asked":
			d.Asked = true
		case "inner":
			d.inner = true
		case "unused", "names":
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
		s.assign(n, text)
	}
	switch object := n.Parent(); {
	case object != nil && object.Kind() == "object" && s.Container == "":
		s.Container = plainObject(ownerOf(object, text))
	case kind == "function":
		s.setCase(n, text)
	}
	s.start, s.end = n.ByteRange()
	s.First = int(outer(n).StartPosition().Row) + 1
	s.Last = int(n.EndPosition().Row) + 1
	if end := n.EndPosition(); end.Column == 0 && s.Last > s.First {
		s.Last-- // the node ends with the newline
	}
	s.Signature = signature(n, s.Kind, text)
}

// setName notes the name, and where it stands.
func (s *Symbol) setName(n *sitter.Node, text []byte) {
	s.Name = strings.Trim(memberName(n.Utf8Text(text)), "\"'`")
	s.nameAt = n.StartByte()
	at := n.StartPosition()
	s.NameLine, s.NameColumn = int(at.Row), int(at.Column)
}

// setCase names a test of C++ by what its macro is given, as in TEST(Suite, Name), which
// is read as a function without a type.
func (s *Symbol) setCase(n *sitter.Node, text []byte) {
	head := n.ChildByFieldName("declarator")
	if n.Kind() != "function_definition" || head == nil || n.ChildByFieldName("type") != nil {
		return
	}
	macro, params := head.ChildByFieldName("declarator"), head.ChildByFieldName("parameters")
	if macro == nil || params == nil || params.NamedChildCount() == 0 {
		return
	}
	inClass := n.Parent() != nil && n.Parent().Kind() == "field_declaration_list"
	if name := macro.Utf8Text(text); inClass || macro.Kind() != "identifier" || name != strings.ToUpper(name) {
		return
	}
	s.Kind = "test"
	s.setName(macro, text)
	var parts []string
	for i := range params.NamedChildCount() {
		parts = append(parts, params.NamedChild(i).Utf8Text(text))
	}
	s.Name = memberName(strings.Join(parts, "."))
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
		if d.repeats(outside, out) {
			continue
		}
		if in := d.within(outside); in != nil && d.Kind != "test" {
			d.putInto(*in)
		}
		out = append(out, d)
		if isCode(d.Kind) || isType(d.Kind) || d.Kind == "type" || d.Kind == "namespace" || d.Kind == "module" {
			around = append(around, d)
		}
	}
	return out
}

// repeats reports whether it is none of its own among what is around it and came
// before: a variable of a function, the name that a function has for itself beside that
// which it is assigned to, or a field that is assigned to once more.
func (s *Symbol) repeats(around, before []Symbol) bool {
	sameName := func(o Symbol) bool { return o.Name == s.Name }
	inCode := slices.ContainsFunc(around, Symbol.IsCode)
	switch {
	case s.inner:
		covered := len(before) > 0 && before[len(before)-1].end >= s.end && sameName(before[len(before)-1])
		return covered || slices.ContainsFunc(around, sameName)
	case s.Kind == "field" && inCode:
		in := s.within(around)
		return slices.ContainsFunc(before, func(o Symbol) bool { return sameName(o) && o.Container == in.Full() })
	}
	return isValue(s.Kind) && inCode
}

// within is what a definition is a member of, of what is around it: a field that code
// assigns to is one of the type that the code is in.
func (s *Symbol) within(around []Symbol) *Symbol {
	var code *Symbol
	for i := range slices.Backward(around) {
		switch in := &around[i]; {
		case in.Kind == "type" && !s.Asked: // a type's name is around no other's
		case s.Kind != "field" || !isCode(in.Kind):
			return in
		case code == nil:
			code = in
		}
	}
	if code != nil && code.Kind != "function" && code.Container != "" {
		return &Symbol{Name: code.Container}
	}
	return code
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

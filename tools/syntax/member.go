package syntax

import (
	"bytes"
	"slices"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// What follows is about JavaScript and TypeScript, whose members are defined by
// assignments, calls and objects that are written out.

// setMember notes the name of what an assignment is to, and reports whether that is a
// member of something.
func (s *Symbol) setMember(n *sitter.Node, text []byte) bool {
	if s.Name != "" {
		return false // it has one of its own
	}
	property := n.ChildByFieldName("property")
	if index := n.ChildByFieldName("index"); index != nil {
		if index.Kind() != "string" {
			return false // which member it is, is computed
		}
		property = index
	}
	if property == nil {
		s.setName(n, text)
		return false
	}
	s.setName(property, text)
	s.Container = plainObject(memberName(n.ChildByFieldName("object").Utf8Text(text)))
	return true
}

// assign notes what an assignment defines: a function or a class under another name,
// however many names it is given, at the top of a file a member of something, and
// elsewhere a field of this. The kind is "" for one that defines nothing.
func (s *Symbol) assign(n *sitter.Node, text []byte) {
	s.Kind = ""
	value := n.ChildByFieldName("right")
	if value == nil {
		value = n.ChildByFieldName("value")
	}
	for value != nil {
		switch kind := value.Kind(); {
		case kind == "assignment_expression":
			value = value.ChildByFieldName("right")
			continue
		case wrapsValue(kind):
			value = value.NamedChild(0)
			continue
		case kind == "arrow_function", kind == "function_expression", kind == "generator_function":
			s.Kind = "function"
		case kind == "class":
			s.Kind = "class"
		}
		break
	}
	if to := n.ChildByFieldName("left"); to != nil && value != nil {
		name := value.ChildByFieldName("name")
		if all := to.Utf8Text(text); name != nil && (all == "module.exports" || all == "exports") {
			s.setName(name, text) // what a module is has a name of its own
		}
	}
	p := n.Parent()
	for p != nil && (p.Kind() == "assignment_expression" || p.Kind() == "variable_declarator") {
		s.alias = true
		n, p = p, p.Parent()
	}
	left := n.ChildByFieldName("left")
	switch {
	case s.Kind != "", left == nil, p == nil:
	case left.Kind() != "member_expression", p.Kind() != "expression_statement":
	case p.Parent() != nil && p.Parent().Kind() == "program":
		s.Kind = "property"
	case left.ChildByFieldName("object").Kind() == "this":
		s.Kind, s.Asked = "field", true
	}
}

// wrapsValue reports whether a node is the value in it, said in another way.
func wrapsValue(kind string) bool {
	switch kind {
	case "parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression":
		return true
	}
	return false
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

// ownerOf is the name of an object that is written out: of what it is assigned to, of
// the key that it stands at in another, or of what its members are given to.
func ownerOf(object *sitter.Node, text []byte) string {
	p := object.Parent()
	for p != nil && wrapsValue(p.Kind()) {
		p = p.Parent()
	}
	if p == nil {
		return ""
	}
	var name *sitter.Node
	switch p.Kind() {
	case "variable_declarator":
		name = p.ChildByFieldName("name")
	case "assignment_expression":
		name = p.ChildByFieldName("left")
	case "pair":
		name = p.ChildByFieldName("key")
	case "arguments": // Object.assign(Page.prototype, { … })
		first := p.NamedChild(0)
		if sameNode(p.NamedChild(1), object) && (first.Kind() == "identifier" || first.Kind() == "member_expression") {
			name = first
		}
	}
	if name == nil || strings.HasSuffix(name.Kind(), "_pattern") {
		return ""
	}
	own := strings.Trim(memberName(name.Utf8Text(text)), "\"'`")
	if p.Kind() == "pair" && p.Parent() != nil {
		own = strings.Trim(ownerOf(p.Parent(), text)+"."+own, ".")
	}
	return own
}

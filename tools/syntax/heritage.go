package syntax

import (
	"slices"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// inherits reports whether a node says that a type is one of what its child names.
func inherits(p, child *sitter.Node) bool {
	switch p.Kind() {
	case "class_heritage", "extends_clause", "implements_clause", "extends_type_clause", "superclass",
		"super_interfaces", "extends_interfaces", "base_class_clause":
		return true
	case "argument_list": // of a class of Python
		outer := p.Parent()
		return outer != nil && outer.Kind() == "class_definition"
	case "impl_item":
		return sameNode(p.ChildByFieldName("trait"), child)
	case "trait_bounds":
		outer := p.Parent()
		return outer != nil && outer.Kind() == "trait_item"
	case "field_declaration": // embedded in a struct of Go
		return p.ChildByFieldName("name") == nil && p.ChildByFieldName("declarator") == nil
	case "type_elem": // embedded in an interface of Go
		outer := p.Parent()
		return outer != nil && outer.Kind() == "interface_type"
	}
	return false
}

// unnamedHeir is the last line of a class without a name that inherits from the word at
// a place: of one that an expression makes, such as Java's new Name() { … }.
func (f *File) unnamedHeir(start, end uint) int {
	n := f.tree.RootNode().NamedDescendantForByteRange(start, end)
	if n == nil {
		return 0
	}
	for p := n.Parent(); p != nil; n, p = p, p.Parent() {
		switch kind := p.Kind(); {
		case kind == "object_creation_expression" && sameNode(p.ChildByFieldName("type"), n) && hasBody(p):
			return int(p.EndPosition().Row) + 1
		case kind == "class_heritage":
			if class := p.Parent(); class.Kind() == "class" && !f.namesType(class.EndByte()) {
				return int(class.EndPosition().Row) + 1
			}
			return 0
		case kind != "extends_clause" && kind != "implements_clause" && !isLast(p, n) && !wraps(kind):
			return 0
		}
	}
	return 0
}

// hasBody reports whether an expression that makes an object says what is in its class.
func hasBody(n *sitter.Node) bool {
	last := n.NamedChild(n.NamedChildCount() - 1)
	return last != nil && last.Kind() == "class_body"
}

// namesType reports whether a type with a name ends at a place.
func (f *File) namesType(end uint) bool {
	return slices.ContainsFunc(f.Symbols, func(s Symbol) bool { return s.end == end && isType(s.Kind) })
}

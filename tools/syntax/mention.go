package syntax

import (
	"bytes"
	"slices"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// Role says what a mention of a name is for.
type Role string

// The roles of mentions.
const (
	Use     Role = "use"
	Call    Role = "call"    // also where an object is made, and a decorator
	Import  Role = "import"  // of the name, or of a module of that name
	Extends Role = "extends" // a type declares to be one of the name
)

// Mention is a place in a text where a name stands and is not being defined.
type Mention struct {
	Path   string
	Line   int
	Column int // bytes before it in its line
	Role   Role
	// In is the definition that it stands in; its Name is "" at the top of a file.
	In Symbol
	// Module is what an import names, as it is written.
	Module string
	// Unnamed is the last line of a class that has no name and declares here to be one
	// of the name; 0 where there is none.
	Unnamed int
	Text    string // its line
}

// Mentions finds the places where a name stands, in the order of the text. A place
// that defines it is none, nor is one in a comment or, imports apart, in a string.
func (f *File) Mentions(path, name string) []Mention {
	if f.tree == nil || name == "" {
		return nil
	}
	var out []Mention
	line, counted := 1, 0
	for at := range occurrences(f.text, name) {
		if f.defines(uint(at)) {
			continue
		}
		role, module, ok := f.roleAt(uint(at), uint(at+len(name)))
		if !ok {
			continue
		}
		line += bytes.Count(f.text[counted:at], []byte("\n"))
		counted = at
		start, text := lineAround(f.text, at)
		m := Mention{
			Path:   path,
			Line:   line,
			Column: at - start,
			Role:   role,
			Module: module,
			Text:   text,
		}
		m.Unnamed = f.unnamedHeir(uint(at), uint(at+len(name)))
		if in := f.around(uint(at)); in != nil {
			m.In = *in
		}
		out = append(out, m)
	}
	return out
}

// occurrences are the places where a name stands as a word of its own.
func occurrences(text []byte, name string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(name))
			if i < 0 {
				return
			}
			at := from + i
			end := at + len(name)
			from = at + 1
			if (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end])) && !yield(at) {
				return
			}
		}
	}
}

// Mentions reports whether a name stands in a text as a word of its own.
func Mentions(text []byte, name string) bool {
	for range occurrences(text, name) {
		return true
	}
	return false
}

// inWord reports whether a byte can be part of a name.
func inWord(b byte) bool {
	return b == '_' || b == '$' || b >= 0x80 ||
		'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// lineAround is where the line of a place begins, and what is in it.
func lineAround(text []byte, at int) (int, string) {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	trimmed := bytes.TrimSpace(line)
	if short := cutText(trimmed, signatureBytes); len(short) < len(trimmed) {
		return start, clean(short) + "…"
	}
	return start, clean(trimmed)
}

// defines reports whether a definition has its name at a place.
func (f *File) defines(at uint) bool {
	return slices.ContainsFunc(f.Symbols, func(s Symbol) bool { return s.nameAt == at && s.Kind != "test" })
}

// roleAt says what the word at a place is for. It is false for a word that is part of
// a comment, or of a text that does not name anything.
func (f *File) roleAt(start, end uint) (role Role, module string, ok bool) {
	n := f.tree.RootNode().NamedDescendantForByteRange(start, end)
	if n == nil {
		return "", "", false
	}
	kind := n.Kind()
	switch {
	case strings.HasSuffix(kind, "identifier"):
		role, module = f.role(n)
		return role, module, true
	case kind == "preproc_arg": // the body of a macro, which is not parsed
		if end < uint(len(f.text)) && f.text[end] == '(' {
			return Call, "", true
		}
		return Use, "", true
	case strings.Contains(kind, "string"):
		if role, module, ok = f.imported(n); !ok && f.naming(n) {
			for p := n.Parent(); p != nil && strings.Contains(p.Kind(), "string"); p = p.Parent() {
				n = p
			}
			role, module = f.role(n)
			return role, module, true
		}
		return role, module, ok
	}
	return "", "", false
}

// imported reports whether a string is the name of what is imported.
func (f *File) imported(n *sitter.Node) (Role, string, bool) {
	module := strings.Trim(n.Utf8Text(f.text), "\"'`<>")
	for p := n.Parent(); p != nil; p = p.Parent() {
		kind := p.Kind()
		if isImport(p) {
			return Import, module, true
		}
		if kind == "call_expression" {
			callee := p.ChildByFieldName("function")
			if callee == nil {
				return "", "", false
			}
			name := callee.Utf8Text(f.text)
			ok := name == "require" || name == "import" || strings.HasPrefix(name, "require.")
			return Import, module, ok
		}
		if kind != "arguments" && !strings.Contains(kind, "string") && !strings.Contains(kind, "import") {
			return "", "", false
		}
	}
	return "", "", false
}

// isImport reports whether a statement imports something.
func isImport(n *sitter.Node) bool {
	switch kind := n.Kind(); kind {
	case "use_declaration", "extern_crate_declaration", "preproc_include", "using_declaration":
		return true
	case "import_clause", "import_specifier":
		return false // parts of a statement, which says what is imported from
	case "export_statement":
		return n.ChildByFieldName("source") != nil
	default:
		return strings.HasPrefix(kind, "import_") || kind == "future_import_statement"
	}
}

// role says what an identifier is for, from what is around it: whether the name that
// it is, or is the last part of, is called, inherited from or imported.
func (f *File) role(n *sitter.Node) (Role, string) {
	whole := n // the longest dotted name that ends with it
	named := true
	for p := n.Parent(); p != nil; n, p = p, p.Parent() {
		switch {
		case isImport(p):
			if p.ChildByFieldName("source") != nil || p.ChildByFieldName("path") != nil {
				return Import, "" // a string names the module
			}
			return Import, strings.Join(strings.Fields(whole.Utf8Text(f.text)), "")
		case named && f.calls(p, n):
			return Call, ""
		case named && inherits(p, n):
			return Extends, ""
		case isBody(p.Kind()):
			return Use, ""
		case isLast(p, n):
			if named {
				whole = p
			}
		case !wraps(p.Kind()):
			named = false
		}
	}
	return Use, ""
}

// isBody reports whether a node is code that no import or heritage is around.
func isBody(kind string) bool {
	switch kind {
	case "block", "statement_block", "class_body", "compound_statement", "declaration_list", "interface_body",
		"field_declaration_list", "expression_statement":
		return true
	}
	return false
}

// calls reports whether a node calls what its child names.
func (f *File) calls(p, child *sitter.Node) bool {
	is := func(field string) bool { return sameNode(p.ChildByFieldName(field), child) }
	switch p.Kind() {
	case "call_expression", "call":
		return is("function")
	case "new_expression":
		return is("constructor") || is("type")
	case "method_invocation", "annotation", "marker_annotation", "jsx_opening_element", "jsx_self_closing_element":
		return is("name")
	case "object_creation_expression", "type_conversion_expression": // also of a generic function of Go
		return is("type")
	case "macro_invocation":
		return is("macro")
	case "decorator":
		return true
	case "token_tree": // the arguments of a macro of Rust, which are not parsed
		next := child.NextSibling()
		return next != nil && next.Kind() == "token_tree" && f.text[next.StartByte()] == '('
	}
	return false
}

// isLast reports whether a node is a dotted name that ends with its child.
func isLast(p, child *sitter.Node) bool {
	for _, field := range []string{"property", "field", "attribute", "name", "index"} {
		if !sameNode(p.ChildByFieldName(field), child) {
			continue
		}
		switch p.Kind() {
		case "subscript_expression":
			return strings.Contains(child.Kind(), "string") // another index is a value
		case "member_expression", "selector_expression", "field_expression", "attribute", "scoped_identifier",
			"scoped_type_identifier", "qualified_identifier", "qualified_type", "nested_type_identifier":
			return true
		}
	}
	switch p.Kind() {
	case "dotted_name", "scoped_type_identifier": // the latter has no fields in Java
		return sameNode(p.NamedChild(p.NamedChildCount()-1), child)
	}
	return false
}

// wraps reports whether a node adds to a name without another meaning.
func wraps(kind string) bool {
	switch kind {
	case "generic_function", "generic_type", "template_function", "template_type", "template_method", "type_list",
		"interface_type_list", "parenthesized_expression", "non_null_expression", "pointer_type", "expression",
		"instantiation_expression", "reference_type":
		return true
	}
	return false
}

func sameNode(a, b *sitter.Node) bool { return a != nil && b != nil && a.Equals(*b) }

package permit

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables are the values that a command line gives to its variables. Which of
// them one has at some place depends on how the line runs, so all are judged.
type variables struct {
	values map[string][]string
	// unknown are those that something else than a plain assignment gives a value.
	unknown map[string]bool
	none    bool     // nothing can be told of any
	grew    bool     // since the line was begun
	scripts []string // files that are being looked into
}

// mostValues is how many values of a variable are kept.
const mostValues = 32

func newVariables(home string) *variables {
	if home == "" {
		home = "/home"
	}
	return &variables{values: map[string][]string{"HOME": {home}}, unknown: map[string]bool{}}
}

// put notes one more value of a variable.
func (v *variables) put(name, value string) {
	switch {
	case v.unknown[name] || slices.Contains(v.values[name], value):
		return
	case name == "IFS", len(v.values[name]) == mostValues:
		v.forget(name)
		return
	}
	v.values[name] = append(v.values[name], value)
	v.grew = true
}

// forget says that a variable may have any value. Where words are taken apart is
// in one of them, so nothing is known of any once that is set.
func (v *variables) forget(name string) {
	if name == "IFS" {
		v.forgetAll()
	}
	if name, _, _ = strings.Cut(name, "="); !v.unknown[name] {
		v.unknown[name], v.grew = true, true
	}
}

func (v *variables) forgetAll() {
	if !v.none {
		v.none, v.grew = true, true
	}
}

func (v *variables) of(name string) ([]string, bool) {
	if v.none || v.unknown[name] || len(v.values[name]) == 0 {
		return nil, false
	}
	return v.values[name], true
}

// valuesOf are the values of an expansion, if it is a plain one.
func (r *reader) valuesOf(p *syntax.ParamExp) ([]string, bool) {
	if p.Param == nil || !isPlain(p) {
		return nil, false
	}
	if p.Param.Value == "PWD" && r.dir != "" && len(r.vars.values["PWD"]) == 0 {
		return []string{r.dir}, !r.vars.none && !r.vars.unknown["PWD"]
	}
	return r.vars.of(p.Param.Value)
}

// isPlain reports whether an expansion is the value of a variable and nothing
// more.
func isPlain(p *syntax.ParamExp) bool {
	return p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// printed is what a substituted command prints, where that is as good as written
// down.
func (r *reader) printed(sub *syntax.CmdSubst) (string, bool) {
	if len(sub.Stmts) != 1 || len(sub.Stmts[0].Redirs) > 0 || sub.Stmts[0].Negated {
		return "", false
	}
	call, ok := sub.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return "", false
	}
	argvs := r.argvs(call.Args)
	if len(argvs) != 1 || len(argvs[0]) == 0 {
		return "", false
	}
	argv := argvs[0]
	for _, w := range argv {
		if !w.known || w.glob != "" || strings.ContainsAny(w.text, `\%`) {
			return "", false
		}
	}
	switch {
	case len(argv) == 1 && argv[0].text == "pwd" && r.dir != "":
		return r.dir, true
	case argv[0].text == "echo" && (len(argv) == 1 || !strings.HasPrefix(argv[1].text, "-")):
		return meant(argv[1:]), true
	}
	return "", false
}

// assigns notes the variables that a part of a line gives a value.
func (r *reader) assigns(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		r.assign(n)
	case *syntax.DeclClause:
		for _, a := range n.Args {
			if a.Name == nil && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") &&
				strings.Trim(a.Value.Lit(), "-gxrp") != "" {
				for _, named := range n.Args {
					if named.Name != nil {
						r.vars.forget(named.Name.Value)
					}
				}
			}
		}
	case *syntax.WordIter:
		r.loops(n)
	case *syntax.ParamExp:
		if n.Exp != nil && n.Param != nil &&
			(n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			r.vars.forget(n.Param.Value)
		}
	case *syntax.BinaryArithm:
		r.counts(n.X)
	case *syntax.UnaryArithm:
		r.counts(n.X)
	}
}

// counts notes that an expression may give a variable a value.
func (r *reader) counts(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && w.Lit() != "" {
		r.vars.forget(w.Lit())
	}
}

// assign notes a value. Variables that make other commands run are asked about.
func (r *reader) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	r.variable(name)
	if a.Naked {
		return
	}
	values, ok := r.values(a.Value)
	if !ok || a.Append || a.Index != nil || a.Array != nil {
		r.vars.forget(name)
		return
	}
	for _, v := range values {
		r.vars.put(name, v)
	}
}

// loops notes what the variable of a loop is given.
func (r *reader) loops(n *syntax.WordIter) {
	if !n.InPos.IsValid() {
		r.vars.forget(n.Name.Value)
		return
	}
	for _, item := range n.Items {
		for _, words := range r.readings(item) {
			for _, w := range words {
				r.item(n.Name.Value, w)
			}
		}
	}
}

// item notes one word that a loop goes through.
func (r *reader) item(name string, w word) {
	if !w.known {
		r.vars.forget(name)
		return
	}
	r.vars.put(name, w.text)
	if w.glob == "" {
		return
	}
	files, ok := r.files(w.glob)
	if !ok || len(files) > mostValues {
		r.vars.forget(name)
		return
	}
	for _, file := range files {
		r.vars.put(name, file)
	}
}

// setters are the commands that give variables values which they name.
var setters = []string{"read", "mapfile", "readarray", "getopts", "printf", "wait", "unset", "coproc", "exec"}

// sets notes the variables that a command gives a value.
func (r *reader) sets(argv []word) {
	switch name := argv[0].text; {
	case name == "." || name == "source":
		r.vars.forgetAll()
	case name == "shopt" || name == "set":
		for _, w := range argv[1:] {
			r.dots = r.dots || !w.known || strings.Contains(w.text, "glob")
		}
	case slices.Contains(setters, name):
		for _, w := range argv[1:] {
			if !w.known {
				r.vars.forgetAll()
			}
			r.vars.forget(w.text)
		}
		for _, name := range []string{"REPLY", "MAPFILE", "OPTARG"} {
			r.vars.forget(name)
		}
	}
}

package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan/tools/syntax"
	"github.com/plan-engine/plan/tools/words"
)

// mostHeirs bounds the types whose heirs are looked for in one call.
const mostHeirs = 50

// heir is a type that says that it is one of another, where it is.
type heir struct {
	path        string
	first, last int    // lines
	name        string // "" for a class that has none
}

type heirs []heir

// findHeirs finds the types that inherit from what the wanted name is a member of, and
// those that inherit from them.
func (q *mentionSearch) findHeirs(ctx context.Context, files []source) (heirs, error) {
	var all heirs
	names := []string{q.want.owner}
	types, err := q.findByMethods(ctx, files, newWanted(q.want.owner))
	if err != nil {
		return nil, err
	}
	for _, t := range types {
		all = append(all, heir{
			path:  t.at.Path,
			first: t.at.First,
			last:  t.at.Last,
			name:  t.name,
		})
	}
	for i := 0; i < len(names) && i < mostHeirs; i++ {
		of := mentionSearch{
			set:  q.set,
			kind: findImplementations,
			want: newWanted(names[i]),
		}
		if _, _, err := of.searchAll(ctx, mentioning(files, words.Seek(names[i], true))); err != nil {
			return nil, err
		}
		for _, h := range of.found {
			if all = append(all, h); h.name != "" && !slices.Contains(names, h.name) {
				names = append(names, h.name)
			}
		}
	}
	return all, nil
}

// addByMethods shows the types of Go that have the methods of the wanted interface and
// do not embed it.
func (q *mentionSearch) addByMethods(ctx context.Context, files []source) error {
	types, err := q.findByMethods(ctx, files, q.want)
	if err != nil {
		return err
	}
	lines := map[string][]string{}
	for _, t := range types {
		line := t.at.String()
		known := slices.ContainsFunc(q.found, func(h heir) bool { return h.path == t.at.Path && h.name == t.name })
		if !known && !slices.Contains(lines[t.at.Path], line) {
			lines[t.at.Path] = append(lines[t.at.Path], line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		q.add(name, mentioned{lines: lines[name]})
	}
	return nil
}

// have reports whether one of them has a definition as a member.
func (all heirs) have(path string, s syntax.Symbol) bool {
	container := s.Container[strings.LastIndex(s.Container, ".")+1:]
	return slices.ContainsFunc(all, func(h heir) bool {
		if h.name != "" {
			return h.name == container
		}
		return h.path == path && h.first <= s.First && s.Last <= h.last
	})
}

// implementations are the definitions of the name that have a body, and the types
// that declare to be one of it.
func (q *mentionSearch) implementations(
	path string,
	symbols []syntax.Symbol,
	mentions []syntax.Mention,
) (lines []string, inherit []heir) {
	add := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, s := range symbols {
		named := q.want.rank(s) == 4 || s.Name == q.want.exact && q.heirs.have(path, s)
		if named && !isBare(s) && !isAbstract(s, symbols) {
			add(s.String())
		}
	}
	for _, m := range mentions {
		switch {
		case m.Unnamed > 0:
			add(fmt.Sprintf("%d-%d class%s  %s", m.Line, m.Unnamed, within(m), m.Text))
			inherit = append(inherit, heir{path: path, first: m.Line, last: m.Unnamed})
		case m.Role == syntax.Extends && m.In.Name != "":
			add(m.In.String())
			inherit = append(inherit, heir{
				path:  path,
				first: m.In.First,
				last:  m.In.Last,
				name:  m.In.Name,
			})
		}
	}
	return lines, inherit
}

// isBare reports whether a definition has no body that could implement something.
func isBare(s syntax.Symbol) bool {
	switch s.Kind {
	case "declaration", "alias", "interface", "trait", "test":
		return true
	}
	return s.Asked
}

// isAbstract reports whether a method is one that an interface or a trait asks for.
func isAbstract(s syntax.Symbol, symbols []syntax.Symbol) bool {
	return slices.ContainsFunc(symbols, func(in syntax.Symbol) bool {
		around := in.First <= s.First && s.Last <= in.Last && in.Full() == s.Container
		return around && (in.Kind == "interface" || in.Kind == "trait")
	})
}

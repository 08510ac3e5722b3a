package tools

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/plan-engine/plan/tools/syntax"
	"github.com/plan-engine/plan/tools/words"
)

// methodSearch finds the types of Go that implement an interface. They say so nowhere:
// one does that has all of its methods. Names are compared, and how many parameters and
// results there are; their types are not known.
type methodSearch struct {
	set     *Set
	files   []source // of Go
	read    int      // bytes of files looked at
	unknown []string // embedded interfaces that are defined elsewhere
}

// goType is the definition of a type of Go, or a method of one whose definition was not
// found.
type goType struct {
	name string
	at   syntax.Symbol
}

// findByMethods finds the types that have the methods of the interfaces of a name.
func (q *mentionSearch) findByMethods(ctx context.Context, files []source, want nameQuery) ([]goType, error) {
	m := methodSearch{set: q.set}
	for _, f := range files {
		if path.Ext(f.name) == ".go" {
			m.files = append(m.files, f)
		}
	}
	interfaces, err := m.interfaces(ctx, want)
	if err != nil {
		return nil, err
	}
	var found []goType
	for _, wanted := range interfaces {
		types, err := m.having(ctx, wanted)
		if err != nil {
			return nil, err
		}
		found = append(found, types...)
	}
	if len(found) > 0 {
		q.unknown = append(q.unknown, m.unknown...)
	}
	return found, nil
}

// goInterface is an interface, and what else its file defines.
type goInterface struct {
	syntax.Symbol
	file    source
	symbols []syntax.Symbol
}

// asks are the methods of an interface by name.
type asks map[string]syntax.Symbol

// interfaces are what the interfaces of a name ask for.
func (m *methodSearch) interfaces(ctx context.Context, want nameQuery) ([]asks, error) {
	var out []asks
	for f, symbols := range m.defining(ctx, want.exact, m.files) {
		for _, s := range symbols {
			if s.Kind != "interface" || want.rank(s) < 4 {
				continue
			}
			wanted := asks{}
			if err := m.ask(ctx, goInterface{s, f, symbols}, wanted, map[string]bool{}); err != nil {
				return nil, err
			}
			if len(wanted) > 0 {
				out = append(out, wanted)
			}
		}
	}
	return out, ctx.Err()
}

// ask adds the methods of an interface, and of those that are embedded in it.
func (m *methodSearch) ask(ctx context.Context, in goInterface, wanted asks, seen map[string]bool) error {
	for _, s := range in.symbols {
		if s.Kind == "method" && s.Container == in.Full() && in.First <= s.First && s.Last <= in.Last {
			wanted[s.Name] = s
		}
	}
	embedded, err := m.embedded(in)
	if err != nil {
		return err
	}
	for _, name := range embedded {
		if seen[name] {
			continue
		}
		seen[name] = true
		inner, ok := m.named(ctx, in.file, name)
		if !ok {
			m.unknown = append(m.unknown, name)
			continue
		}
		if err := m.ask(ctx, inner, wanted, seen); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// named is the interface that a file calls by a name, which has its package before it
// where that is another.
func (m *methodSearch) named(ctx context.Context, from source, name string) (goInterface, bool) {
	files := m.files
	last := name[strings.LastIndex(name, ".")+1:]
	if last == name {
		files = m.folder(path.Dir(from.name))
	}
	for f, symbols := range m.defining(ctx, last, files) {
		at := slices.IndexFunc(symbols, func(s syntax.Symbol) bool { return s.Kind == "interface" && s.Name == last })
		if at >= 0 {
			return goInterface{symbols[at], f, symbols}, true
		}
	}
	return goInterface{}, false
}

var onlyName = regexp.MustCompile(`^(?:\w+\.)?\w+(?:\[.*\])?$`)

// embedded are the names that stand alone in an interface.
func (m *methodSearch) embedded(in goInterface) ([]string, error) {
	r := &reader{root: m.set.root}
	defer r.close()
	text, err := r.load(in.file.name, false, symbolFile)
	if err != nil {
		return nil, fmt.Errorf("read an interface: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	_, body, _ := strings.Cut(strings.Join(lines[in.First-1:min(in.Last, len(lines))], "\n"), "{")
	var names []string
	for line := range strings.FieldsFuncSeq(body, func(c rune) bool { return c == '\n' || c == ';' }) {
		line, _, _ = strings.Cut(line, "//")
		name := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "}"))
		if onlyName.MatchString(name) && name != "any" && name != "comparable" {
			name, _, _ = strings.Cut(name, "[")
			names = append(names, name)
		}
	}
	return names, nil
}

// having are the types that have all of the methods.
func (m *methodSearch) having(ctx context.Context, wanted asks) ([]goType, error) {
	rare, fewest := "", len(m.files)+1
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if n := len(m.likely(name, m.files)); n < fewest {
			rare, fewest = name, n
		}
	}
	var types []goType
	for f, symbols := range m.defining(ctx, rare, m.files) {
		for _, s := range symbols {
			if s.Name != rare || s.Kind != "method" || isAbstract(s, symbols) || !isLike(s, wanted[rare]) {
				continue
			}
			if at, ok := m.typeWith(ctx, path.Dir(f.name), s, wanted); ok {
				types = append(types, goType{name: s.Container, at: at})
			}
		}
	}
	return types, ctx.Err()
}

// typeWith is the type of a method, if it has the others too: where it is defined, or
// else where the method is.
func (m *methodSearch) typeWith(
	ctx context.Context,
	folder string,
	method syntax.Symbol,
	wanted asks,
) (syntax.Symbol, bool) {
	at, has := method, map[string]bool{}
	files := mentioning(m.folder(folder), words.Seek(method.Container, true))
	for _, symbols := range m.outlines(ctx, files) {
		for _, s := range symbols {
			switch asked, ok := wanted[s.Name]; {
			case s.Name == method.Container && s.Container == "" && (s.Kind == "struct" || s.Kind == "type"):
				at = s
			case ok && s.Kind == "method" && s.Container == method.Container && isLike(s, asked):
				has[s.Name] = true
			}
		}
	}
	return at, len(has) == len(wanted)
}

// folder are the files that stand in a folder, which are one package.
func (m *methodSearch) folder(dir string) []source {
	return slices.DeleteFunc(slices.Clone(sourcesBelow(m.files, dir)), func(f source) bool {
		return path.Dir(f.name) != dir
	})
}

// likely are the files that may define a name.
func (m *methodSearch) likely(name string, files []source) []source {
	want := nameQuery{exact: name, name: strings.ToLower(name)}
	return want.sort(mentioning(files, words.Seek(name, true)))[tierEqual]
}

// defining are the files that may define a name, with all that each defines.
func (m *methodSearch) defining(
	ctx context.Context,
	name string,
	files []source,
) func(yield func(source, []syntax.Symbol) bool) {
	return m.outlines(ctx, m.likely(name, files))
}

// outlines are what files define, until enough was read. Those that rules withhold are
// left out.
func (m *methodSearch) outlines(ctx context.Context, files []source) func(yield func(source, []syntax.Symbol) bool) {
	return func(yield func(source, []syntax.Symbol) bool) {
		for batch := range slices.Chunk(files, symbolBatch) {
			if m.read >= symbolBudget {
				return
			}
			outline := func(ctx context.Context, r *reader, i int) outlined {
				return m.set.definitions(ctx, r, batch[i], false, "")
			}
			results, err := parallelAt(ctx, m.set.root, len(batch), outline)
			if err != nil {
				return // the context's
			}
			for i, r := range results {
				m.read += r.read
				if r.err == nil && !m.set.withheld(batch[i].name) && !yield(batch[i], r.symbols) {
					return
				}
			}
		}
	}
}

// isLike reports whether a method takes and gives as many as another of its name.
func isLike(s, other syntax.Symbol) bool {
	takes, gives, ok := arity(s)
	takes2, gives2, ok2 := arity(other)
	return !ok || !ok2 || takes == takes2 && gives == gives2
}

// arity is how many parameters and results a method of Go has; false where its head was
// cut.
func arity(s syntax.Symbol) (takes, gives int, ok bool) {
	head := " " + s.Signature
	at := strings.Index(head, " "+s.Name+"(")
	if at < 0 || strings.HasSuffix(head, "…") {
		return 0, 0, false
	}
	takes, rest := listed(head[at+1+len(s.Name):])
	switch rest = strings.TrimSpace(rest); {
	case rest == "":
		return takes, 0, true
	case !strings.HasPrefix(rest, "("):
		return takes, 1, true
	}
	gives, _ = listed(rest)
	return takes, gives, true
}

// listed counts what stands between parentheses, and returns what follows them.
func listed(text string) (n int, rest string) {
	depth, some := 0, false
	for i, c := range text {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			if depth--; depth == 0 {
				if some {
					n++
				}
				return n, text[i+1:]
			}
		case c == ',' && depth == 1:
			n, some = n+1, false
			continue
		}
		some = some || depth > 0 && c != ' ' && (c != '(' || depth > 1)
	}
	return n, ""
}

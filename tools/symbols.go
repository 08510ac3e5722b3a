package tools

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/syntax"
)

//go:embed symbols.md
var symbolsDoc string

const (
	symbolFile   = 1 << 20   // bytes of the largest file that is parsed
	symbolBudget = 6 << 20   // bytes parsed at most in one call
	restBudget   = 1 << 20   // of them, in files that hardly define what was found elsewhere
	symbolBatch  = 16        // files between two looks at the bounds
	symbolFound  = 100       // definitions shown for a query
	symbolEnough = 120       // definitions for a query after which no more are looked for,
	symbolCount  = 128 << 10 // if so many bytes were read: less is read only to count them
	symbolMost   = 5000      // definitions collected for a query
	symbolLines  = 400       // definitions shown in an outline
	symbolBytes  = 40 * 1024 // bytes of output at most
)

// What is asked of a name.
const (
	findDefinition      = "definition"
	findReferences      = "references"
	findCallers         = "callers"
	findImplementations = "implementations"
)

type symbolsArgs struct {
	Path  string `json:"path,omitempty"`
	Query string `json:"query,omitempty" jsonschema:"description=name or Type.member"`
	Kind  string `json:"kind,omitempty" jsonschema:"enum=definition,enum=references,enum=implementations,enum=callers"`
}

func symbolsTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:     spec("symbols", symbolsDoc),
			Effect:   plan.EffectReplay,
			Category: loop.CategorySearch,
		},
		purpose: Inspect,
		describe: described(func(_ string, a symbolsArgs) Call {
			c := describePath(a.Path)
			c.Title, c.IsPath = strings.TrimSpace(a.Path+" "+a.Query), false
			if a.Kind != "" && a.Kind != findDefinition {
				c.Detail = " " + a.Kind
			}
			return c
		}),
		open: opens((*Set).runSymbols),
	}
}

func (s *Set) runSymbols(ctx context.Context, a symbolsArgs, _ loop.Input) (loop.Result, error) {
	kind := cmp.Or(a.Kind, findDefinition)
	want := newWanted(a.Query)
	switch {
	case !slices.Contains([]string{findDefinition, findReferences, findCallers, findImplementations}, kind):
		return loop.Failed(fmt.Sprintf("there is no kind %q; it is %s, %s, %s or %s", clean([]byte(a.Kind)),
			findDefinition, findReferences, findImplementations, findCallers)), nil
	case a.Query != "" && want.name == "":
		return loop.Failed(
			fmt.Sprintf("the query %q has no name in it; give a name such as Config or Config.Load", a.Query),
		), nil
	case a.Query == "" && kind != findDefinition:
		return loop.Failed(kind + " of what? Give a query: a name such as Config or Config.Load"), nil
	}
	files, single, failed, err := s.sources(ctx, a.Path)
	if err != nil || failed != nil {
		return orFailed(failed), err
	}
	if len(files) == 0 {
		return loop.Result{
			Output: fmt.Sprintf("no file there is in a language that symbols knows (%s); use grep\n", syntax.Supported),
		}, nil
	}
	if kind != findDefinition {
		return s.findMentions(ctx, a.Query, kind, a.Path, files, single)
	}
	search := symbolSearch{
		set:   s,
		want:  want,
		named: single,
	}
	if err := search.run(ctx, files); err != nil {
		return loop.Result{}, fmt.Errorf("symbols: %w", err)
	}
	switch {
	case single && search.skipped != nil:
		return s.unparsed(ctx, files[0].name, search.skipped), nil
	case a.Query != "":
		return search.matches(a.Query), nil
	}
	return search.outline(), nil
}

// unparsed says why the one file that was named could not be parsed.
func (s *Set) unparsed(ctx context.Context, name string, err error) loop.Result {
	switch {
	case errors.Is(err, errBinary):
		return loop.Failed(show(name) + " is binary; symbols reads source code only")
	case errors.Is(err, errTooLarge):
		return loop.Failed(
			fmt.Sprintf("%s is larger than %s, too large to parse; use grep", show(name), sizeText(symbolFile)),
		)
	}
	return s.explain(ctx, name, err)
}

// nameQuery is a query for a name.
type nameQuery struct {
	exact     string
	name      string // in lower case
	container string // in lower case; "" for any
	owner     string // the last part of it, as it is written
}

// newWanted reads a query as people write it: with the dots, colons or arrows of
// their language, a receiver in parentheses, or as a call.
func newWanted(query string) nameQuery {
	query = strings.TrimSuffix(strings.TrimSpace(query), "()")
	query = strings.NewReplacer("::", ".", "#", ".", "->", ".", "(*", "", ").", ".", ".prototype.", ".").Replace(query)
	dotted := strings.TrimLeft(strings.Trim(query, "."), "*&")
	w := nameQuery{exact: dotted}
	if i := strings.LastIndex(dotted, "."); i >= 0 {
		w.exact, w.container = dotted[i+1:], strings.ToLower(dotted[:i])
		w.owner = dotted[:i][strings.LastIndex(dotted[:i], ".")+1:]
		if slices.Contains([]string{"exports", "module.exports", "this", "self"}, w.container) {
			w.container, w.owner = "", ""
		}
	}
	w.name = strings.ToLower(w.exact)
	return w
}

// rank says how well a definition fits: 4 is best, 0 is not at all.
func (w nameQuery) rank(s syntax.Symbol) int {
	if w.container != "" && !w.contains(s) {
		return 0
	}
	name := strings.ToLower(s.Name)
	switch {
	case s.Name == w.exact:
		return 4
	case name == w.name:
		return 3
	case strings.HasPrefix(name, w.name):
		return 2
	case strings.Contains(name, w.name):
		return 1
	}
	return 0
}

// contains reports whether a definition is a member of what is asked for, which may
// be a type as well as the module, package or file that it is in.
func (w nameQuery) contains(s syntax.Symbol) bool {
	within := "." + w.container
	in := "." + strings.ToLower(s.Container)
	if strings.HasSuffix(in, within) {
		return true
	}
	if in == "." {
		in = ""
	}
	for _, place := range []string{strings.TrimSuffix(s.Path, path.Ext(s.Path)), path.Dir(s.Path)} {
		if strings.HasSuffix("."+strings.ToLower(strings.ReplaceAll(place, "/", "."))+in, within) {
			return true
		}
	}
	return false
}

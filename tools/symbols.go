package tools

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed symbols.md
var symbolsDoc string

const (
	symbolFile   = 1 << 20   // bytes of the largest file that is parsed
	symbolBudget = 64 << 20  // bytes parsed at most in one call
	symbolBatch  = 64        // files between two looks at the bounds
	symbolFound  = 100       // definitions shown for a query
	symbolMost   = 5000      // definitions collected for a query
	symbolLines  = 400       // definitions shown in an outline
	symbolBytes  = 40 * 1024 // bytes of output at most
)

type symbolsArgs struct {
	Path  string `json:"path,omitempty" jsonschema:"description=file or directory (default: all)"`
	Query string `json:"query,omitempty" jsonschema:"description=name or Type.member; none for an outline of path"`
}

func symbolsTool() builtin {
	return builtin{
		info:    loop.Info{Spec: spec("symbols", symbolsDoc), Effect: plan.EffectReplay, Category: loop.CategorySearch},
		purpose: Inspect,
		describe: described(func(_ string, a symbolsArgs) Call {
			c := describePath(a.Path)
			c.Title, c.IsPath = strings.TrimSpace(a.Path+" "+a.Query), false
			return c
		}),
		open: opens((*Set).runSymbols),
	}
}

func (s *Set) runSymbols(ctx context.Context, a symbolsArgs, _ loop.Input) (loop.Result, error) {
	where, failed, err := s.inScope(ctx, a.Path, "")
	if err != nil || failed != nil {
		return orFailed(failed), err
	}
	ls := newLanguages()
	defer ls.close()
	files := make([]string, 0, len(where.files))
	for _, name := range where.files {
		if ls.of(name) != nil {
			files = append(files, name)
		}
	}
	switch {
	case len(files) == 0 && where.single:
		return loop.Failed(
			fmt.Sprintf(
				"symbols does not know the language of %s (it knows %s); use grep",
				show(where.files[0]),
				supported,
			),
		), nil
	case len(files) == 0:
		return loop.Result{
			Output: fmt.Sprintf("no file there is in a language that symbols knows (%s); use grep\n", supported),
		}, nil
	}
	search := symbolSearch{
		set:       s,
		languages: ls,
		want:      newWanted(a.Query),
		named:     where.single,
	}
	if a.Query != "" && search.want.name == "" {
		return loop.Failed(
			fmt.Sprintf("the query %q has no name in it; give a name such as Config or Config.Load", a.Query),
		), nil
	}
	if err := search.run(ctx, files); err != nil {
		return loop.Result{}, fmt.Errorf("symbols: %w", err)
	}
	switch {
	case where.single && search.skipped != nil:
		return s.unparsed(ctx, files[0], search.skipped), nil
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

// symbolSearch goes through files in order, collecting definitions.
type symbolSearch struct {
	set       *Set
	languages languages
	want      wanted
	named     bool // the file was named

	found   []symbol
	files   int // files looked at
	of      int // files there are
	parsed  int // bytes parsed
	skipped error
}

// outlined is what came of one file.
type outlined struct {
	symbols []symbol
	parsed  int
	skipped error
	err     error
}

func (q *symbolSearch) run(ctx context.Context, files []string) error {
	q.of = len(files)
	for batch := range slices.Chunk(files, symbolBatch) {
		results, err := parallel(ctx, q.set.root, batch, q.file)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.err != nil {
				return r.err
			}
			q.found = append(q.found, r.symbols...)
			q.parsed += r.parsed
			if r.skipped != nil {
				q.skipped = r.skipped
			}
			q.files++
		}
		if q.enough() {
			break
		}
	}
	return nil
}

// enough reports whether going on would only find what is not shown.
func (q *symbolSearch) enough() bool {
	if q.want.name == "" {
		return len(q.found) >= symbolLines
	}
	return len(q.found) >= symbolMost || q.parsed >= symbolBudget
}

// file finds the wanted definitions of one file.
func (q *symbolSearch) file(ctx context.Context, r *reader, name string) outlined {
	text, err := r.load(name, q.named, symbolFile)
	if err != nil {
		return outlined{skipped: err}
	}
	if !bytes.Contains(bytes.ToLower(text), []byte(q.want.name)) {
		return outlined{} // parsing costs much more than looking for the name
	}
	all, err := q.languages.of(name).parse(ctx, name, text)
	if q.want.name != "" {
		all = slices.DeleteFunc(all, func(s symbol) bool { return q.want.rank(s) == 0 })
	}
	return outlined{
		symbols: all,
		parsed:  len(text),
		err:     err,
	}
}

// wanted is a query for a name.
type wanted struct {
	exact     string
	name      string // in lower case
	container string // in lower case; "" for any
}

func newWanted(query string) wanted {
	dotted := strings.Trim(strings.NewReplacer("::", ".", "#", ".", "->", ".").Replace(strings.TrimSpace(query)), ".")
	w := wanted{exact: dotted}
	if i := strings.LastIndex(dotted, "."); i >= 0 {
		w.exact, w.container = dotted[i+1:], strings.ToLower(dotted[:i])
	}
	w.name = strings.ToLower(w.exact)
	return w
}

// rank says how well a definition fits: 4 is best, 0 is not at all.
func (w wanted) rank(s symbol) int {
	if w.container != "" && !strings.HasSuffix("."+strings.ToLower(s.container), "."+w.container) {
		return 0
	}
	name := strings.ToLower(s.name)
	switch {
	case s.name == w.exact:
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

// matches is the result for a query, the best first.
func (q *symbolSearch) matches(query string) loop.Result {
	if len(q.found) == 0 {
		return loop.Result{
			Output: fmt.Sprintf("no definition is named like %s in %s (%s); grep finds other mentions\n%s",
				clean([]byte(query)), count(q.files, "file", "files"), supported, q.unfinished()),
		}
	}
	secondary := func(s symbol) int { // not the definition itself
		if s.kind == "declaration" || s.kind == "impl" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(q.found, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(q.want.rank(b), q.want.rank(a)), cmp.Compare(secondary(a), secondary(b)))
	})
	text, shown := symbolText(q.found, symbolFound)
	if more := len(q.found) - shown; more > 0 {
		text += fmt.Sprintf(
			"[%s; give a longer name or a path]\n",
			count(more, "more definition fits", "more definitions fit"),
		)
	}
	return loop.Result{Output: text + q.unfinished()}
}

// unfinished says that not all files were looked at.
func (q *symbolSearch) unfinished() string {
	if q.files == q.of {
		return ""
	}
	return fmt.Sprintf("[stopped after %d of %d files; give a path]\n", q.files, q.of)
}

// outline is the result without a query, in the order of the files.
func (q *symbolSearch) outline() loop.Result {
	if len(q.found) == 0 {
		return loop.Result{Output: fmt.Sprintf("no definitions in %s\n", count(q.files, "file", "files"))}
	}
	text, shown := symbolText(q.found, symbolLines)
	switch {
	case q.files < q.of:
		text += fmt.Sprintf("[%d definitions shown, up to %s; there are %s: give a path or a query]\n",
			shown, show(q.found[shown-1].path), count(q.of, "file", "files"))
	case shown < len(q.found):
		text += fmt.Sprintf(
			"[%s not shown; give a path or a query]\n",
			count(len(q.found)-shown, "definition", "definitions"),
		)
	}
	return loop.Result{Output: text}
}

// symbolText is at most limit definitions below the paths of their files, and how
// many there are.
func symbolText(found []symbol, limit int) (string, int) {
	var b strings.Builder
	for i, s := range found {
		line := s.String() + "\n"
		if i == 0 || s.path != found[i-1].path {
			line = show(s.path) + "\n" + line
		}
		if i == limit || i > 0 && b.Len()+len(line) > symbolBytes {
			return b.String(), i
		}
		b.WriteString(line)
	}
	return b.String(), len(found)
}

package tools

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/syntax"
	"github.com/plan-engine/plan/tools/words"
)

// symbolSearch goes through files in order, collecting definitions.
type symbolSearch struct {
	set   *Set
	want  nameQuery
	named bool // the file was named

	symbols []syntax.Symbol
	files   int // files looked at
	of      int // files there are
	read    int // bytes of them, parsed now or before
	// withheld are files with definitions that rules do not let be read along with others.
	withheld int
	skipped  error
}

// outlined is what came of one file.
type outlined struct {
	symbols []syntax.Symbol
	read    int
	skipped error
	err     error
}

func (q *symbolSearch) run(ctx context.Context, files []source) error {
	q.of = len(files)
	if q.want.name == "" {
		return q.look(ctx, files, symbolBudget)
	}
	mention := mentioning(files, words.Seek(q.want.name, false))
	q.files = len(files) - len(mention) // what does not hold the name has been looked at
	tiers := q.want.sort(mention)
	for _, files := range tiers[:tierRest] {
		if err := q.look(ctx, files, symbolBudget); err != nil {
			return err
		}
	}
	budget := symbolBudget
	if len(q.symbols) > 0 {
		budget = q.read + restBudget // what only mentions it hardly defines it
	}
	return q.look(ctx, tiers[tierRest], budget)
}

// The order in which files that mention a name are parsed, by the definitions that the
// index guesses there: those of the name come first.
const (
	tierEqual = iota // and those of which nothing is known
	tierFold         // equal but for its case
	tierPrefix
	tierPart
	tierRest
	tierCount
)

// sort are the files by tier.
func (w nameQuery) sort(files []source) [tierCount][]source {
	parts := slices.Collect(slices.Chunk(files, max(1, (len(files)+workers()-1)/workers())))
	tiers := make([][tierCount][]source, len(parts))
	var looking sync.WaitGroup
	for i, part := range parts {
		looking.Go(func() {
			var folded []byte
			for _, f := range part {
				tier := tierEqual
				if f.held != nil {
					tier, folded = w.tier(words.Defined(f.held), folded)
				}
				tiers[i][tier] = append(tiers[i][tier], f)
			}
		})
	}
	looking.Wait()
	var out [tierCount][]source
	for _, part := range tiers {
		for tier, files := range part {
			out[tier] = append(out[tier], files...)
		}
	}
	return out
}

// tier says where a file comes that defines these names. The second result is room that
// can be used again.
func (w nameQuery) tier(names, folded []byte) (int, []byte) {
	if bytes.Contains(names, []byte("\n"+w.exact+"\n")) {
		return tierEqual, folded
	}
	folded = folded[:0]
	for _, c := range names {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		folded = append(folded, c)
	}
	switch {
	case bytes.Contains(folded, []byte("\n"+w.name+"\n")):
		return tierFold, folded
	case bytes.Contains(folded, []byte("\n"+w.name)):
		return tierPrefix, folded
	case bytes.Contains(folded, []byte(w.name)):
		return tierPart, folded
	}
	return tierRest, folded
}

// mentioning are the files that may hold what is sought.
func mentioning(files []source, sought words.Sought) []source {
	parts := slices.Collect(slices.Chunk(files, max(1, (len(files)+workers()-1)/workers())))
	mentions := make([][]source, len(parts))
	var looking sync.WaitGroup
	for i, part := range parts {
		looking.Go(func() {
			for _, f := range part {
				if f.held == nil || sought.In(f.held) {
					mentions[i] = append(mentions[i], f)
				}
			}
		})
	}
	looking.Wait()
	return slices.Concat(mentions...)
}

// enough reports whether going on would only find what is not shown, or cost too much.
func (q *symbolSearch) enough(budget int) bool {
	switch {
	case q.read >= budget:
		return true
	case q.want.name == "":
		return len(q.symbols) >= symbolLines
	}
	return len(q.symbols) >= symbolMost || len(q.symbols) >= symbolEnough && q.read >= symbolCount
}

// look looks at files until there is enough, or so many bytes were read altogether.
func (q *symbolSearch) look(ctx context.Context, files []source, budget int) error {
	for from := 0; from < len(files) && !q.enough(budget); from += symbolBatch {
		to := min(from+symbolBatch, len(files))
		outline := func(ctx context.Context, r *reader, i int) outlined { return q.file(ctx, r, files[from+i]) }
		results, err := parallelAt(ctx, q.set.root, to-from, outline)
		if err != nil {
			return err
		}
		for i, r := range results {
			if r.err != nil {
				return r.err
			}
			if len(r.symbols) > 0 && !q.named && q.set.withheld(files[from+i].name) {
				q.withheld++
				r.symbols = nil
			}
			q.symbols = append(q.symbols, r.symbols...)
			q.read += r.read
			if r.skipped != nil {
				q.skipped = r.skipped
			}
			q.files++
		}
	}
	return nil
}

// file finds the wanted definitions of one file.
func (q *symbolSearch) file(ctx context.Context, r *reader, f source) outlined {
	out := q.set.definitions(ctx, r, f, q.named, q.want.name)
	var fit []syntax.Symbol
	for _, s := range out.symbols {
		if q.fits(s) {
			fit = append(fit, s)
		}
	}
	out.symbols = fit
	return out
}

// definitions are all those of one file. One that is not known yet and does not hold a
// word, in lower case, is taken to have none.
func (s *Set) definitions(ctx context.Context, r *reader, f source, named bool, word string) outlined {
	of := parsedKey{f.key, s.index.languages.Of(f.name)}
	symbols, known := s.index.symbols(of)
	read := f.size // what is known already counts: the same question ends at the same place
	if f.held == nil || !known {
		text, err := r.load(f.name, named, symbolFile)
		if err != nil {
			return outlined{skipped: err}
		}
		if !bytes.Contains(bytes.ToLower(text), []byte(word)) {
			return outlined{} // parsing costs much more than looking for the name
		}
		read = len(text)
		file, err := of.language.Parse(ctx, f.name, text)
		if err != nil {
			return outlined{err: err}
		}
		symbols = file.Symbols
		file.Close()
		if f.held != nil && ctx.Err() == nil {
			s.index.keep(of, symbols)
		}
	}
	out := outlined{symbols: slices.Clone(symbols), read: read}
	for i := range out.symbols {
		out.symbols[i].Path = f.name // another file may hold the same
	}
	return out
}

// fits reports whether a definition is one of those that are told.
func (q *symbolSearch) fits(s syntax.Symbol) bool {
	switch {
	case q.want.name == "":
		return !s.Asked
	case s.Asked:
		return q.want.rank(s) >= 3 // its name is asked for, and not a part of it
	}
	return q.want.rank(s) > 0
}

// matches is the result for a query, the best first.
func (q *symbolSearch) matches(query string) loop.Result {
	if len(q.symbols) == 0 {
		return loop.Result{
			Output: fmt.Sprintf("no definition is named like %s in %s (%s); grep finds other mentions\n%s",
				clean([]byte(query)), count(q.files, "file", "files"), syntax.Supported, q.unfinished()),
		}
	}
	slices.SortStableFunc(q.symbols, func(a, b syntax.Symbol) int {
		return cmp.Or(cmp.Compare(q.want.rank(b), q.want.rank(a)), cmp.Compare(secondary(a), secondary(b)),
			strings.Compare(a.Path, b.Path))
	})
	text, shown := symbolText(q.symbols, symbolFound)
	if more := len(q.symbols) - shown; more > 0 {
		text += fmt.Sprintf(
			"[%s; give a longer name or a path]\n",
			count(more, "more definition fits", "more definitions fit"),
		)
	}
	return loop.Result{Output: text + q.unfinished()}
}

// secondary is 1 for what is not the definition itself.
func secondary(s syntax.Symbol) int {
	switch s.Kind {
	case "declaration", "impl", "test", "property", "alias":
		return 1
	}
	if s.Asked {
		return 1
	}
	return 0
}

// unfinished says that not all files were looked at, or shown.
func (q *symbolSearch) unfinished() string {
	if q.files == q.of {
		return leftOut(q.withheld)
	}
	return fmt.Sprintf("[stopped after %d of %d files; give a path]\n", q.files, q.of) + leftOut(q.withheld)
}

// outline is the result without a query, in the order of the files.
func (q *symbolSearch) outline() loop.Result {
	if len(q.symbols) == 0 {
		return loop.Result{
			Output: fmt.Sprintf("no definitions in %s\n", count(q.files, "file", "files")) + leftOut(q.withheld),
		}
	}
	text, shown := symbolText(q.symbols, symbolLines)
	switch {
	case q.files < q.of:
		text += fmt.Sprintf("[%d definitions shown, up to %s; there are %s: give a path or a query]\n",
			shown, show(q.symbols[shown-1].Path), count(q.of, "file", "files"))
	case shown < len(q.symbols):
		text += fmt.Sprintf(
			"[%s not shown; give a path or a query]\n",
			count(len(q.symbols)-shown, "definition", "definitions"),
		)
	}
	return loop.Result{Output: text + leftOut(q.withheld)}
}

// symbolText is at most limit definitions below the paths of their files, and how
// many there are.
func symbolText(symbols []syntax.Symbol, limit int) (string, int) {
	var b strings.Builder
	for i, s := range symbols {
		line := s.String() + "\n"
		if i == 0 || s.Path != symbols[i-1].Path {
			line = show(s.Path) + "\n" + line
		}
		if i == limit || i > 0 && b.Len()+len(line) > symbolBytes {
			return b.String(), i
		}
		b.WriteString(line)
	}
	return b.String(), len(symbols)
}

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
	want  wanted
	named bool // the file was named

	found   []syntax.Symbol
	files   int // files looked at
	of      int // files there are
	parsed  int // bytes parsed
	skipped error
}

// outlined is what came of one file.
type outlined struct {
	symbols []syntax.Symbol
	parsed  int
	later   bool // it mentions the name, and hardly defines it
	skipped error
	err     error
}

// manyMentions is how many files mention a name before it matters in which order they
// are parsed: first those that look as if they define it.
const manyMentions = 256

func (q *symbolSearch) run(ctx context.Context, files []source) error {
	q.of = len(files)
	if q.want.name == "" {
		_, err := q.look(ctx, files, false)
		return err
	}
	mention := mentioning(files, words.Seek(q.want.name, false))
	q.files = len(files) - len(mention) // what does not hold the name has been looked at
	if len(mention) <= manyMentions {
		_, err := q.look(ctx, mention, false)
		return err
	}
	whole := words.Seek(q.want.name, true)
	var equal, longer []source // files with the name itself, and those with longer ones alone
	for _, f := range mention {
		if f.held == nil || whole.In(f.held) {
			equal = append(equal, f)
		} else {
			longer = append(longer, f)
		}
	}
	later, err := q.look(ctx, equal, true)
	for _, files := range [][]source{longer, later} {
		if err == nil {
			_, err = q.look(ctx, files, false)
		}
	}
	return err
}

// mentioning are the files that may hold what is sought.
func mentioning(files []source, sought words.Sought) []source {
	parts := slices.Collect(slices.Chunk(files, max(1, (len(files)+workers()-1)/workers())))
	found := make([][]source, len(parts))
	var looking sync.WaitGroup
	for i, part := range parts {
		looking.Go(func() {
			for _, f := range part {
				if f.held == nil || sought.In(f.held) {
					found[i] = append(found[i], f)
				}
			}
		})
	}
	looking.Wait()
	return slices.Concat(found...)
}

// look looks at files until there is enough. With likely, those are left for later
// that do not look as if they define the name.
func (q *symbolSearch) look(ctx context.Context, files []source, likely bool) (later []source, err error) {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.name
	}
	for from := 0; from < len(files) && !q.enough(); from += symbolBatch {
		to := min(from+symbolBatch, len(files))
		results, err := parallelAt(ctx, q.set.root, names[from:to], func(ctx context.Context, r *reader, i int) outlined {
			return q.file(ctx, r, files[from+i], likely)
		})
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			if r.err != nil {
				return nil, r.err
			}
			if r.later {
				later = append(later, files[from+i])
				continue
			}
			q.found = append(q.found, r.symbols...)
			q.parsed += r.parsed
			if r.skipped != nil {
				q.skipped = r.skipped
			}
			q.files++
		}
	}
	return later, nil
}

// enough reports whether going on would only find what is not shown.
func (q *symbolSearch) enough() bool {
	if q.want.name == "" {
		return len(q.found) >= symbolLines
	}
	return len(q.found) >= symbolMost || q.parsed >= symbolBudget
}

// file finds the wanted definitions of one file.
func (q *symbolSearch) file(ctx context.Context, r *reader, f source, likely bool) outlined {
	index := q.set.index
	of := parsedKey{f.key, index.languages.Of(f.name)}
	all, known := index.symbols(of)
	parsed := 0
	if f.held == nil || !known {
		text, err := r.load(f.name, q.named, symbolFile)
		if err != nil {
			return outlined{skipped: err}
		}
		if !bytes.Contains(bytes.ToLower(text), []byte(q.want.name)) {
			return outlined{} // parsing costs much more than looking for the name
		}
		if likely && !definesLikely(text, q.want.exact) {
			return outlined{later: true}
		}
		parsed = len(text)
		file, err := of.language.Parse(ctx, f.name, text)
		if err != nil {
			return outlined{err: err}
		}
		all = file.Symbols
		file.Close()
		if f.held != nil && ctx.Err() == nil {
			index.keep(of, all)
		}
	}
	var fit []syntax.Symbol
	for _, s := range all {
		if q.want.name == "" || q.want.rank(s) > 0 {
			s.Path = f.name // another file may hold the same
			fit = append(fit, s)
		}
	}
	return outlined{symbols: fit, parsed: parsed}
}

// definesLikely reports whether a name stands anywhere in a text as names do that are
// defined there: behind another word or a type, or before what is assigned to it. It
// is for the order in which files are parsed and may be wrong.
func definesLikely(text []byte, name string) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(name))
		if i < 0 {
			return false
		}
		at, end := from+i, from+i+len(name)
		from = end
		before := bytes.TrimRight(text[max(0, at-64):at], " \t*&")
		after := bytes.TrimLeft(text[end:min(len(text), end+8)], " \t")
		assigned := bytes.HasPrefix(after, []byte("=")) && !bytes.HasPrefix(after, []byte("=="))
		switch {
		case len(before) == 0, assigned, bytes.HasPrefix(after, []byte(":")):
			return true
		case bytes.ContainsAny(before[len(before)-1:], ")>]'\"`#"):
			return true
		case words.In(before[len(before)-1]) && !endsExpression(before):
			return true
		}
	}
}

// endsExpression reports whether a text ends with a word behind which a value stands.
func endsExpression(text []byte) bool {
	start := len(text)
	for start > 0 && words.In(text[start-1]) {
		start--
	}
	switch string(text[start:]) {
	case "return", "await", "new", "throw", "else", "case", "in", "of", "not", "and", "or", "yield", "go", "defer",
		"if", "is", "typeof", "range", "assert", "raise", "lambda", "elif", "while", "do", "delete", "void", "err":
		return true
	}
	return false
}

// matches is the result for a query, the best first.
func (q *symbolSearch) matches(query string) loop.Result {
	if len(q.found) == 0 {
		return loop.Result{
			Output: fmt.Sprintf("no definition is named like %s in %s (%s); grep finds other mentions\n%s",
				clean([]byte(query)), count(q.files, "file", "files"), syntax.Supported, q.unfinished()),
		}
	}
	slices.SortStableFunc(q.found, func(a, b syntax.Symbol) int {
		return cmp.Or(cmp.Compare(q.want.rank(b), q.want.rank(a)), cmp.Compare(secondary(a), secondary(b)),
			strings.Compare(a.Path, b.Path))
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

// secondary is 1 for what is not the definition itself.
func secondary(s syntax.Symbol) int {
	switch s.Kind {
	case "declaration", "impl", "test", "property":
		return 1
	}
	return 0
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
			shown, show(q.found[shown-1].Path), count(q.of, "file", "files"))
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
func symbolText(found []syntax.Symbol, limit int) (string, int) {
	var b strings.Builder
	for i, s := range found {
		line := s.String() + "\n"
		if i == 0 || s.Path != found[i-1].Path {
			line = show(s.Path) + "\n" + line
		}
		if i == limit || i > 0 && b.Len()+len(line) > symbolBytes {
			return b.String(), i
		}
		b.WriteString(line)
	}
	return b.String(), len(found)
}

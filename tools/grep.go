package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed grep.md
var grepDoc string

const (
	grepMatches = 200       // matches shown at most
	grepBytes   = 40 * 1024 // bytes of output at most
	grepCount   = 10_000    // matches counted at most
	grepBatch   = 256       // files between two looks at the bounds
	grepContext = 10        // lines of context at most
	grepPerFile = 20        // matches shown of a file that was not named
	// grepTree and grepFile are the largest files searched, in a directory and
	// when named.
	grepTree = 16 << 20
	grepFile = 256 << 20
)

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
	Glob    string `json:"glob,omitempty" jsonschema:"description=as of the tool glob"`
	Context int    `json:"context,omitempty" jsonschema:"minimum=0,maximum=10"`
}

func grepTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:     spec("grep", grepDoc),
			Effect:   plan.EffectReplay,
			Category: loop.CategorySearch,
		},
		purpose: Inspect,
		describe: described(func(_ string, a grepArgs) Call {
			return describeSearch(a.Pattern, a.Path, a.Glob)
		}),
		open: opens((*Set).runGrep),
	}
}

// describeSearch shows what is looked for, and where.
func describeSearch(pattern, path, glob string) Call {
	c := Call{Title: pattern}
	if path != "" {
		c.Paths = []string{path}
	}
	if where := strings.TrimSpace(path + " " + glob); where != "" {
		c.Detail = " in " + where
	}
	return c
}

func (s *Set) runGrep(ctx context.Context, a grepArgs, _ loop.Input) (loop.Result, error) {
	re, problem := newLinePattern(a.Pattern)
	if problem != "" {
		return loop.Failed(problem), nil
	}
	where, failed, err := s.inScope(ctx, a.Path, a.Glob)
	if err != nil || failed != nil {
		return orFailed(failed), err
	}
	sc := scanner{
		re:      re,
		context: min(max(a.Context, 0), grepContext),
		maxSize: grepTree,
		named:   where.single,
	}
	if where.single {
		sc.maxSize = grepFile
	}
	page := grepPage{spread: sc.context > 0, named: where.single}
	for files := range slices.Chunk(where.files, grepBatch) {
		results, err := sc.scanBatch(ctx, s.root, files, page.remaining(), grepCount-page.matches)
		if err != nil {
			return loop.Result{}, fmt.Errorf("grep: %w", err)
		}
		if where.single && results[0].skipped != nil {
			return s.unsearched(ctx, results[0]), nil
		}
		for _, f := range results {
			if f.matches > 0 && !where.single && s.withheld(f.name) {
				page.withheld++
				continue
			}
			page.add(f)
		}
		if page.matches >= grepCount {
			break
		}
	}
	return page.result(a.Pattern), nil
}

// withheld reports whether rules do not let a file be read along with others.
func (s *Set) withheld(name string) bool { return s.cfg.Withheld != nil && s.cfg.Withheld(name) }

// leftOut says that so many files were found that rules withhold.
func leftOut(files int) string {
	if files == 0 {
		return ""
	}
	return fmt.Sprintf(
		"[%s left out: rules ask about reading them or deny it; only a call that names one can be allowed]\n",
		count(files, "file with matches was", "files with matches were"),
	)
}

// unsearched says why the one file that was named could not be searched.
func (s *Set) unsearched(ctx context.Context, f scanned) loop.Result {
	switch {
	case errors.Is(f.skipped, errBinary):
		return loop.Failed(show(f.name) + " is binary; grep searches text only")
	case errors.Is(f.skipped, errTooLarge):
		return loop.Failed(
			fmt.Sprintf("%s is larger than %s, too large to search; read it in pages with offset and limit",
				show(f.name), sizeText(grepFile)),
		)
	}
	return s.explain(ctx, f.name, f.skipped)
}

// scope is the files that a search is about.
type scope struct {
	files  []string // relative to the root, sorted
	single bool     // the path named a file
}

// orFailed is the result that says what went wrong, or none.
func orFailed(res *loop.Result) loop.Result {
	if res == nil {
		return loop.Result{}
	}
	return *res
}

// inScope finds the files below path, or the file at path, that match a glob
// pattern. A result that is not nil says what is wrong with the arguments.
func (s *Set) inScope(ctx context.Context, path, glob string) (scope, *loop.Result, error) {
	failed := func(res loop.Result) (scope, *loop.Result, error) { return scope{}, &res, nil }
	dir, problem := s.rel(path)
	if problem != "" {
		return failed(loop.Failed(problem))
	}
	var m *matcher
	if glob != "" {
		if m, problem = s.newMatcher(glob); problem != "" {
			return failed(loop.Failed(problem))
		}
	}
	info, err := s.root.Stat(dir)
	switch {
	case err != nil:
		return failed(s.explain(ctx, dir, err))
	case info.Mode().IsRegular():
		return scope{[]string{dir}, true}, nil, nil
	case !info.IsDir():
		return failed(s.explain(ctx, dir, notRegular{info.Mode()}))
	}
	listed, err := s.list(ctx, dir)
	if err != nil {
		if ctx.Err() != nil {
			return scope{}, nil, err
		}
		return failed(s.explain(ctx, dir, err))
	}
	files := make([]string, 0, len(listed.files))
	for _, name := range listed.files {
		if m != nil && !m.match(dir, name) {
			continue
		}
		if dir != "." {
			name = join(dir, name)
		}
		files = append(files, name)
	}
	if len(files) == 0 && m != nil {
		return failed(loop.Result{Output: fmt.Sprintf("no file below %s matches the glob %s (%s there)\n",
			show(dir), clean([]byte(glob)), count(len(listed.files), "file is", "files are"))})
	}
	return scope{files: files}, nil, nil
}

// grepPage collects results, in order, up to the bounds.
type grepPage struct {
	out     strings.Builder
	full    bool
	named   bool // one file was named, and all of it is wanted
	spread  bool // there are context lines, so groups of lines are set apart
	shown   int  // matches in out
	matches int  // matches found
	capped  int  // matches not shown because their file has so many
	files   int  // files with a match
	looked  int  // files searched
	large   int  // files not searched because of their size
	// withheld are files with a match that rules do not let be read along with others.
	withheld int
}

// remaining is how many more matches can be shown.
func (p *grepPage) remaining() int {
	if p.full {
		return 0
	}
	return grepMatches - p.shown
}

// add takes the result of the next file.
func (p *grepPage) add(f scanned) {
	switch {
	case errors.Is(f.skipped, errTooLarge):
		p.large++
	case f.skipped == nil:
		p.looked++
	}
	if f.matches == 0 {
		return
	}
	p.files++
	p.matches += f.matches
	heading := show(f.name) + "\n"
	if p.out.Len() > 0 {
		heading = "\n" + heading
	}
	last, before := 0, p.shown
	for _, l := range f.lines {
		if p.full = p.full || l.match && p.remaining() == 0; p.full {
			return
		}
		if l.match && !p.named && p.shown-before == grepPerFile {
			fmt.Fprintf(&p.out, "[%d more here; give this path to see them]\n", f.matches-grepPerFile)
			p.capped += f.matches - grepPerFile
			return
		}
		p.line(heading, l, last)
		heading, last = "", l.number
	}
}

// line adds a line, unless it no longer fits. The heading is that of its file
// if it is the first there; last is the number of the line before it.
func (p *grepPage) line(heading string, l grepLine, last int) {
	mark := "-"
	if l.match {
		mark = ":"
	}
	entry := fmt.Sprintf("%s%d%s%s\n", heading, l.number, mark, l.text)
	if p.spread && heading == "" && l.number != last+1 {
		entry = "--\n" + entry
	}
	if p.out.Len()+len(entry) > grepBytes && p.shown > 0 {
		p.full = true
		return
	}
	p.out.WriteString(entry)
	if l.match {
		p.shown++
	}
}

// result is the page as a tool's result.
func (p *grepPage) result(pattern string) loop.Result {
	var notes strings.Builder
	if p.matches > p.shown+p.capped {
		more := fmt.Sprintf("%d of %d", p.shown, p.matches)
		if p.matches >= grepCount {
			more = fmt.Sprintf("%d of more than %d", p.shown, grepCount-1)
		}
		fmt.Fprintf(&notes, "[%s matching lines shown; narrow the pattern, path or glob to see the others]\n", more)
	}
	if p.large > 0 {
		fmt.Fprintf(&notes, "[%s larger than %s not searched]\n", count(p.large, "file", "files"), sizeText(grepTree))
	}
	notes.WriteString(leftOut(p.withheld))
	if p.matches > 0 {
		return loop.Result{Output: p.out.String() + notes.String()}
	}
	return loop.Result{
		Output: fmt.Sprintf(
			"no match for `%s` in %s\n",
			clean([]byte(pattern)),
			count(p.looked, "file", "files"),
		) + notes.String(),
	}
}

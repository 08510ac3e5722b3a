package tools

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/syntax"
	"github.com/plan-engine/plan/tools/words"
)

const (
	mentionsShown   = 100 // mentions shown at most
	mentionsPerFile = 10  // of a file that was not named
)

// mentionSearch goes through the files that hold a name, until there is enough.
type mentionSearch struct {
	set    *Set
	kind   string
	want   nameQuery
	module string // of whose imports is asked, "" for a name
	single bool
	below  string // the folder that is asked about
	page   mentionPage
	// heirs are types that say that they are of what the name is a member of, or of one
	// of those.
	heirs heirs
	found heirs // types that inherit from the name
	// withheld are files with mentions that rules do not let be read along with others.
	withheld int
	unknown  []string // interfaces that are part of what is implemented, and are not here
}

// mentioned is what came of one file.
type mentioned struct {
	lines   []string
	heirs   []heir // types that inherit from the name
	parsed  int
	skipped error
	err     error
}

// findMentions answers what refers to a name, calls it or implements it.
func (s *Set) findMentions(
	ctx context.Context,
	query, kind, below string,
	files []source,
	single bool,
) (loop.Result, error) {
	q := mentionSearch{
		set:    s,
		kind:   kind,
		want:   newWanted(query),
		single: single,
	}
	q.below, _ = s.rel(below)
	if kind == findReferences {
		q.askForModule(query, files)
	}
	answer, err := q.askServers(ctx)
	if err != nil {
		return loop.Result{}, fmt.Errorf("symbols: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(answer.lines)) {
		q.add(name, mentioned{lines: answer.lines[name]})
	}
	bySyntax := files
	switch {
	case len(answer.by) > 0 && len(answer.notes) == 0:
		bySyntax = nil // the name is defined in no other language
	case len(answer.by) > 0:
		bySyntax = slices.DeleteFunc(slices.Clone(files), func(f source) bool {
			return slices.Contains(answer.by, s.index.languages.Of(f.name).Name())
		})
	}
	if kind == findImplementations && q.want.owner != "" {
		if q.heirs, err = q.findHeirs(ctx, bySyntax); err != nil {
			return loop.Result{}, fmt.Errorf("symbols: %w", err)
		}
	}
	holding := mentioning(bySyntax, words.Seek(q.want.exact, true))
	looked, failed, err := q.searchAll(ctx, holding)
	if q.module != "" && q.page.shown == 0 && !strings.Contains(query, "/") { // a member, such as p.h
		q.module, q.want = "", newWanted(query)
		holding = mentioning(bySyntax, words.Seek(q.want.exact, true))
		looked, failed, err = q.searchAll(ctx, holding)
	}
	if err != nil || failed != nil {
		return orFailed(failed), err
	}
	if kind == findImplementations {
		if err := q.addByMethods(ctx, bySyntax); err != nil {
			return loop.Result{}, fmt.Errorf("symbols: %w", err)
		}
	}
	return q.result(query, len(files), looked, len(holding), answer), nil
}

// searchAll goes through the files that hold the name, and counts those that it is done
// with. A result that is not nil says why the one file that was named cannot be read.
func (q *mentionSearch) searchAll(ctx context.Context, holding []source) (looked int, _ *loop.Result, _ error) {
	if q.kind != findImplementations {
		return q.search(ctx, holding, symbolBudget)
	}
	// What neither defines it nor inherits from it at a glance hardly implements it.
	tiers := q.want.sort(holding)
	looked, failed, err := q.search(ctx, tiers[tierEqual], symbolBudget)
	if err != nil || failed != nil || q.page.full {
		return looked, failed, err
	}
	more, failed, err := q.search(ctx, slices.Concat(tiers[tierEqual+1:]...), symbolCount)
	return looked + more, failed, err
}

// search goes through files until there is enough, or so many bytes were parsed.
func (q *mentionSearch) search(
	ctx context.Context,
	holding []source,
	budget int,
) (looked int, _ *loop.Result, _ error) {
	parsed := 0
	for batch := range slices.Chunk(holding, symbolBatch) {
		results, err := parallelAt(ctx, q.set.root, len(batch), func(ctx context.Context, r *reader, i int) mentioned {
			return q.file(ctx, r, batch[i])
		})
		if err != nil {
			return looked, nil, fmt.Errorf("symbols: %w", err)
		}
		for i, r := range results {
			switch {
			case r.err != nil:
				return looked, nil, fmt.Errorf("symbols: %w", r.err)
			case q.single && r.skipped != nil:
				res := q.set.unparsed(ctx, batch[i].name, r.skipped)
				return looked, &res, nil
			}
			parsed += r.parsed
			if q.add(batch[i].name, r); !q.page.full {
				looked++
			}
		}
		if q.page.full || parsed >= budget {
			break
		}
	}
	return looked, nil, nil
}

// add shows what was found in the next file, unless rules withhold it.
func (q *mentionSearch) add(name string, mentions mentioned) {
	if len(mentions.lines) > 0 && !q.single && q.set.withheld(name) {
		q.withheld++
		return
	}
	q.found = append(q.found, mentions.heirs...)
	q.page.add(name, mentions.lines, q.single)
}

// askForModule makes the search one for imports, if what is asked for is a path, one of
// the files, or named like a file.
func (q *mentionSearch) askForModule(query string, files []source) {
	query = strings.Trim(strings.TrimSpace(query), "\"'`<>")
	in := "/" + query
	if !strings.Contains(query, "/") && q.set.index.languages.Of(query) == nil &&
		!slices.ContainsFunc(files, func(f source) bool { return f.name == query || strings.HasSuffix(f.name, in) }) {
		return
	}
	q.module = moduleName(path.Clean(query))
	q.want = nameQuery{exact: path.Base(q.module), name: strings.ToLower(path.Base(q.module))}
}

// imports reports whether an import in a file is one of the module: from where the
// file is, or by a path that ends like the module's.
func (q *mentionSearch) imports(file, written string) bool {
	if written == "" {
		return false
	}
	if !strings.Contains(written, "/") {
		written = strings.NewReplacer("::", "/", ".", "/").Replace(written)
	}
	if strings.HasPrefix(written, ".") {
		written = path.Join(path.Dir(file), written)
	}
	written = moduleName(path.Clean(written))
	return written == q.module || strings.HasSuffix(written, "/"+q.module) ||
		strings.HasSuffix(q.module, "/"+written) || path.Join(path.Dir(file), written) == q.module
}

// imported reports whether an import may be one of the wanted member. What only ends
// like it, as the name of a file does, is another's.
func (w nameQuery) imported(module string) bool {
	return w.container == "" || !strings.HasSuffix(module, "."+w.exact) ||
		strings.HasSuffix("."+strings.ToLower(module), "."+w.container+"."+w.name)
}

// moduleName is a path as imports write it: without what the name of a source file
// ends with, and without the file that stands for its folder.
func moduleName(name string) string {
	if dir, ok := strings.CutSuffix(name, "/__init__.py"); ok {
		return dir
	}
	if ext := path.Ext(name); strings.TrimLeft(ext, ".abcdefghijklmnopqrstuvwxyz") == "" && len(ext) <= len(".d.ts") {
		name = strings.TrimSuffix(name, ext)
	}
	if dir, ok := strings.CutSuffix(name, "/index"); ok && dir != "" {
		return dir
	}
	return name
}

// file finds the mentions in one file that are asked for, as lines of the result.
func (q *mentionSearch) file(ctx context.Context, r *reader, f source) mentioned {
	of := mentionKey{
		parsedKey: parsedKey{f.key, q.set.index.languages.Of(f.name)},
		name:      f.name,
		kind:      q.kind,
		exact:     q.want.exact,
		query:     q.want.container,
		module:    q.module,
	}
	if f.held == nil || len(q.heirs) > 0 { // what heirs there are is not this file's to say
		return q.parse(ctx, r, f)
	}
	if mentions, ok := q.set.index.mentions(of); ok {
		mentions.parsed = f.size
		return mentions
	}
	out := q.parse(ctx, r, f)
	if out.skipped == nil && out.err == nil && ctx.Err() == nil {
		q.set.index.keepMentions(of, out)
	}
	return out
}

// parse is file for one of which nothing is known.
func (q *mentionSearch) parse(ctx context.Context, r *reader, f source) mentioned {
	text, err := r.load(f.name, q.single, symbolFile)
	if err != nil {
		return mentioned{skipped: err}
	}
	if !syntax.Mentions(text, q.want.exact) {
		return mentioned{} // parsing costs much more than looking for the name
	}
	file, err := q.set.index.languages.Of(f.name).Parse(ctx, f.name, text)
	if err != nil {
		return mentioned{err: err}
	}
	defer file.Close()
	out := mentioned{parsed: len(text)}
	mentions := file.Mentions(f.name, q.want.exact)
	if q.kind == findImplementations {
		out.lines, out.heirs = q.implementations(f.name, file.Symbols, mentions)
		return out
	}
	for _, m := range mentions {
		switch {
		case q.module != "" && (m.Role != syntax.Import || !q.imports(f.name, m.Module)):
		case q.module == "" && m.Role == syntax.Import && !q.want.imported(m.Module):
		case q.kind == findCallers && m.Role != syntax.Call:
		default:
			out.add(m)
		}
	}
	return out
}

// add tells of a mention. A line that has the name twice for the same is told once.
func (m *mentioned) add(mention syntax.Mention) {
	head := mentionHead(mention)
	if last := len(m.lines) - 1; last < 0 || !strings.HasPrefix(m.lines[last], head+" ") {
		m.lines = append(m.lines, mentionLine(mention))
	}
}

// mentionLine is a mention in a line of output.
func mentionLine(m syntax.Mention) string { return mentionHead(m) + within(m) + "  " + m.Text }

func mentionHead(m syntax.Mention) string { return fmt.Sprintf("%d %s", m.Line, m.Role) }

// within says which definition a mention is in.
func within(m syntax.Mention) string {
	if m.In.Name == "" {
		return ""
	}
	return " in " + m.In.Full()
}

// result is what was found as a tool's result.
func (q *mentionSearch) result(query string, files, looked, holding int, answer answerOf) loop.Result {
	noun := map[string]string{
		findReferences:      "reference to",
		findCallers:         "call of",
		findImplementations: "implementation of",
	}[q.kind]
	if q.module != "" {
		noun = "import of"
	}
	text := q.page.out.String()
	if text == "" {
		text = fmt.Sprintf("no %s %s in %s (%s); grep finds other mentions\n",
			noun, clean([]byte(query)), count(files, "file", "files"), syntax.Supported)
	}
	if looked < holding {
		text += fmt.Sprintf("[stopped after %d of the %d files that mention it; give a path]\n", looked, holding)
	}
	if answer.outside > 0 {
		text += fmt.Sprintf("[%d more outside of the repository]\n", answer.outside)
	}
	for _, name := range q.unknown {
		text += fmt.Sprintf("[%s is defined elsewhere; types were not asked for its methods]\n", clean([]byte(name)))
	}
	for _, note := range answer.notes {
		text += "[" + note + "]\n"
	}
	if q.want.container != "" && q.kind != findImplementations && holding > 0 {
		text += fmt.Sprintf(
			"[by syntax, which tells names and not types: what is meant may be another's %s]\n",
			q.want.exact,
		)
	}
	return loop.Result{Output: text + leftOut(q.withheld)}
}

// mentionPage collects lines by file, up to the bounds.
type mentionPage struct {
	out   strings.Builder
	shown int
	full  bool
}

// add takes the lines of the next file.
func (p *mentionPage) add(name string, lines []string, named bool) {
	if p.full || len(lines) == 0 {
		return
	}
	heading := show(name) + "\n"
	for i, line := range lines {
		if !named && i == mentionsPerFile {
			fmt.Fprintf(&p.out, "[%d more here; give this path to see them]\n", len(lines)-i)
			return
		}
		if p.shown == mentionsShown || p.out.Len()+len(heading)+len(line) > symbolBytes {
			p.full = true
			if i > 0 {
				fmt.Fprintf(&p.out, "[%d more here]\n", len(lines)-i)
			}
			return
		}
		p.out.WriteString(heading + line + "\n")
		heading = ""
		p.shown++
	}
}

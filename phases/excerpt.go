package phases

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/tools"
)

// Bounds on the text of files that one phase hands to the next, in bytes.
const (
	reportExcerpts = 16 << 10
	planExcerpts   = 24 << 10
	fileExcerpt    = 8 << 10
)

// lineAt finds where a text names lines of a file: `path:12`, `path:12-20`.
var lineAt = lazy.Regexp(`([\w@+./-]*[\w@+-]):(\d{1,6})(?:[-–](\d{1,6}))?\b`)

// named are the lines that a text names, by file, and the files in its order.
func named(text string) (lines map[string][][2]int, files []string) {
	lines = map[string][][2]int{}
	for _, m := range lineAt().FindAllStringSubmatch(text, -1) {
		name := path.Clean(m[1])
		first, err := strconv.Atoi(m[2])
		if err != nil || first == 0 || path.IsAbs(name) {
			continue
		}
		last := first
		if n, err := strconv.Atoi(m[3]); err == nil && n > first {
			last = n
		}
		if lines[name] == nil {
			files = append(files, name)
		}
		lines[name] = append(lines[name], [2]int{first, last})
	}
	return lines, files
}

// fileOrLine finds names that can be those of files, and lines that a text speaks of.
var fileOrLine = lazy.Regexp(`([\w@+./-]*[\w@+-]\.\w+)|\b[Ll]ines?\s+(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?`)

// spoken are the lines that a text speaks of behind the name of one of the files, as in
// "in `a.md`, after line 12".
func spoken(text string, files map[string]string) map[string][][2]int {
	out := map[string][][2]int{}
	for line := range strings.Lines(text) {
		file := ""
		for _, m := range fileOrLine().FindAllStringSubmatch(line, -1) {
			name := path.Clean(m[1])
			if _, ok := files[name]; ok {
				file = name
			}
			first, err := strconv.Atoi(m[2])
			if file == "" || err != nil || first == 0 {
				continue
			}
			last, _ := strconv.Atoi(m[3]) // 0 where there is none
			out[file] = append(out[file], [2]int{first, max(first, last)})
		}
	}
	return out
}

// ofReport shows the places that a report quotes, for the phase that plans.
func (s *session) ofReport(ctx context.Context, report string) string {
	lines, files := named(report)
	var wanted []tools.Wanted
	read := filesShown(slices.Concat(s.brief.Carried...))
	for _, name := range files {
		if read[name] == "" {
			wanted = append(wanted, tools.Wanted{Path: name, Lines: lines[name]})
		}
	}
	excerpts := s.excerpts(ctx, wanted, reportExcerpts)
	if excerpts == "" {
		return ""
	}
	return "The places that the report names, as they are now, so that you need not read them again:\n\n" + excerpts
}

// ofPlan shows the places that a plan names, for the phase that changes them.
func (s *session) ofPlan(ctx context.Context, doc plan.PlanDoc) string {
	text := toChange(doc.Text)
	lines, _ := named(text)
	for name, more := range spoken(text, doc.Files) {
		lines[name] = append(lines[name], more...)
	}
	var names []string
	for _, code := range codeIn(text) {
		name, _, _ := strings.Cut(strings.TrimLeft(code, "*&"), "(")
		names = append(names, name)
		if i := strings.LastIndex(name, "."); i >= 0 {
			names = append(names, name[i+1:])
		}
	}
	var files []string
	read := filesShown(slices.Concat(s.brief.Carried...))
	for name, hash := range doc.Files {
		if hash != "" && hash != read[name] {
			files = append(files, name)
		}
	}
	slices.SortFunc(files, func(a, b string) int {
		if d := strings.Index(doc.Text, a) - strings.Index(doc.Text, b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var wanted []tools.Wanted
	for _, name := range files {
		wanted = append(wanted, tools.Wanted{
			Path:  name,
			Lines: lines[name],
			Names: names,
			Texts: codeBeside(text, name),
			Whole: true,
		})
	}
	excerpts := s.excerpts(ctx, wanted, planExcerpts)
	if excerpts == "" {
		return ""
	}
	return "The places that the plan names, as they are now. They count as read: change them without reading them " +
		"again. What is not shown of a file is listed or left out.\n\n" + excerpts
}

// excerpts shows parts of files within a bound on all of them. What is shown
// counts as read. A conversation that has its first prompt is shown nothing: the
// files may have changed since.
func (s *session) excerpts(ctx context.Context, wanted []tools.Wanted, limit int) string {
	if s.recorded > 0 {
		return ""
	}
	var parts []string
	for _, w := range wanted {
		w.Bytes = min(limit, fileExcerpt)
		if w.Bytes <= 0 {
			break
		}
		e, ok := s.files.Excerpt(ctx, w)
		if !ok {
			continue
		}
		for _, r := range e.Regions {
			attrs := fmt.Sprintf("path=%q lines=\"%d-%d of %d\"", e.Path, r.First, r.Last, e.Lines)
			parts = append(parts, fence("file", attrs, r.Text))
			limit -= len(r.Text)
		}
		if e.Outline != "" {
			parts = append(parts, fence("also-in", fmt.Sprintf("path=%q", e.Path), e.Outline))
			limit -= len(e.Outline)
		}
		if len(e.Regions) > 0 {
			s.files.Note(e.Path, e.Hash)
		}
	}
	return strings.Join(parts, "\n\n")
}

// handedOver are the hashes of the files that the first prompt of a conversation
// showed, for a process that goes on with it. They are those that the plan was
// made on: one that was changed since is read again before it is changed.
func handedOver(b plan.Brief) map[string]string {
	out := map[string]string{}
	if b.Plan == nil {
		return out
	}
	for _, ev := range b.Past {
		m, ok := ev.Body.(plan.MessageEnd)
		if !ok || !isPrompt(m.Message) {
			continue
		}
		text := m.Text()
		for name, hash := range b.Plan.Files {
			if hash != "" && strings.Contains(text, fmt.Sprintf("\n<file path=%q ", name)) {
				out[name] = hash
			}
		}
		break
	}
	return out
}

package tools

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

// excerptBytes is how much of a line is shown.
const excerptBytes = 400

// grepLine is one line to show: a match, or the context of one.
type grepLine struct {
	number int
	text   string
	match  bool
}

// scanned is what a search found in one file.
type scanned struct {
	name    string
	lines   []grepLine // for at most as many matches as were asked for
	matches int        // all of them, up to a bound
	skipped error      // why the file was not searched
}

// scanner searches files for lines that match.
type scanner struct {
	re      *linePattern
	context int
	maxSize int64
	named   bool // the file was named, not found in a listing
}

// scanBatch searches files concurrently and returns their results in order,
// with the lines of at most keep matches each.
func (sc scanner) scanBatch(
	ctx context.Context,
	root *os.Root,
	files []string,
	keep, maxCount int,
) ([]scanned, error) {
	return parallel(ctx, root, files, func(_ context.Context, r *reader, name string) scanned {
		return sc.scanFile(r, name, keep, maxCount)
	})
}

// parallel does a piece of work for every file on several goroutines, each with
// a reader of its own, and returns what came of them, in order.
func parallel[T any](
	ctx context.Context,
	root *os.Root,
	files []string,
	work func(context.Context, *reader, string) T,
) ([]T, error) {
	return parallelAt(ctx, root, len(files), func(ctx context.Context, r *reader, i int) T {
		return work(ctx, r, files[i])
	})
}

// parallelAt is parallel by the places of n files in their list. A worker takes a few
// at a time, because neighbours share a directory.
func parallelAt[T any](
	ctx context.Context,
	root *os.Root,
	n int,
	work func(context.Context, *reader, int) T,
) ([]T, error) {
	const most = 64
	step := int64(min(max(n/(16*workers()), 1), most))
	out := make([]T, n)
	var next atomic.Int64
	var g errgroup.Group
	for range min(workers(), n) {
		g.Go(func() error {
			r := &reader{root: root}
			defer r.close()
			for from := int(next.Add(step) - step); from < n; from = int(next.Add(step) - step) {
				if err := ctx.Err(); err != nil {
					return fmt.Errorf("stopped: %w", err)
				}
				for i := from; i < min(from+int(step), n); i++ {
					out[i] = work(ctx, r, i)
				}
			}
			return nil
		})
	}
	return out, g.Wait() //nolint:wrapcheck // made above
}

// workers is how many files are worked on at once.
func workers() int { return min(max(runtime.GOMAXPROCS(0), 2), 8) }

// scanFile searches one file.
func (sc scanner) scanFile(r *reader, name string, keep, maxCount int) scanned {
	data, err := r.load(name, sc.named, sc.maxSize)
	if err != nil {
		return scanned{name: name, skipped: err}
	}
	if !sc.re.possible(data, &r.scratch) {
		return scanned{name: name}
	}
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	lines, matches := sc.scan(data, keep, maxCount)
	return scanned{
		name:    name,
		lines:   lines,
		matches: matches,
	}
}

// hit is one matching line of a text.
type hit struct {
	number     int
	start, end int // the line
	at         int // where in it the match begins
}

// scan finds the matching lines of a text. It returns the lines to show for the
// first keep of them, and counts at most maxCount.
func (sc scanner) scan(data []byte, keep, maxCount int) ([]grepLine, int) {
	var hits []hit
	matches, number, counted := 0, 1, 0
	for pos := 0; pos < len(data) && matches < maxCount; matches++ {
		h, ok := sc.next(data, pos)
		if !ok {
			break
		}
		pos = h.end + 1
		if matches < keep {
			number += bytes.Count(data[counted:h.start], []byte{'\n'})
			counted = h.start
			h.number = number
			hits = append(hits, h)
		}
	}
	return sc.withContext(data, hits), matches
}

// next finds the first matching line at or after pos, the start of a line.
func (sc scanner) next(data []byte, pos int) (hit, bool) {
	loc := sc.re.FindIndex(data[pos:])
	if loc == nil {
		return hit{}, false
	}
	at := pos + loc[0]
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	if start == len(data) {
		return hit{}, false // the nothing after the last newline is no line
	}
	end := len(data)
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		end = at + i
	}
	return hit{
		start: start,
		end:   end,
		at:    at - start,
	}, true
}

// withContext makes lines to show of hits and the lines around them.
func (sc scanner) withContext(data []byte, hits []hit) []grepLine {
	var out []grepLine
	shown := 0 // the number of the last line in out
	for i, h := range hits {
		out = append(out, before(data, h, min(sc.context, h.number-1-shown))...)
		out = append(out, grepLine{h.number, excerpt(data[h.start:h.end], h.at), true})
		shown = h.number
		room := sc.context
		if i+1 < len(hits) {
			room = min(room, hits[i+1].number-1-shown)
		}
		for pos := h.end + 1; room > 0 && pos < len(data); room-- {
			end := lineEnd(data, pos)
			shown++
			out = append(out, grepLine{shown, excerpt(data[pos:end], 0), false})
			pos = end + 1
		}
	}
	return out
}

// before returns the n lines before a hit.
func before(data []byte, h hit, n int) []grepLine {
	out := make([]grepLine, max(n, 0))
	end := h.start - 1
	for i := len(out) - 1; i >= 0; i-- {
		start := bytes.LastIndexByte(data[:end], '\n') + 1
		out[i] = grepLine{h.number - (len(out) - i), excerpt(data[start:end], 0), false}
		end = start - 1
	}
	return out
}

func lineEnd(data []byte, pos int) int {
	if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(data)
}

// excerpt is a line, or the part of a long one around position at.
func excerpt(line []byte, at int) string {
	if len(line) <= excerptBytes {
		return clean(line)
	}
	start := min(max(at-excerptBytes/4, 0), len(line)-excerptBytes)
	for start > 0 && start < len(line) && !utf8.RuneStart(line[start]) {
		start++
	}
	part := cutText(line[start:], excerptBytes)
	text := clean(part)
	if start > 0 {
		text = "…" + text
	}
	if start+len(part) < len(line) {
		text += "…"
	}
	return text
}

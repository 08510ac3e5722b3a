package tools

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// unix is a content with LF line endings that remembers where it had CRLF, so
// that text from a model, which has LF only, can be found in it and the rest
// stays as it is.
type unix struct {
	bom   string
	text  string
	crlfs []int // offsets in text of the newlines that were CRLF
}

func newUnix(data []byte) unix {
	u := unix{text: string(data)}
	if rest, ok := strings.CutPrefix(u.text, string(byteOrderMark)); ok {
		u.bom, u.text = string(byteOrderMark), rest
	}
	if !strings.Contains(u.text, "\r\n") {
		return u
	}
	parts := strings.Split(u.text, "\r\n")
	at := 0
	for _, part := range parts[:len(parts)-1] {
		at += len(part)
		u.crlfs = append(u.crlfs, at)
		at++
	}
	u.text = strings.Join(parts, "\n")
	return u
}

// lf is text from a model as it is looked for.
func lf(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, string(byteOrderMark)), "\r\n", "\n")
}

// splice replaces old by new at the given offsets, which ascend and do not
// overlap, and returns the whole content. Lines that old and new have in
// common keep their endings; the others take those of the lines they replace.
func (u unix) splice(at []int, old, new string) []byte {
	head, tail := common(old, new)
	var out bytes.Buffer
	out.WriteString(u.bom)
	done := 0
	for _, start := range at {
		from, to := start+head, start+len(old)-tail
		u.copy(&out, done, from)
		u.insert(&out, from, to, new[head:len(new)-tail])
		done = to
	}
	u.copy(&out, done, len(u.text))
	return out.Bytes()
}

// copy writes text[from:to] with the endings it had.
func (u unix) copy(out *bytes.Buffer, from, to int) {
	for _, nl := range u.crlfs[sort.SearchInts(u.crlfs, from):sort.SearchInts(u.crlfs, to)] {
		out.WriteString(u.text[from:nl] + "\r")
		from = nl
	}
	out.WriteString(u.text[from:to])
}

// insert writes text in the place of text[from:to]: its newlines end like those
// that were there, further ones like the last of them, or like the line they
// are put into.
func (u unix) insert(out *bytes.Buffer, from, to int, text string) {
	at, within := u.ending(from), from
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			if next := strings.IndexByte(u.text[within:to], '\n'); next >= 0 {
				at = within + next
				within = at + 1
			}
			if u.crlf(at) {
				out.WriteByte('\r')
			}
			out.WriteByte('\n')
		}
		out.WriteString(line)
	}
}

// ending is the offset of the newline that ends the line around at, or of the
// last one before it, or -1.
func (u unix) ending(at int) int {
	if next := strings.IndexByte(u.text[at:], '\n'); next >= 0 {
		return at + next
	}
	return strings.LastIndexByte(u.text[:at], '\n')
}

func (u unix) crlf(at int) bool {
	i := sort.SearchInts(u.crlfs, at)
	return i < len(u.crlfs) && u.crlfs[i] == at
}

// common returns how many bytes old and new share at their beginning and, of
// the rest, at their end, in whole lines.
func common(old, new string) (head, tail int) {
	n := min(len(old), len(new))
	for head < n && old[head] == new[head] {
		head++
	}
	head = strings.LastIndexByte(old[:head], '\n') + 1
	for tail < n-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	begins := func(text string, at int) bool { return at == 0 || text[at-1] == '\n' }
	if begins(old, len(old)-tail) && begins(new, len(new)-tail) {
		return head, tail
	}
	shared := old[len(old)-tail:]
	return head, max(len(shared)-1-strings.IndexByte(shared+"\n", '\n'), 0)
}

// lineOf is the number of the line that holds the offset at.
func lineOf(text string, at int) int { return strings.Count(text[:min(at, len(text))], "\n") + 1 }

// numbered shows lines first to last of a content, as read shows them.
func numbered(lines []string, first, last int) string {
	const most = 40
	var out strings.Builder
	first, last = max(first, 1), min(last, len(lines))
	for n := first; n <= last; n++ {
		if n-first == most && last-n > 0 {
			fmt.Fprintf(&out, "[lines %d-%d are left out]\n", n, last)
			break
		}
		fmt.Fprintf(&out, "%d\t%s\n", n, brief(lines[n-1]))
	}
	return out.String()
}

// brief is a line as it is shown: valid, without its ending, not too long.
func brief(line string) string {
	const most = 300
	line = strings.TrimRight(line, "\r\n")
	if short := cutText([]byte(line), most); len(short) < len(line) {
		return clean(short) + "…"
	}
	return clean([]byte(line))
}

// splitLines splits LF text into lines without their newlines. A final newline
// does not begin another line.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// nearestRegion finds where lines most like want stand in have: the number of
// the first line, and whether all of them are there but for white space. It
// returns 0 if nothing is like them.
func nearestRegion(have, want []string) (line int, blanks bool) {
	// Beyond these it is not worth the time.
	const work, lines = 20_000_000, 20_000
	weight := 0
	for _, w := range want {
		weight += len(strings.TrimSpace(w))
	}
	if weight == 0 {
		return 0, false
	}
	best := 0
	if len(have)*len(want) <= work {
		line, best = overlap(have, want)
	}
	if 2*best >= weight {
		return line, best == weight
	}
	if len(have) <= lines {
		if alike := likest(have, want); alike > 0 {
			return alike, false
		}
	}
	return line, false
}

// overlap lays want over have at every line and returns where the most text is
// the same but for white space around the lines, and how much.
func overlap(have, want []string) (line, best int) {
	trimmed := make([]string, len(have))
	for i, h := range have {
		trimmed[i] = strings.TrimSpace(h)
	}
	wanted := make([]string, len(want))
	for i, w := range want {
		wanted[i] = strings.TrimSpace(w)
	}
	for start := 1 - len(want); start < len(have); start++ {
		score := 0
		for i := max(0, -start); i < len(want) && start+i < len(have); i++ {
			if wanted[i] == trimmed[start+i] {
				score += len(wanted[i])
			}
		}
		if score > best {
			line, best = max(start, 0)+1, score
		}
	}
	return line, best
}

// likest returns the line of have from where want would begin if its longest
// line is the line of have that shares most with it; 0 if none shares enough.
func likest(have, want []string) int {
	longest := 0
	for i, w := range want {
		if len(strings.TrimSpace(w)) > len(strings.TrimSpace(want[longest])) {
			longest = i
		}
	}
	pairs := pairsOf(want[longest])
	line, best := 0, 0.45
	for i, h := range have {
		if score := alike(pairs, pairsOf(h)); score > best {
			line, best = max(i-longest, 0)+1, score
		}
	}
	return line
}

// pairsOf counts the pairs of neighbouring bytes in the beginning of a line.
func pairsOf(line string) map[[2]byte]int {
	line = strings.TrimSpace(line)
	line = line[:min(len(line), 400)]
	pairs := map[[2]byte]int{}
	for i := 1; i < len(line); i++ {
		pairs[[2]byte{line[i-1], line[i]}]++
	}
	return pairs
}

// alike is the share of pairs that two lines have in common, from 0 to 1.
func alike(a, b map[[2]byte]int) float64 {
	shared, total := 0, 0
	for pair, n := range a {
		shared += min(n, b[pair])
		total += n
	}
	for _, n := range b {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(shared) / float64(total)
}

// numberedLine is how read begins a line.
var numberedLine = lazy.Regexp(`(?m)^ *\d+\t`)

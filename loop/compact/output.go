package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// cleanOutput takes out of a tool's output what a reader does not need. It is
// meant for the output of commands: file contents must keep every byte,
// because an edit has to match them.
//
// Safe leaves what a terminal would show in the end: no escape sequences, and of
// a line that was written over only the last state. Blanks at line ends and empty
// lines stay: they can be all that a diff is about. Runs of lines that only say of
// tests that they passed are folded. Full also folds runs of lines that begin alike
// and takes the white space out of JSON. Cleaning what is clean changes
// nothing.
func cleanOutput(text string, level Level) string {
	if level != Safe && level != Full {
		return text
	}
	if level == Full {
		if packed, ok := packJSON(text); ok {
			return packed
		}
	}
	lines := foldPassed(finalLines(stripEscapes(text)))
	if level == Safe {
		return joinLines(lines)
	}
	if packed, ok := packJSON(joinLines(lines)); ok {
		return packed
	}
	return joinLines(foldLines(lines))
}

// Output is a command's output without what a reader does not need. Where lines
// were folded, whole is what is to be kept of it, and the text says where; with
// kept, the whole output is kept already.
func Output(text string, level Level, kept bool) (short string, whole []byte) {
	if level == Off {
		return text, nil
	}
	clean := joinLines(finalLines(stripEscapes(text)))
	short = cleanOutput(text, level)
	folded := strings.Count(short, "\n") < strings.Count(clean, "\n") && !json.Valid([]byte(short))
	if !folded || kept {
		return short, nil
	}
	short = strings.TrimRight(short, "\n") +
		fmt.Sprintf("\n[to see all of it, read path \"blob:%s\"]\n", plan.NewBlob([]byte(clean)).Hash)
	if len(short) >= len(clean) {
		return clean, nil
	}
	return short, []byte(clean)
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }

// packJSON writes a text that is one JSON object or array without white space.
func packJSON(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return "", false
	}
	var buf bytes.Buffer
	if json.Compact(&buf, []byte(text)) != nil {
		return "", false
	}
	return buf.String(), true
}

// finalLines shows each line as a terminal does in the end.
func finalLines(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return lines
}

const escape = '\x1b'

// stripEscapes takes terminal control sequences out. No escape character is
// left, so that taking one out cannot make another.
func stripEscapes(text string) string {
	at := strings.IndexByte(text, escape)
	if at < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for at >= 0 {
		b.WriteString(text[:at])
		text = text[at+escapeLen(text[at:]):]
		at = strings.IndexByte(text, escape)
	}
	b.WriteString(text)
	return b.String()
}

// escapeLen is the length of the control sequence that s begins with. Of one
// that is not complete, or none, it is what surely belongs to it.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		n := 2 + span(s[2:], '0', '?')
		n += span(s[n:], ' ', '/')
		return n + min(span(s[n:], '@', '~'), 1)
	case ']', 'P', 'X', '^', '_': // text for the terminal, up to a terminator
		end := strings.IndexAny(s[2:], "\a\n\x1b")
		switch {
		case end < 0 || s[2+end] == '\n':
			return 2
		case s[2+end] == '\a':
			return 2 + end + 1
		case strings.HasPrefix(s[2+end:], "\x1b\\"):
			return 2 + end + 2
		}
		return 2 + end
	}
	n := 1 + span(s[1:], ' ', '/')
	return n + min(span(s[n:], '0', '~'), 1)
}

// span counts the bytes that s begins with and that lie between low and high.
func span(s string, low, high byte) int {
	n := 0
	for n < len(s) && low <= s[n] && s[n] <= high {
		n++
	}
	return n
}

// foldMark begins and foldEnd ends the line that stands for folded ones. Such
// a line is never folded itself.
const (
	foldMark = "[… "
	foldEnd  = " more like these]"
)

// passed finds lines in which test runners say of a test, or of a file of tests, that
// it runs or has passed, and nothing else.
var passed = lazy.Regexp(`^\s*(?:PASS\s+\S+|ok\s+(?:\d+\s|\S+\s+(?:\(cached\)|[\d.]+m?s))|--- PASS: |` +
	`=== (?:RUN|PAUSE|CONT|NAME)\s|[✓✔√]\s)` +
	`|\.\.\. ok$|\sPASSED(?:\s+\[\s*\d+%\])?$`)

// mostPassed is how many such lines in a row are shown.
const mostPassed = 8

// foldPassed replaces the inner lines of long runs of lines that say that tests passed.
func foldPassed(lines []string) []string {
	out := lines[:0:0]
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && passed().MatchString(lines[end]) && !trouble().MatchString(lines[end]) {
			end++
		}
		if end-i <= mostPassed {
			end = max(end, i+1)
			out = append(out, lines[i:end]...)
		} else {
			out = append(out, lines[i], fmt.Sprintf("%s%d%s", foldMark, end-i-2, foldEnd), lines[end-1])
		}
		i = end
	}
	return out
}

// foldLines replaces the inner lines of runs of three or more whose common
// beginning makes up at least half of the longest of them. A fold that would
// not make the text shorter is not made.
func foldLines(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); {
		end := runEnd(lines, i)
		mark := fmt.Sprintf("%s%d%s", foldMark, end-i-2, foldEnd)
		saved := -len(mark) - 1
		for k := i + 1; k < end-1; k++ {
			saved += len(lines[k]) + 1
		}
		out = append(out, lines[i])
		if end-i < 3 || saved <= 0 {
			i++
			continue
		}
		out = append(out, mark)
		i = end - 1 // the last line of a run may be the first of the next
	}
	return out
}

// trouble finds lines that say that something went wrong, or was not done. Among
// lines that do not, they are what a reader looks for.
var trouble = lazy.Regexp(`(?i)fail|error|panic|fatal|denied|exception|not ok|no test|skip|[✗✘✖❌]`)

// runEnd is where the run of similar lines that starts at i ends. Lines of
// trouble and others are never of one run.
func runEnd(lines []string, i int) int {
	common, longest := lines[i], len(lines[i])
	end := i + 1
	if !foldable(lines[i]) {
		return end
	}
	bad := trouble().MatchString(lines[i])
	for ; end < len(lines) && foldable(lines[end]) && trouble().MatchString(lines[end]) == bad; end++ {
		n := 0
		for n < len(common) && n < len(lines[end]) && common[n] == lines[end][n] {
			n++
		}
		longest = max(longest, len(lines[end]))
		if 2*n < longest {
			break
		}
		common = common[:n]
	}
	return end
}

func foldable(line string) bool {
	folded := strings.HasPrefix(line, foldMark) && strings.HasSuffix(line, foldEnd)
	return line != "" && !folded
}

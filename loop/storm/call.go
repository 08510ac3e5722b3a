package storm

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
)

// canonical writes arguments so that those which mean the same have the same
// bytes: sorted keys, no white space, one way to write each number. Text that
// is no JSON stands for itself.
func canonical(args json.RawMessage) []byte {
	text := bytes.TrimSpace(args)
	if len(text) == 0 {
		return []byte("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if !json.Valid(text) || dec.Decode(&v) != nil {
		return text
	}
	out, err := plan.MarshalCompact(canonicalNumbers(v))
	if err != nil {
		return text
	}
	return out
}

// without are arguments but for one field; those that are no object are as they
// were.
func without(args json.RawMessage, field string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil || fields[field] == nil {
		return args
	}
	delete(fields, field)
	out, err := plan.MarshalCompact(fields)
	if err != nil {
		return args
	}
	return out
}

// canonicalNumbers replaces the numbers in v, in place where it can.
func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = canonicalNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = canonicalNumbers(e)
		}
	case json.Number:
		return canonicalNumber(string(v))
	}
	return v
}

// canonicalNumber writes a number as its significant digits and a power of
// ten, so that 1, 1.0 and 10e-1 are one, without ever working it out: the
// exponent can be of any size.
func canonicalNumber(s string) json.Number {
	mantissa, power, _ := strings.Cut(strings.ToLower(s), "e")
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	exponent := new(big.Int)
	if power != "" {
		exponent.SetString(strings.TrimPrefix(power, "+"), 10)
	}
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(short)-len(fraction))))
	if negative {
		short = "-" + short
	}
	if exponent.Sign() == 0 {
		return json.Number(short)
	}
	return json.Number(short + "e" + exponent.String())
}

// inert reports whether a shell command can do nothing but print fixed words
// or set its exit status. When in doubt it is not inert.
func inert(command string) bool {
	parts, ok := splitCommand(command)
	for _, p := range parts {
		switch strings.Fields(p)[0] {
		case "echo", "printf", "true", "false", ":":
		default:
			return false
		}
	}
	return ok && len(parts) > 0
}

// splitCommand takes a command line apart at ; && || and line ends outside of
// quotes. It is not ok if the line holds anything that could expand, redirect,
// group or go to the background, or that the shell would not accept.
func splitCommand(line string) (parts []string, ok bool) {
	var quote byte
	var part strings.Builder
	blank := func() bool { return strings.TrimSpace(part.String()) == "" }
	dangling := false // && or || waits for its right side
	for i := 0; i < len(line); {
		c, width := line[i], operator(line[i:])
		if c == '\\' && quote != '\'' { // the next character stands for itself, wherever it stands
			if i+1 == len(line) {
				return nil, false
			}
			part.WriteString(line[i : i+2])
			i += 2
			continue
		}
		switch {
		case width < 0 || width == 2 && quote != 0 || quote == 0 && strings.IndexByte("*?[~", c) >= 0:
			return nil, false
		case quote != 0 || width == 0:
			switch {
			case c == quote:
				quote = 0
			case quote == 0 && (c == '\'' || c == '"'):
				quote = c
			}
			part.WriteByte(c)
			i++
			continue
		case !blank():
			parts, dangling = append(parts, part.String()), width == 2
		case c != '\n':
			return nil, false
		}
		part.Reset()
		i += width
	}
	if blank() {
		return parts, !dangling
	}
	return append(parts, part.String()), quote == 0
}

// operator is the width of the operator between commands that s begins with: 0
// if there is none, -1 if it begins with something that is never harmless.
func operator(s string) int {
	switch c := s[0]; {
	case strings.HasPrefix(s, "&&") || strings.HasPrefix(s, "||"):
		return 2
	case strings.IndexByte("$`<>&|(){}", c) >= 0:
		return -1
	case c == ';' || c == '\n':
		return 1
	}
	return 0
}

// brief shows a call in one short line.
func brief(name string, args json.RawMessage) string {
	const most = 160
	text := oneline.Of(string(args))
	if len(text) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return name + " " + text
}

// clockwork matches what differs between two runs of the same command for no
// other reason than that time goes by.
var clockwork = lazy.Regexp(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?` +
	`|\b\d{1,2}:\d\d:\d\d([.,]\d+)?\b` +
	`|\b(\d+([.,]\d+)? ?(ns|us|µs|μs|ms|s|sec|secs|seconds?|min|mins|minutes?|m|h)\b)` +
	`|\b(\d+h)?(\d+m)?\d+([.,]\d+)?s\b` +
	`|\bduration_ms["']?:? ?\d+[.,]\d+`)

// place matches what differs because a program chose the name itself: pointers,
// the first part of a path below a folder for temporary files, and the numbers of
// processes and goroutines.
var place = lazy.Regexp(`\b0x[0-9a-fA-F]+\b|\bgo-build\d+` +
	`|/(?:tmp|dev/shm|var/folders/\w+/\w+/T)/[^/\s:'"]+` +
	`|\(node:\d+\)|\bpid[ =:]{1,2}\d+\b|\bgoroutine \d+\b`)

// Fingerprint stands for a result. Results that differ only in how long
// something took, or when, in pointers, in the names of temporary files and in
// blanks at the ends of lines have the same one.
func Fingerprint(text string, failed bool) string {
	kind := "ok\x00"
	if failed {
		kind = "failed\x00"
	}
	var lines []string
	for line := range strings.Lines(text) { // no time goes over the end of a line
		if tellsTime(line) {
			line = withoutTimes(line)
		}
		if namesPlaces(line) {
			line = place().ReplaceAllLiteralString(line, "/tmp/_")
		}
		lines = append(lines, strings.TrimRight(line, " \t\r\n"))
	}
	sortPassed(lines)
	return digest(kind, []byte(strings.Join(lines, "\n")))
}

// withoutTimes writes all times alike, and takes out those that test runners tell only of
// what was slow, or once they have one to compare with.
func withoutTimes(line string) string {
	line = clockwork().ReplaceAllLiteralString(line, "0s")
	return strings.ReplaceAll(strings.ReplaceAll(line, " (0s)", ""), ", estimated 0s", "")
}

// sortPassed puts files that passed, each named in a line of its own, in one order: jest
// names them as its workers come to them.
func sortPassed(lines []string) {
	passed := func(line string) bool { return strings.HasPrefix(line, "PASS ") }
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && passed(lines[to]) {
			to++
		}
		slices.Sort(lines[from:to])
		from = max(from, to-1)
	}
}

// namesPlaces reports whether a line can hold what place matches.
func namesPlaces(line string) bool {
	for _, part := range []string{
		"0x", "/tmp/", "/dev/shm/", "/var/folders/", "go-build", "(node:", "pid", "goroutine ",
	} {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// tellsTime reports whether a line can hold what clockwork matches, which needs
// a number and behind it a unit, a colon or a dash with more digits. It is for
// results that are files, where the expression finds nothing and takes long.
func tellsTime(line string) bool {
	for i := 0; i < len(line); i++ {
		if !digit(line, i) {
			continue
		}
		for digit(line, i) {
			i++
		}
		if i == len(line) {
			return false
		}
		switch c := line[i]; c {
		case '-', ':', '.', ',':
			if digit(line, i+1) {
				return true
			}
		case ' ':
			if i+1 < len(line) && strings.IndexByte(unitStarts, line[i+1]) >= 0 {
				return true
			}
		default:
			if strings.IndexByte(unitStarts, c) >= 0 {
				return true
			}
		}
	}
	return false
}

// unitStarts are the first bytes of the units that clockwork knows, those of
// both letters µ included.
const unitStarts = "numsh\xc2\xce"

func digit(s string, i int) bool { return i < len(s) && '0' <= s[i] && s[i] <= '9' }

// digest stands for data of a kind, in the maps of a breaker.
func digest(kind string, data []byte) string {
	sum := sha256.Sum256(append([]byte(kind), data...))
	return string(sum[:16])
}

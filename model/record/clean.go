package record

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// mark stands where a secret was.
const mark = "[redacted]"

// shortest is the length in bytes below which a header's value is not taken
// for a secret: replacing it would hit ordinary text.
const shortest = 8

// cleaner replaces secrets in a text.
type cleaner func(string) string

// newCleaner makes a cleaner that applies redact, where it is not nil, and then
// replaces what looks like a key.
func newCleaner(redact ...func(string) string) cleaner {
	return func(s string) string {
		for _, f := range redact {
			if f != nil {
				s = f(s)
			}
		}
		return replaceKeys(s)
	}
}

// shape is what a kind of key looks like.
type shape struct {
	// A text without any of these words is not looked at further, which makes
	// looking at long ones ten times as fast.
	words []string
	form  func() *regexp.Regexp
}

// shapes are the shapes of well-known keys. Each is long or odd enough not to
// be met in ordinary text.
var shapes = []shape{
	{
		[]string{"uthorization", "UTHORIZATION"},
		lazy.Regexp(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+[a-z0-9._~+/=-]{8,}`),
	},
	{[]string{"earer", "EARER"}, lazy.Regexp(`(?i)\bbearer\s+[a-z0-9._~+/=-]{20,}`)},
	{[]string{"sk-"}, lazy.Regexp(`\bsk-[A-Za-z0-9_-]{20,}`)},
	{[]string{"ghp_", "gho_", "ghr_", "ghs_", "ghu_"}, lazy.Regexp(`\bgh[oprsu]_[A-Za-z0-9]{36,}`)},
	{[]string{"github_pat_"}, lazy.Regexp(`\bgithub_pat_[A-Za-z0-9_]{22,}`)},
	{[]string{"glpat-"}, lazy.Regexp(`\bglpat-[A-Za-z0-9_-]{20,}`)},
	{[]string{"xox"}, lazy.Regexp(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{[]string{"AKIA", "ASIA"}, lazy.Regexp(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{[]string{"AIza"}, lazy.Regexp(`\bAIza[A-Za-z0-9_-]{35}`)},
	{[]string{"eyJ"}, lazy.Regexp(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
	{
		[]string{"PRIVATE KEY"},
		lazy.Regexp(
			`-----BEGIN [A-Z ]*PRIVATE KEY-----\s*[A-Za-z0-9+/=\s]{40,}(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
		),
	},
}

// replaceKeys replaces what has the shape of a key.
func replaceKeys(s string) string {
	for _, k := range shapes {
		if slices.ContainsFunc(k.words, func(w string) bool { return strings.Contains(s, w) }) {
			s = k.form().ReplaceAllString(s, mark)
		}
	}
	return s
}

var credential = lazy.Regexp(`(?i)auth|key|token|secret|cookie|passw|credential`)

// isCredential reports whether a header is one to prove who asks.
func isCredential(name string) bool { return credential().MatchString(name) }

// with returns a cleaner that also replaces the values of those headers that
// are not recorded.
func (c cleaner) with(headers map[string]string) cleaner {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if !isCredential(name) {
			continue
		}
		for _, value := range append(strings.Fields(headers[name]), headers[name]) {
			if len(value) >= shortest {
				values = append(values, value)
			}
		}
	}
	if len(values) == 0 {
		return c
	}
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) })
	return func(s string) string {
		for _, value := range values {
			s = strings.ReplaceAll(s, value, mark)
		}
		return c(s)
	}
}

// text cleans a text, and where it is JSON the strings in it too, which may
// hold a secret in escaped form.
func (c cleaner) text(s string) string {
	s = c(s)
	if t := strings.TrimSpace(s); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		if json.Valid([]byte(t)) {
			return string(c.json([]byte(s)))
		}
	}
	return s
}

// json cleans every string of valid JSON, names included, and leaves all other
// bytes as they are.
func (c cleaner) json(data []byte) []byte {
	return eachString(data, func(literal []byte) []byte {
		var s string
		if json.Unmarshal(literal, &s) != nil {
			return literal
		}
		cleaned := c.text(s)
		if cleaned == s {
			return literal
		}
		out, err := plan.MarshalCompact(cleaned)
		if err != nil { // strings can always be encoded
			return []byte(`"` + mark + `"`)
		}
		return out
	})
}

// pieces cleans what was shown while an answer arrived. A secret may be spread
// over pieces, so what they make together is cleaned and cut again; a stream
// without secrets keeps its cuts.
func (c cleaner) pieces(in []piece) []piece {
	type stream struct {
		kind plan.BlockType
		call string
	}
	whole := map[stream]*strings.Builder{}
	for _, p := range in {
		s := stream{p.Kind, p.Call}
		if whole[s] == nil {
			whole[s] = &strings.Builder{}
		}
		whole[s].WriteString(p.Text)
	}
	rest := map[stream]string{} // of streams that had to be cleaned
	for s, b := range whole {
		if cleaned := c.text(b.String()); cleaned != b.String() {
			rest[s] = cleaned
		}
	}
	last := map[stream]int{}
	for i, p := range in {
		last[stream{p.Kind, p.Call}] = i
	}
	out := make([]piece, len(in))
	for i, p := range in {
		s := stream{p.Kind, p.Call}
		out[i] = piece{
			Kind: p.Kind,
			Text: p.Text,
			Call: c.text(p.Call),
			Name: c.text(p.Name),
		}
		if left, ok := rest[s]; ok {
			n := boundary(left, len(p.Text))
			if i == last[s] {
				n = len(left)
			}
			out[i].Text, rest[s] = left[:n], left[n:]
		}
	}
	return out
}

// boundary is the first character boundary of text at or after n.
func boundary(text string, n int) int {
	n = min(n, len(text))
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}

// eachString replaces the string literals of valid JSON.
func eachString(data []byte, replace func(literal []byte) []byte) []byte {
	out := make([]byte, 0, len(data))
	for {
		begin := bytes.IndexByte(data, '"')
		if begin < 0 {
			return append(out, data...)
		}
		end := begin + 1
		for end < len(data) && data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(data))
		out = append(out, data[:begin]...)
		out = append(out, replace(data[begin:end])...)
		data = data[end:]
	}
}

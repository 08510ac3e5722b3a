package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// RedactConfig says what else looks like a secret in what leaves the journal.
type RedactConfig struct {
	// Patterns are regular expressions (RE2). What one matches is replaced, or
	// only its first group if it has one.
	Patterns []string `toml:"patterns" json:"patterns,omitempty"`
}

// IsZero says that there is nothing to write, also of an empty list.
func (c RedactConfig) IsZero() bool { return len(c.Patterns) == 0 }

// tokenRules know secrets by their shape: what vendors let their keys begin
// with, and what stands where a secret stands. Each is about a form that
// ordinary code and hashes do not have.
var tokenRules = []string{
	`\bsk-[A-Za-z0-9_-]{20,}`, // model vendors
	`\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`,
	`\bglpat-[A-Za-z0-9_-]{18,}`,
	`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`,
	`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
	`\bAIza[A-Za-z0-9_-]{35}`,
	`\bya29\.[A-Za-z0-9_-]{20,}`,
	`\b(?:npm|hf|dop_v1|pypi)[_-][A-Za-z0-9_-]{30,}`,
	`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
	`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, // signed tokens
	`(?s)-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(.*?)(?:-----END|\z)`,
	`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9+/=._~-]{8,})`,
	`(?i)\bbearer\s+([A-Za-z0-9+/=._~-]{20,})`,
	`(?i)[a-z][a-z0-9+.-]*://[^\s/:@"']*:([^\s/@"']{3,})@`, // a password in an address
	`(?:^|[^A-Za-z])[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|` +
		`PRIVATE_?KEY)\s*[=:]\s*["']?([^\s"'$<({]{8,})`,
}

// Rules makes a function that replaces what looks like a secret, by the rules
// that are built in and by patterns. It is for what leaves the journal: exports,
// logs and drafts. In the journal only known values are replaced (see
// [Redactor]), because what merely looks like a secret may be what the work is
// about. The function may be used from several goroutines.
func Rules(patterns []string) (func(string) string, error) {
	var rules []*regexp.Regexp
	for _, p := range tokenRules {
		rules = append(rules, regexp.MustCompile(p))
	}
	for i, p := range patterns {
		rule, err := compileRule(p)
		if err != nil {
			return nil, fmt.Errorf("redact.patterns: entry %d %w", i+1, err)
		}
		rules = append(rules, rule)
	}
	filter, err := newPrefilter(append(slices.Clone(tokenRules), patterns...))
	if err != nil {
		return nil, fmt.Errorf("prepare redact.patterns: %w", err)
	}
	return func(text string) string {
		candidates := filter.candidates(text)
		for i, rule := range rules {
			if i < maxGuarded && candidates&(1<<i) == 0 {
				continue
			}
			if clean := replaceRule(rule, text); clean != text { // a mark may be what another rule is about
				text, candidates = clean, filter.candidates(clean)
			}
		}
		return text
	}, nil
}

// compileRule refuses what cannot be meant: a pattern that matches nothing at
// all would put marks between all letters.
func compileRule(pattern string) (*regexp.Regexp, error) {
	rule, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("= %q is not a regular expression: %w", pattern, err)
	}
	if rule.MatchString("") {
		return nil, fmt.Errorf("= %q matches the empty text: say what a secret looks like", pattern)
	}
	return rule, nil
}

// ruleMark stands where something looked like a secret.
const ruleMark = "«secret»"

func replaceRule(rule *regexp.Regexp, text string) string {
	matches := rule.FindAllStringSubmatchIndex(text, -1)
	if matches == nil {
		return text
	}
	var out strings.Builder
	last := 0
	for _, at := range matches {
		from, to := at[0], at[1]
		if len(at) > 2 && at[2] >= 0 {
			from, to = at[2], at[3]
		}
		if text[from:to] == "" || strings.HasPrefix(text[from:], "«secret") { // replaced by an earlier rule
			continue
		}
		out.WriteString(text[last:from])
		out.WriteString(ruleMark)
		last = to
	}
	out.WriteString(text[last:])
	return out.String()
}

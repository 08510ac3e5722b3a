package review

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// skips find what keeps a test from running, by the ending of the file that it
// stands in.
var skips = map[string]func() *regexp.Regexp{
	".go": lazy.Regexp(`\b\w+\.(?:Skip|Skipf|SkipNow)\(|\btesting\.Short\(\)|^//go:build\s+(?:ignore|never|skip)\b`),
	".py": lazy.Regexp(`\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\(|` +
		`@(?:unittest\.)?(?:skip\w*|expectedFailure)\b|\b(?:SkipTest|skipTest)\b|` +
		`\b__test__\s*=\s*False|\bcollect_ignore\w*\b`),
	".js": lazy.Regexp(`\b(?:it|test|describe|context|suite|specify)(?:\.\w+)*` +
		`\.(?:skip|only|todo|skipIf|runIf|fails|failing|fixme)\b|` +
		`\b(?:this|t|ctx|context|tc)\.(?:skip|todo|runOnly)\(|` +
		`\b(?:xit|xdescribe|xtest|xcontext|xspecify|fit|fdescribe|fcontext)\s*\(|` +
		`\b(?:skip|only|todo)\s*:\s*(?:true\b|['"\x60])|\bpending\(`),
	".rs": lazy.Regexp(`#\[(?:\w+::)?ignore\b|#\[cfg_attr\(.*\bignore\b`),
	".rb": lazy.Regexp(`^\s*(?:pending|skip)\b|\b(?:xit|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\b|` +
		`:(?:skip|pending|focus)\b|\b(?:skip|pending|focus):\s|\bomit\b`),
	".java": lazy.Regexp(`@(?:Disabled|Enabled)\w*\b|@Ignore\b|\bassume(?:True|False|That)\(|` +
		`\benabled\s*=\s*false\b|\bSkipException\b`),
	".cs": lazy.Regexp(`\bSkip\s*=\s*|\[(?:Ignore|Explicit)\b|\bAssert\.(?:Ignore|Inconclusive)\(`),
	".php": lazy.Regexp(`\bmarkTest(?:Skipped|Incomplete)\(|@(?:requires|group skip)\b|` +
		`->(?:skip|todo|only)\(|#\[Requires`),
	".ex":    lazy.Regexp(`@(?:module|describe)?tag\s+(?::skip|skip:)|\bexclude:`),
	".cc":    lazy.Regexp(`\bGTEST_SKIP\b|\bDISABLED_\w+|\bSKIP\(|\[\.\]|\[!?(?:hide|mayfail)\]`),
	".swift": lazy.Regexp(`\bXCTSkip\w*\b|\.disabled\(`),
	".sh":    lazy.Regexp(`^\s*skip\b`),
}

// sameLanguage are endings of the same language.
var sameLanguage = map[string]string{
	".bats":   ".sh",
	".c":      ".cc",
	".cjs":    ".js",
	".coffee": ".js",
	".cpp":    ".cc",
	".cts":    ".js",
	".cxx":    ".cc",
	".exs":    ".ex",
	".groovy": ".java",
	".h":      ".cc",
	".jsx":    ".js",
	".kt":     ".java",
	".mjs":    ".js",
	".mts":    ".js",
	".scala":  ".java",
	".ts":     ".js",
	".tsx":    ".js",
	".vue":    ".js",
}

// noteSkippedTests notes marks that keep tests from running, where there are more of them
// than before.
func noteSkippedTests(f fileChange) []plan.Finding {
	ending := path.Ext(f.path)
	if other := sameLanguage[ending]; other != "" {
		ending = other
	}
	skip := skips[ending]
	if skip == nil {
		return nil
	}
	before := 0
	for _, line := range f.removed {
		if skip().MatchString(line) {
			before++
		}
	}
	var marks []string
	for _, line := range f.added {
		if skip().MatchString(line) {
			marks = append(marks, strings.TrimSpace(line))
		}
	}
	if len(marks) <= before {
		return nil
	}
	return []plan.Finding{{
		Kind:   plan.FindSkip,
		Path:   f.path,
		Answer: true,
		Text:   fmt.Sprintf("%s keeps tests from running: `%s`.", f.path, cut(marks[0], 120)),
	}}
}

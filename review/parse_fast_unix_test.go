//go:build unix

package review_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan/review"
)

func TestParseIsFastOnHostileText(t *testing.T) { //nolint:paralleltest // it measures the CPU time of the process
	const n, limit = 1 << 15, time.Second
	for name, unit := range map[string]string{
		"open braces": "{", "close braces": "}", "pairs": "{}", "brackets": "[{", "crossed": "{[}",
		"nested keys": `{"a":`, "quotes": `{"`, "escapes": `{"\`, "verdict keys": `{"verdict":`, "closed verdicts": `{"verdict":}`,
		"nested verdicts": `{"a":{"verdict":"DONE"}}`, "opposite quotes": `{":":",":`, "blanks": "{ ", "arrays": `["`,
		"bare keys": "{a:", "tags": "<think>", "end tags": "</think>", "quoted tags": `{"a":"<think>"}`,
		"denials": "not yet been ", "numbers": `{"\u0076erdict":`, "words": "{a", "bullets": "- {",
	} {
		text := strings.Repeat(unit, n/len(unit))
		before := cpuTime(t)
		if v, err := parse(text); err == nil {
			t.Errorf("%s: Parse = %+v, want an error", name, v)
		}
		// Linear work takes a twentieth of a second with the race detector, and
		// quadratic work four seconds.
		if took := cpuTime(t) - before; took > limit {
			t.Errorf("%s: took %v", name, took)
		}
	}
	before := cpuTime(t)
	if v, err := parse(strings.Repeat(done, n/len(done)) + "But no tests."); err == nil {
		t.Errorf("many verdicts: %+v", v)
	}
	if took := cpuTime(t) - before; took > limit {
		t.Errorf("many verdicts took %v", took)
	}
	long := strings.Repeat("- a gap\\n", n/32)
	before = cpuTime(t)
	v, err := parse(`{"verdict":"NEEDS_FIX","missing":"` + long + `"}`)
	if err != nil || len(v.Missing) != n/32 {
		t.Fatalf("%d gaps, %v", len(v.Missing), err)
	}
	if j, _ := review.Judge(v, review.Evidence{}); len(j.Gaps) != 1 {
		t.Errorf("%d gaps", len(j.Gaps))
	}
	if took := cpuTime(t) - before; took > limit {
		t.Errorf("a long list took %v", took)
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

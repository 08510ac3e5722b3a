package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/learning"
)

func TestSkillStats(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := SkillStats(&out, nil); err != nil || !strings.HasPrefix(out.String(), "No skill has a record yet.") {
		t.Errorf("%q, %v", out.String(), err)
	}
	out.Reset()
	stats := []learning.Stat{
		{Skill: "tests", Phase: plan.Implement, Pulls: 3, Alpha: 4, Beta: 1, Mean: 0.8, Low: 0.4, High: 0.99},
		{Phase: plan.Plan, Alpha: 1, Beta: 1, Mean: 0.5, Low: 0.03, High: 0.97, Stale: true},
	}
	if err := SkillStats(&out, stats); err != nil {
		t.Fatal(err)
	}
	want := `SKILL                         PHASE      PULLS  MEAN  95 %       DENSITY FROM 0 TO 1
tests                         implement  3      0.80  0.40–0.99               ▁▁▁▁▁▂▂▂▃▃▃▄▄▅▅▆▇▇█
(no skill) (changed or gone)  plan       0      0.50  0.03–0.97  ████████████████████████████████
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	svg := string(SkillStatsSVG(stats))
	if strings.Count(svg, "<polyline") != 2 || !strings.Contains(svg, "tests in implement: 0.80 (0.40–0.99), 3 pulls") {
		t.Errorf("%s", svg)
	}
}

func TestSkillsAndFactsAreSafeForATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	long := "\x1b[2Jlong " + strings.Repeat("x", 100)
	list := []learning.Listing{
		{Name: "tests", Description: long, Source: "user", Status: learning.StatusUsable},
		{Path: "/home/\x1b]0;x\x07broken", Status: learning.StatusBroken, Why: "no frontmatter"},
	}
	if err := Skills(&out, list); err != nil {
		t.Fatal(err)
	}
	fact := plan.Fact{ID: 3, Text: "a\x1b[31mb", Source: plan.FactFromTool}
	if err := Facts(&out, []plan.Fact{fact}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := Fact(&out, fact); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.ContainsAny(got, "\x1b\x07") || strings.Contains(got, strings.Repeat("x", 90)) {
		t.Errorf("%q", got)
	}
}

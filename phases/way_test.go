package phases_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

// TestWhatCannotStartIsTold: a phase that comes before the baseline is not left to find
// out by itself that a check says nothing here.
func TestWhatCannotStartIsTold(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\ntext = \"It is all there.\"\n", nil)
	b.cfg.Checks = func() []plan.Unready {
		return []plan.Unready{
			{Check: plan.Check{Command: "uv run pytest"}, Why: "uv: command not found"},
			{Check: plan.Check{Command: "make", Required: true}},
		}
	}
	b.must(briefFor(plan.Explore, 1))
	sent := b.of(plan.Explore, 1)[0].users()[0]
	for _, want := range []string{
		"- `uv run pytest` (advisory; it cannot start on this machine as it is, so do not try it: uv: command not found)\n",
		"- `make` (required)\n",
	} {
		if !strings.Contains(sent, want) {
			t.Errorf("it is not told %q:\n%s", want, sent)
		}
	}
}

// TestExploreHandsOverWhatItsWayAllows: a finished plan is one where Plan may be left
// out, and material for a report elsewhere; a report stays one.
func TestExploreHandsOverWhatItsWayAllows(t *testing.T) {
	t.Parallel()
	const (
		made = "# Plan: beta\n\n## Files\n- `a.txt` — modified: the word\n\n## Steps\n1. In `a.txt`, write beta.\n\n" +
			"## Verify\n~~~\ngrep -q beta a.txt\n~~~"
		found = "**What is asked**: beta.\n**Where it happens**: `a.txt:1`. A plan would have\n## Steps\nof its own.\n\n" +
			"- **What is open**: whether alpha stays."
	)
	for name, c := range map[string]struct {
		way, text string
		plan      bool
		open      string
		told      string
	}{
		"a plan, of its own choice": {plan.WayAuto, made, true, "", "Hand over one of two:"},
		"a report, of its choice":   {plan.WayAuto, found, false, "whether alpha stays.", "What is open"},
		"a plan, as asked":          {plan.WayShort, made, true, "", "No other phase plans: hand over the finished plan"},
		"a plan where none may be":  {plan.WayFull, made, false, "", ""},
		"an older run":              {"", made, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "[[reply]]\ntext = '''\n"+c.text+"'''\n", map[string]string{"a.txt": "alpha\n"})
			b.cfg.Way = c.way
			out := b.must(briefFor(plan.Explore, 1))
			if (out.Plan != nil) != c.plan || (out.Report == "") != c.plan || out.Open != c.open {
				t.Fatalf("it came to %+v", out)
			}
			if c.plan && (out.Plan.Files["a.txt"] == "" || len(out.Plan.Verify) != 1) {
				t.Errorf("the plan is %+v", out.Plan)
			}
			sent := b.of(plan.Explore, 1)[0].users()[0]
			if !strings.Contains(sent, c.told) || strings.Contains(sent, "## Steps") != (c.told != "") ||
				strings.Contains(sent, "Not looked at") != (c.way != plan.WayShort) || strings.Contains(sent, "{{") {
				t.Errorf("it was told\n%s", sent)
			}
		})
	}
}

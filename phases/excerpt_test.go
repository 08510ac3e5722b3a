package phases_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

// bigFile is too large to be shown whole.
func bigFile() string {
	return "package p\n\nfunc First() int {\n\treturn 1\n}\n\n" + strings.Repeat("// filler\n", 800) +
		"func Second() int {\n\treturn 2\n}\n"
}

// TestPlanIsShownWhatTheReportQuotes: the lines that a report names stand in
// Plan's first message, with the definition around them and nothing else.
func TestPlanIsShownWhatTheReportQuotes(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\ntext = \"# Plan: x\\n## Files\\n- `a.go` — modified\"\n", map[string]string{"a.go": bigFile()})
	brief := briefFor(plan.Plan, 1)
	brief.Report = "It happens at `a.go:4`, and at b.go:7 and /etc/passwd:1 and ../x.go:3."
	b.must(brief)
	sent := b.of(plan.Plan, 1)[0].users()[0]
	if !strings.Contains(sent, "<file path=\"a.go\" lines=\"3-5 of 809\">\nfunc First() int {\n\treturn 1\n}\n</file>") {
		t.Errorf("the quoted function is not there:\n%s", sent)
	}
	for _, not := range []string{"func Second", "filler", "root:"} {
		if strings.Contains(sent, not) {
			t.Errorf("%q was shown", not)
		}
	}
}

// TestImplementIsShownThePlacesOfThePlan: they stand in its first message and count
// as read, also for a process that goes on, unless the file was changed meanwhile.
func TestImplementIsShownThePlacesOfThePlan(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
turn = 0
  [reply.fault]
  kind = "status"
  status = 429
  retry_after = "900"
  [[reply.call]]
  name = "write"
  args = { path = "small.txt", content = "beta" }
  [[reply.call]]
  name = "edit"
  args = { path = "a.go", old_string = "return 2", new_string = "return 3" }
[[reply]]
turn = 1
text = "done"
`
	for name, meanwhile := range map[string]string{"as it was": "", "changed meanwhile": "alpha, and more\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, scenario, map[string]string{"a.go": bigFile(), "small.txt": "alpha\n", "other.txt": "secret"})
			hashes, err := b.hashes(t.Context(), []string{"a.go", "small.txt"})
			if err != nil {
				t.Fatal(err)
			}
			brief := briefFor(plan.Implement, 1)
			brief.Plan.Text = "# Plan: x\n## Files\n- `small.txt` — modified\n- `a.go` — modified\n" +
				"- `new.go` — created\n## Steps\n1. In `a.go`, change `Second()`. See other.txt:1."
			brief.Plan.Files = map[string]string{"a.go": hashes["a.go"], "small.txt": hashes["small.txt"], "new.go": ""}
			if out, err := b.run(brief); err != nil || out.Park == nil {
				t.Fatalf("%+v, %v", out, err)
			}
			sent := b.of(plan.Implement, 1)[0].users()[0]
			for _, want := range []string{
				"<file path=\"small.txt\" lines=\"1-1 of 1\">\nalpha\n</file>",
				"<file path=\"a.go\" lines=\"807-809 of 809\">\nfunc Second() int {\n\treturn 2\n}\n</file>",
				"<also-in path=\"a.go\">\n3-5 func First() int\n</also-in>",
			} {
				if !strings.Contains(sent, want) {
					t.Errorf("there is no %q in\n%s", want, sent)
				}
			}
			if strings.Contains(sent, "secret") || strings.Contains(sent, "filler") {
				t.Errorf("more than the plan's places was shown:\n%s", sent)
			}
			if meanwhile != "" {
				b.write("small.txt", meanwhile)
			}
			b.must(brief)
			for _, end := range b.toolEnds() {
				if refused := end.Name == "write" && meanwhile != ""; end.Error != refused {
					t.Errorf("%s: %v: %s", end.Name, end.Error, end.Output)
				}
			}
			if again := b.of(plan.Implement, 1)[1].users(); again[0] != sent {
				t.Errorf("the first message has changed to\n%s", again[0])
			}
		})
	}
}

// TestWhatIsOnlyWatchedIsNotShown: of what a plan names, Implement is shown what is
// changed: a quoted heading of a document, and not a line that was looked at.
func TestWhatIsOnlyWatchedIsNotShown(t *testing.T) {
	t.Parallel()
	changes := "# Changes\n\n## Version 2\n\n- the last of 2\n\n## Version 1\n" + strings.Repeat("filler\n", 1000) +
		"the OLD message\n" + strings.Repeat("filler\n", 1000)
	b := setup(t, "[[reply]]\ntext = \"done\"\n", map[string]string{"CHANGES.md": changes})
	hashes, err := b.hashes(t.Context(), []string{"CHANGES.md"})
	if err != nil {
		t.Fatal(err)
	}
	brief := briefFor(plan.Implement, 1)
	brief.Plan.Text = "# Plan: x\n## Files\n- CHANGES.md — modified: an entry\n## Steps\n" +
		"1. In `CHANGES.md`, add an entry to `Version 2`.\n" +
		"## Watched\n- CHANGES.md:1008 quotes the message: accepted, it tells of then\n" +
		"## Verify\n~~~\ngrep -c OLD CHANGES.md:1008\n~~~\n"
	brief.Plan.Files = hashes
	b.must(brief)
	sent := b.of(plan.Implement, 1)[0].users()[0]
	if !strings.Contains(sent, "<file path=\"CHANGES.md\" lines=\"1-11 of 2008\">\n# Changes\n\n## Version 2\n") {
		t.Errorf("the place is not there:\n%s", sent)
	}
	if strings.Contains(sent, "the OLD message") {
		t.Errorf("what is only watched is there:\n%s", sent)
	}
}

// TestLinesThatAPlanSpeaksOf: "after line 500" of the file that stands before it in the
// step is such a place as `path:500`.
func TestLinesThatAPlanSpeaksOf(t *testing.T) {
	t.Parallel()
	tree := map[string]string{"CHANGES.md": strings.Repeat("filler\n", 900), "b.md": strings.Repeat("other\n", 900)}
	b := setup(t, "[[reply]]\ntext = \"done\"\n", tree)
	hashes, err := b.hashes(t.Context(), []string{"CHANGES.md", "b.md"})
	if err != nil {
		t.Fatal(err)
	}
	brief := briefFor(plan.Implement, 1)
	brief.Plan.Text = "# Plan: x\n## Files\n- CHANGES.md — modified: an entry\n- b.md — modified\n## Steps\n" +
		"1. At line 7 of it: nothing. In `CHANGES.md`, behind m.re.groups, after line 500, and in `b.md` lines 20 – 22, line 0.\n"
	brief.Plan.Files = hashes
	b.must(brief)
	sent := b.of(plan.Implement, 1)[0].users()[0]
	for _, want := range []string{
		"<file path=\"CHANGES.md\" lines=\"492-508 of 900\">\n",
		"<file path=\"b.md\" lines=\"12-30 of 900\">\n",
	} {
		if !strings.Contains(sent, want) || strings.Count(sent, "<file path") != 2 {
			t.Errorf("there is no %s, or more, in\n%s", want, sent)
		}
	}
}

package phases_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

// TestCallsThatAPhaseMayNotMake: they are refused where tools are dispatched,
// with what to do instead, and nothing happens.
func TestCallsThatAPhaseMayNotMake(t *testing.T) {
	t.Parallel()
	args := map[string]string{
		"write": `{ path = "a.txt", content = "gone" }`, "edit": `{ path = "a.txt", old_string = "alpha", new_string = "gone" }`,
		"apply_patch": `{ patch = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch" }`,
		"bash":        `{ command = "rm a.txt" }`, "fly": `{ to = "the moon" }`,
	}
	for _, c := range []struct {
		phase plan.Phase
		tool  string
		says  []string
	}{
		{plan.Explore, "write", []string{"write is not offered in", "only reads", "read, grep, glob, list_dir"}},
		{plan.Explore, "edit", []string{"edit is not offered in"}},
		{plan.Explore, "bash", []string{"bash is not offered in", "Implement does it"}},
		{plan.Plan, "apply_patch", []string{"apply_patch is not offered in", "only reads"}},
		{plan.Plan, "bash", []string{"bash is not offered in"}},
		{plan.Review, "write", []string{"write is not offered in Review", "gap in `missing`", "bash"}},
		{plan.Review, "edit", []string{"edit is not offered in Review"}},
		{plan.Review, "apply_patch", []string{"apply_patch is not offered in Review"}},
		{plan.Explore, "fly", []string{`no tool named "fly"`, "read, grep"}},
		{plan.Implement, "fly", []string{`no tool named "fly"`, "bash"}},
	} {
		t.Run(fmt.Sprint(c.tool, " in ", c.phase), func(t *testing.T) {
			t.Parallel()
			b := setup(t, fmt.Sprintf(`
[[reply]]
turn = 0
  [[reply.call]]
  name = %q
  args = %s
[[reply]]
turn = 1
text = '{"verdict": "BLOCKED", "checklist": [], "missing": ["a.txt"], "commands": []}'
`, c.tool, args[c.tool]), map[string]string{"a.txt": "alpha\n"})
			b.must(briefFor(c.phase, 1))
			ends := b.toolEnds()
			if len(ends) != 1 || ends[0].Status != "refused" || !ends[0].Error {
				t.Fatalf("the call came to %+v", ends)
			}
			sent := b.of(c.phase, 1)[1]
			last := sent.messages[len(sent.messages)-1]
			for _, want := range c.says {
				if last.Role != "tool" || !strings.Contains(last.text(), want) {
					t.Errorf("the model reads %q, which does not say %q", last.text(), want)
				}
			}
			if b.read("a.txt") != "alpha\n" {
				t.Error("the tree was changed")
			}
			b.balanced()
		})
	}
}

// TestAReviewerWorksInACopy: what its commands write is thrown away.
func TestAReviewerWorksInACopy(t *testing.T) {
	t.Parallel()
	b := setup(t, `
[[reply]]
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = "echo gone > a.txt && touch b.txt && cat a.txt && pwd" }
  [[reply.call]]
  name = "read"
  args = { path = "a.txt" }
[[reply]]
turn = 1
text = '{"verdict": "BLOCKED", "checklist": [], "missing": [], "commands": []}'
`, map[string]string{"a.txt": "alpha\n"})
	out := b.must(briefFor(plan.Review, 1))
	if out.Judgement.Verdict != plan.CannotSay || out.Judgement.Approved {
		t.Errorf("judged %+v", out.Judgement)
	}
	ends := b.toolEnds()
	if !strings.Contains(ends[0].Output, "gone\n"+b.views[0]) || !strings.Contains(ends[1].Output, "gone") {
		t.Errorf("it saw %+v", ends)
	}
	if _, err := os.Stat(filepath.Join(b.root, "b.txt")); b.read("a.txt") != "alpha\n" || err == nil {
		t.Error("the real tree was changed")
	}
	if _, err := os.Stat(b.views[0]); !errors.Is(err, os.ErrNotExist) || b.discarded != 1 {
		t.Errorf("the copy is still there (%v), discarded %d times", err, b.discarded)
	}
}

func TestTheCopyOfAReviewIsThrownAwayWhateverHappens(t *testing.T) {
	t.Parallel()
	left := errors.New("the directory is busy")
	const done = "[[reply]]\ntext = '{\"verdict\": \"BLOCKED\", \"checklist\": [], \"missing\": [], \"commands\": []}'\n"
	for _, c := range []struct {
		name, scenario string
		left           error
		check          func(t *testing.T, b *bench, out plan.Outcome, err error)
	}{
		{"it ends", done, nil, func(t *testing.T, _ *bench, out plan.Outcome, err error) {
			if err != nil || out.Judgement == nil {
				t.Errorf("%+v, %v", out, err)
			}
		}},
		{"it ends, and the copy stays", done, left, func(t *testing.T, b *bench, out plan.Outcome, err error) {
			if err != nil || out.Judgement == nil {
				t.Errorf("the judgement is lost: %+v, %v", out, err)
			}
			events := b.events()
			told, ok := events[len(events)-1].Body.(plan.Failure)
			if !ok || !strings.Contains(told.Error, "the directory is busy") || told.Hint == "" || events[len(events)-1].Conv == "" {
				t.Errorf("people are told %+v", events[len(events)-1])
			}
		}},
		{"it fails", "[[reply]]\n[reply.fault]\nkind = \"status\"\nstatus = 401\n", left, func(t *testing.T, _ *bench, _ plan.Outcome, err error) {
			if !errors.Is(err, left) || !strings.Contains(err.Error(), "401") || hint(err) == "" {
				t.Errorf("got %v", err)
			}
		}},
		{"it parks", "[[reply]]\n[reply.fault]\nkind = \"status\"\nstatus = 429\ntimes = 0\n", nil, func(t *testing.T, _ *bench, out plan.Outcome, err error) {
			if err != nil || out.Park == nil || out.Park.Reason != plan.ParkRateLimit {
				t.Errorf("%+v, %v", out, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.scenario, map[string]string{"a.txt": "alpha\n"})
			b.left = c.left
			out, err := b.run(briefFor(plan.Review, 1))
			c.check(t, b, out, err)
			if b.discarded != 1 {
				t.Errorf("discarded %d times", b.discarded)
			}
			b.balanced()
		})
	}
	t.Run("there is none", func(t *testing.T) {
		t.Parallel()
		b := setup(t, done, nil)
		b.cfg.Room = func(context.Context, plan.Phase, plan.Trees) (phases.Room, error) { return phases.Room{}, left }
		if _, err := b.run(briefFor(plan.Review, 1)); !errors.Is(err, left) || !strings.Contains(err.Error(), "prepare the work tree for the commands of review") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNothingToHandOver(t *testing.T) {
	t.Parallel()
	const empty = "[[reply]]\n[reply.fault]\nkind = \"empty\"\ntimes = 0\n"
	const blank = "[[reply]]\ntext = \" \\n \"\n"
	for _, c := range []struct {
		name     string
		phase    plan.Phase
		scenario string
		says     string
		asks     int // 2 with the words that ask for more
	}{
		{"an empty report", plan.Explore, empty, "Explore handed over no report", 1},
		{"a blank report", plan.Explore, blank, "Explore handed over no report", 2},
		{"an empty plan", plan.Plan, empty, "Plan handed over no plan", 1},
		{"a blank plan", plan.Plan, blank, "Plan handed over no plan", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.scenario, nil)
			out, err := b.run(briefFor(c.phase, 1))
			if err == nil || out.Report != "" || out.Plan != nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(hint(err), "--model") {
				t.Errorf("says %q, and advises %q", err, hint(err))
			}
			sent := b.requests()
			if got := len(sent[len(sent)-1].users()); got != c.asks {
				t.Errorf("asked %d times, want %d", got, c.asks)
			}
			b.balanced()
		})
	}
}

func TestAPlanThatIsCutOffIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, `
[[reply]]
user = 1
text = "# Plan: half"
finish = "length"
[[reply]]
user = 2
text = "# Plan: whole"
`, nil)
	if out := b.must(briefFor(plan.Plan, 1)); out.Plan.Text != "# Plan: whole" {
		t.Errorf("the plan is %q", out.Plan.Text)
	}
	users := b.requests()[1].users()
	if len(users) != 2 || !strings.Contains(users[1], "cut off") {
		t.Errorf("it was asked %q", users)
	}
}

// TestAFrozenContext: Explore starts from a conversation that was there before,
// which is recorded once.
func TestAFrozenContext(t *testing.T) {
	t.Parallel()
	b := setup(t, `
[[reply]]
turn = 0
  [reply.fault]
  kind = "status"
  status = 429
  retry_after = "900"
  times = 1
[[reply]]
text = "# What\n# Where"
`, nil)
	brief := briefFor(plan.Explore, 1)
	said := func(role plan.Role, text string) plan.Message {
		return plan.Message{Role: role, Blocks: []plan.Block{{Type: plan.BlockText, Text: text}}}
	}
	brief.Context = []plan.Message{said(plan.RoleUser, "one"), said(plan.RoleAssistant, "two"), said(plan.RoleUser, "three"), said(plan.RoleAssistant, "four")}
	if out, err := b.run(brief); err != nil || out.Park == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if out := b.must(brief); out.Report != "# What\n# Where" {
		t.Errorf("the report is %q", out.Report)
	}
	sent := b.requests()
	for i, r := range sent {
		var got []string
		for _, m := range r.messages[1:] {
			got = append(got, m.Role+" "+strings.SplitN(m.text(), "\n", 2)[0])
		}
		want := []string{"user one", "assistant two", "user three", "assistant four", "user <request>"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d:\n%s", i, diff)
		}
	}
	if string(sent[0].body) != string(sent[len(sent)-1].body) {
		t.Error("the resumed request has other bytes")
	}
	b.balanced()
}

// TestFilesSeenSurviveAResume: what a conversation has read may be edited by
// the process that goes on, unless it has changed since.
func TestFilesSeenSurviveAResume(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "read"
  args = { path = "a.txt" }
[[reply]]
turn = 1
  [reply.fault]
  kind = "status"
  status = 429
  retry_after = "900"
  [[reply.call]]
  name = "edit"
  args = { path = "a.txt", old_string = "alpha", new_string = "beta" }
[[reply]]
turn = 2
text = "done"
`
	for _, c := range []struct {
		name, meanwhile, want string
		refused               bool
	}{
		{"the file is as it was", "alpha\n", "beta\n", false},
		{"the file has changed", "alpha, and more\n", "alpha, and more\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, scenario, map[string]string{"a.txt": "alpha\n"})
			brief := briefFor(plan.Implement, 1)
			if out, err := b.run(brief); err != nil || out.Park == nil {
				t.Fatalf("%+v, %v", out, err)
			}
			b.write("a.txt", c.meanwhile)
			b.must(brief)
			ends := b.toolEnds()
			if end := ends[len(ends)-1]; end.Error != c.refused {
				t.Errorf("the edit came to %+v", end)
			}
			if got := b.read("a.txt"); got != c.want {
				t.Errorf("the file is %q", got)
			}
		})
	}
}

// TestTheKitOfARunIsWhatIsSent: a run goes on with the words it was started
// with, whatever this version of the program would say.
func TestTheKitOfARunIsWhatIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\ntext = \"# What\\n# Where\"\n", nil)
	blob, err := b.cfg.Kit.Encode()
	if err != nil {
		t.Fatal(err)
	}
	kit, err := phases.DecodeKit(blob.Data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.cfg.Kit, kit); diff != "" {
		t.Errorf("the kit changes on its way through the journal:\n%s", diff)
	}
	kit.System, kit.Prompts["explore"] = "OLD-SYSTEM", "OLD-PROMPT\n{{REQUEST}}"
	delete(kit.Prompts, "head") // programs before had none
	read := kit.Tools["read"]
	read.Description = "OLD-DESCRIPTION"
	kit.Tools["read"] = read
	b.cfg.Kit = kit
	b.must(briefFor(plan.Explore, 1))
	sent := b.requests()[0]
	if sent.messages[0].text() != "OLD-SYSTEM" || sent.users()[0] != "OLD-PROMPT\n<request>\nthe request\n</request>\n" ||
		!strings.Contains(string(sent.tools[0]), "OLD-DESCRIPTION") {
		t.Errorf("sent %s", sent.body)
	}
	if _, err := phases.DecodeKit([]byte("{")); err == nil || !strings.Contains(err.Error(), "kit of the run") {
		t.Errorf("a broken kit: %v", err)
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	whole := setup(t, "[[reply]]\ntext = \"x\"\n", nil).cfg
	for name, c := range map[string]struct {
		change func(*phases.Config)
		want   string
	}{
		"no model":             {func(c *phases.Config) { c.Model = nil }, "a model"},
		"no room":              {func(c *phases.Config) { c.Room = nil }, "a room"},
		"no hashes":            {func(c *phases.Config) { c.Hashes = nil }, "hashes"},
		"a phase has no model": {func(c *phases.Config) { c.Models = map[plan.Phase]string{plan.Explore: "m"} }, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := whole
			c.change(&cfg)
			if _, err := phases.New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	ph, err := phases.New(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ph.Run(context.Background(), plan.Brief{Phase: "dance"}, nil); err == nil || !strings.Contains(err.Error(), `"dance"`) {
		t.Errorf("an unknown phase: %v", err)
	}
}

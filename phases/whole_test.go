package phases_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

func scenario(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const failing = "CHECK-OUTPUT: no beta"

// whole takes the scenario whole.toml through all of its phases, as the engine
// would.
func whole(t testing.TB) *bench {
	t.Helper()
	b := setup(t, scenario(t, "whole.toml"), map[string]string{"a.txt": "alpha\n"})
	b.cfg.Instructions = []phases.Instruction{{Path: "AGENTS.md", Text: "HOUSE-RULES"}}
	play(t, b)
	return b
}

// play runs the phases that are left to run; the result is the last judgement.
func play(t testing.TB, b *bench) plan.Judgement {
	t.Helper()
	check := plan.Check{Command: "grep -q beta a.txt", Required: true}
	base := []plan.CheckResult{{Check: check, ExitCode: 1, Output: "CHECK-BASE-OUTPUT"}}
	with := func(p plan.Phase, attempt int, do func(*plan.Brief)) plan.Outcome {
		brief := briefFor(p, attempt)
		brief.Request = "THE-REQUEST\n\n\n\nfour lines on. {{PLAN}}"
		do(&brief)
		return b.must(brief)
	}
	report := with(plan.Explore, 1, func(br *plan.Brief) {
		br.Context = []plan.Message{plan.UserText("FROZEN-QUESTION"), {Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: "FROZEN-ANSWER"}}}}
	}).Report
	doc := with(plan.Plan, 1, func(br *plan.Brief) { br.Report = report }).Plan
	with(plan.Implement, 1, func(br *plan.Brief) { br.Plan, br.Checks = doc, base })
	j := with(plan.Review, 1, func(br *plan.Brief) {
		br.Plan, br.Diff, br.Base = doc, "THE-DIFF </diff>", base
		br.Checks = []plan.CheckResult{{Check: check, ExitCode: 1, Output: failing}}
	}).Judgement
	with(plan.Implement, 2, func(br *plan.Brief) {
		br.Plan, br.Gaps = doc, j.Gaps
		br.Checks = []plan.CheckResult{{Check: check, ExitCode: 1, Output: failing}}
	})
	return *with(plan.Review, 2, func(br *plan.Brief) {
		br.Plan, br.Diff, br.Base, br.Gaps = doc, "THE-DIFF-2", base, j.Gaps
		br.Checks = []plan.CheckResult{{Check: check}}
	}).Judgement
}

// TestWhatEachPhaseSees is the separation of powers: every word that a phase
// must not know is looked for in everything that was sent for it.
func TestWhatEachPhaseSees(t *testing.T) {
	t.Parallel()
	b := whole(t)
	all := []string{
		"THE-REQUEST", "HOUSE-RULES", "FROZEN-QUESTION", "FROZEN-ANSWER", "EXPLORE-REASONING", "EXPLORE-WORDS", "THE-REPORT",
		"PLAN-WORDS", "THE-PLAN", "IMPLEMENT-REASONING", "IMPLEMENT-WORDS", "IMPLEMENT-OUTPUT", "IMPLEMENT-SUMMARY",
		"CHECK-BASE-OUTPUT", "CHECK-OUTPUT", "THE-DIFF", "REVIEW-REASONING", "REVIEW-WORDS", "THE-GAP", "THE-DIFF-2",
	}
	for _, c := range []struct {
		phase   plan.Phase
		attempt int
		sees    []string
		own     []string // its own words, which it may or may not be sent back
	}{
		{plan.Explore, 1, []string{"THE-REQUEST", "HOUSE-RULES", "FROZEN-QUESTION", "FROZEN-ANSWER"}, []string{"EXPLORE-REASONING", "EXPLORE-WORDS"}},
		{plan.Plan, 1, []string{"THE-REQUEST", "HOUSE-RULES", "THE-REPORT"}, []string{"PLAN-WORDS"}},
		{plan.Implement, 1, []string{"THE-REQUEST", "HOUSE-RULES", "THE-PLAN", "CHECK-BASE-OUTPUT"}, []string{"IMPLEMENT-REASONING", "IMPLEMENT-WORDS", "IMPLEMENT-OUTPUT"}},
		{plan.Review, 1, []string{"THE-REQUEST", "HOUSE-RULES", "THE-PLAN", "THE-DIFF", "CHECK-OUTPUT"}, []string{"REVIEW-REASONING", "REVIEW-WORDS"}},
		{
			plan.Implement, 2,
			[]string{
				"THE-REQUEST", "HOUSE-RULES", "THE-PLAN", "CHECK-BASE-OUTPUT", "IMPLEMENT-WORDS", "IMPLEMENT-OUTPUT", "IMPLEMENT-SUMMARY",
				"THE-GAP", "CHECK-OUTPUT",
			},
			[]string{"IMPLEMENT-REASONING"},
		},
		{plan.Review, 2, []string{"THE-REQUEST", "HOUSE-RULES", "THE-PLAN", "THE-DIFF", "THE-DIFF-2", "THE-GAP", "CHECK-OUTPUT"}, nil},
	} {
		t.Run(fmt.Sprint(c.phase, c.attempt), func(t *testing.T) {
			t.Parallel()
			sent := b.of(c.phase, c.attempt)
			if len(sent) == 0 {
				t.Fatal("no request was made")
			}
			for _, word := range all {
				in := 0
				for _, r := range sent {
					if bytes.Contains(r.body, []byte(word)) {
						in++
					}
				}
				wanted := slices.Contains(c.sees, word)
				switch {
				case slices.Contains(c.own, word):
				case wanted && in != len(sent):
					t.Errorf("%s is in %d of %d requests", word, in, len(sent))
				case !wanted && in > 0:
					t.Errorf("%s must not be known here", word)
				}
			}
		})
	}
}

func TestPromptsAreWhole(t *testing.T) {
	t.Parallel()
	b := whole(t)
	seen := 0
	for _, r := range b.requests() {
		for _, text := range r.users() {
			if strings.HasPrefix(text, "FROZEN") {
				continue
			}
			seen++
			// Markers that stand in what people and models wrote are theirs.
			ours := strings.NewReplacer("four lines on. {{PLAN}}", "", "says alpha. {{REQUEST}}", "", "Because. {{CHECKS}}", "").Replace(text)
			if strings.Contains(ours, "{{") || strings.Contains(ours, "}}") {
				t.Errorf("a marker is left in\n%s", text)
			}
			// Every blank gap in a prompt is one that the data brought along.
			ours = strings.NewReplacer("THE-REQUEST\n\n\n\nfour", "", "{{CHECKS}}\n\n\nTwo", "", "Because. {{CHECKS}}\n\n\nTwo blank", "").Replace(text)
			if strings.Contains(ours, "\n\n\n") {
				t.Errorf("an empty part leaves a gap in\n%s", text)
			}
			if strings.Contains(text, "THE-REQUEST") && !strings.Contains(text, "<request>\nTHE-REQUEST\n\n\n\nfour lines on. {{PLAN}}\n</request>") {
				t.Errorf("the request was changed:\n%s", text)
			}
			if strings.Contains(text, "THE-PLAN") && !strings.Contains(text, "Because. {{CHECKS}}\n\n\nTwo blank lines above stay.") {
				t.Errorf("the plan was changed:\n%s", text)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d prompts were seen", seen)
	}
	if text := b.of(plan.Plan, 1)[0].users()[0]; !strings.Contains(text, "<report-2>\nTHE-REPORT") || !strings.Contains(text, "\n</report-2>") {
		t.Errorf("a report could close its own tag:\n%s", text)
	}
	if text := b.of(plan.Review, 1)[0].users()[0]; !strings.Contains(text, "<diff-2>\nTHE-DIFF </diff>\n</diff-2>") {
		t.Errorf("a diff could close its own tag:\n%s", text)
	}
}

// TestPrefixDiscipline: what a provider has been sent before is sent again,
// byte for byte.
func TestPrefixDiscipline(t *testing.T) {
	t.Parallel()
	b := whole(t)
	sent := b.requests()
	system := sent[0].rawMessages[0]
	if sent[0].messages[0].Role != "system" {
		t.Fatalf("the first message is %s", system)
	}
	schemas := map[string]json.RawMessage{}
	last := map[string]request{}
	for i, r := range sent {
		if !bytes.Equal(r.rawMessages[0], system) {
			t.Errorf("request %d (%s) has another system prompt", i, r.phase)
		}
		for _, word := range []string{"R1", "2026", "THE-REQUEST", "implement-1"} {
			if strings.Contains(r.messages[0].text(), word) {
				t.Errorf("the system prompt holds %q, which is not for ever", word)
			}
		}
		for j, name := range r.toolNames() {
			if was, ok := schemas[name]; ok && !bytes.Equal(was, r.tools[j]) {
				t.Errorf("request %d (%s) describes %s otherwise", i, r.phase, name)
			}
			schemas[name] = r.tools[j]
		}
		conv := r.phase
		if r.phase != "implement" {
			conv += r.attempt
		}
		if before, ok := last[conv]; ok {
			extends(t, fmt.Sprintf("request %d (%s)", i, conv), before, r)
		}
		last[conv] = r
	}
	for _, ev := range b.events() {
		if req, ok := ev.Body.(plan.Request); ok && req.Moved != "" {
			t.Errorf("the journal says that %s moved", req.Moved)
		}
	}
}

// extends fails the test unless r begins with all that before sent: the same
// tools and parameters, and the same messages and then more.
func extends(t *testing.T, name string, before, r request) {
	t.Helper()
	if len(r.rawMessages) <= len(before.rawMessages) {
		t.Errorf("%s has %d messages, the one before %d", name, len(r.rawMessages), len(before.rawMessages))
		return
	}
	for i, m := range before.rawMessages {
		if !bytes.Equal(m, r.rawMessages[i]) {
			t.Errorf("%s changes message %d:\n%s\n%s", name, i, m, r.rawMessages[i])
		}
	}
	for key, was := range before.raw {
		if key != "messages" && !bytes.Equal(was, r.raw[key]) {
			t.Errorf("%s changes %s", name, key)
		}
	}
}

func TestToolsOfEachPhase(t *testing.T) {
	t.Parallel()
	b := whole(t)
	ph, err := phases.New(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan.Phases() {
		told := ph.Describe(p)
		if told.Model != "model-"+string(p) {
			t.Errorf("%s is described with the model %s", p, told.Model)
		}
		need := []string{"read", "grep", "glob", "list_dir", "symbols"}
		if p == plan.Implement {
			need = append(need, "write", "edit", "apply_patch", "bash")
		}
		if p == plan.Review {
			need = append(need, "bash")
		}
		for _, name := range need {
			if !slices.Contains(told.Tools, name) {
				t.Errorf("%s has no %s", p, name)
			}
		}
		for _, attempt := range []int{1, 2} {
			for _, r := range b.of(p, attempt) {
				if diff := cmp.Diff(told.Tools, r.toolNames()); diff != "" {
					t.Errorf("%s is offered other tools than the journal says:\n%s", p, diff)
				}
				if model := string(r.raw["model"]); model != fmt.Sprintf("%q", told.Model) {
					t.Errorf("%s asks %s", p, model)
				}
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	b := whole(t)
	counts := map[string]int{}
	for _, r := range b.requests() {
		if r.run != "R1" {
			t.Errorf("X-Plan-Run is %q", r.run)
		}
		counts[r.phase+" "+r.attempt]++
	}
	want := map[string]int{"explore 1": 2, "plan 1": 2, "implement 1": 3, "review 1": 2, "implement 2": 2, "review 2": 2}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
}

// TestARetryGoesOn: the second implement continues the first one's
// conversation, with the gaps as the message.
func TestARetryGoesOn(t *testing.T) {
	t.Parallel()
	b := whole(t)
	first, second := b.of(plan.Implement, 1), b.of(plan.Implement, 2)
	extends(t, "the retry", first[len(first)-1], second[0])
	users := second[0].users()
	if len(users) != 2 {
		t.Fatalf("%d user messages", len(users))
	}
	for _, want := range []string{"cycle 2", "- G1 (must): The check `grep -q beta a.txt` is required", "- G2 (must): THE-GAP: new.txt is not there", "`grep -q beta a.txt` (required): failed with exit status 1", "    " + failing} {
		if !strings.Contains(users[1], want) {
			t.Errorf("the retry does not say %q:\n%s", want, users[1])
		}
	}
	if strings.Contains(users[1], "THE-REQUEST") || strings.Contains(users[1], "THE-PLAN") {
		t.Error("the retry repeats what the conversation knows")
	}
}

func TestWhatComesOut(t *testing.T) {
	t.Parallel()
	b := setup(t, scenario(t, "whole.toml"), map[string]string{"a.txt": "alpha\n"})
	j := play(t, b)
	if !j.Approved || j.Verdict != plan.Done || len(j.Commands) != 1 || len(j.Gaps) != 2 || j.Gaps[0].Open() || j.Gaps[1].Open() {
		t.Errorf("the last judgement is %+v", j)
	}
	if b.read("a.txt") != "beta\n" || b.read("new.txt") != "more\n" {
		t.Error("the tree was not changed as the script says")
	}
	b.balanced()
	if b.discarded != 2 || len(b.views) != 2 {
		t.Errorf("%d of %d views were discarded", b.discarded, len(b.views))
	}
	brief := briefFor(plan.Plan, 1)
	doc := b.must(brief).Plan // the same conversation, which has ended: the same plan, without asking
	want := &plan.PlanDoc{
		Text: doc.Text, Verify: []string{"grep -q beta a.txt"}, Base: "base-commit", Files: map[string]string{"a.txt": "", "new.txt": ""},
	}
	for name := range want.Files {
		hashes, err := b.hashes(t.Context(), []string{name})
		if err != nil {
			t.Fatal(err)
		}
		want.Files[name] = hashes[name]
	}
	if diff := cmp.Diff(want, doc); diff != "" || !strings.HasPrefix(doc.Text, "# Plan: THE-PLAN") {
		t.Errorf("the plan is %q\n%s", doc.Text, diff)
	}
	if n := len(b.of(plan.Plan, 1)); n != 2 {
		t.Errorf("the plan was asked for again: %d requests", n)
	}
}

package render

import (
	"encoding/json"
	"time"

	"github.com/plan-engine/plan"
)

const storyRun = plan.RunID("01JD3Q8Z7K4X2V5T9M0R6WYBNE")

// story tells a run event by event.
type story struct {
	events []plan.Event
	at     time.Time
	seq    int64
	phase  plan.Phase
	try    int
	conv   string
	turn   int
	calls  int
}

func newStory() *story {
	return &story{at: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), turn: -1}
}

// add appends events that happen at the same moment, d after the ones before.
func (s *story) add(d time.Duration, bodies ...plan.Body) {
	s.at = s.at.Add(d)
	for _, b := range bodies {
		e := plan.Event{Run: storyRun, Time: s.at, Phase: s.phase, Attempt: s.try, Conv: s.conv, Body: b}
		if s.turn >= 0 {
			turn := s.turn
			e.Turn = &turn
		}
		if !e.Live() {
			s.seq++
			e.Seq = s.seq
		}
		s.events = append(s.events, e)
	}
}

func (s *story) begin(phase plan.Phase, try int, conv, model string) {
	s.phase, s.try, s.conv, s.turn = phase, try, conv, -1
	s.add(0, plan.PhaseStart{Model: model}, plan.MessageStart{Role: plan.RoleUser}, plan.MessageEnd{Message: plan.UserText("What the phase must do.")})
}

func (s *story) end(d time.Duration, reason string) {
	s.turn = -1
	s.add(d, plan.PhaseEnd{Reason: reason})
}

func (s *story) ask() {
	s.turn++
	s.add(0, plan.TurnStart{Trigger: "user"}, plan.Request{Model: "gpt-5"}, plan.MessageStart{Role: plan.RoleAssistant})
}

// answer streams text in pieces and ends the message.
func (s *story) answer(d time.Duration, text string, u plan.Usage) {
	const piece = 7
	for i := 0; i < len(text); i += piece {
		s.add(0, plan.MessageUpdate{Kind: plan.BlockText, Text: text[i:min(i+piece, len(text))]})
	}
	m := plan.Message{Role: plan.RoleAssistant}
	if text != "" {
		m.Blocks = []plan.Block{{Type: plan.BlockText, Text: text}}
	}
	u.Requests = 1
	s.add(d, plan.MessageEnd{Message: m, Stop: "stop"},
		plan.UsageReport{Model: "gpt-5", Usage: u, CostUSD: float64(u.Tokens()) / 1e6, Priced: true})
}

// call runs a tool for d.
func (s *story) call(d time.Duration, name, args string, end plan.ToolEnd) {
	s.calls++
	id := "call_" + string(rune('a'+s.calls%26))
	s.add(0, plan.ToolStart{Call: id, Name: name, Args: json.RawMessage(args)})
	end.Call, end.Name, end.DurationMS = id, name, d.Milliseconds()
	s.add(d, end)
}

func (s *story) check(d time.Duration, r plan.CheckResult) {
	s.add(0, plan.CheckStart{Check: r.Check, Baseline: r.Baseline})
	s.add(d/2, plan.Progress{Text: "ok  \tcompiling\n"})
	r.DurationMS = d.Milliseconds()
	s.add(d/2, plan.CheckEnd{CheckResult: r})
}

func exitCode(n int) *int { return &n }

var (
	testCheck = plan.Check{Command: "go test ./...", Required: true, Source: plan.CheckFlag}
	vetCheck  = plan.Check{Command: "go vet ./...", Source: plan.CheckDetected}
)

// wholeStory is a run with a bit of everything: a retry, refused and failed
// calls, a broken check, gaps, a fix cycle, approval.
func wholeStory() *story {
	s := newStory()
	s.add(0, plan.RunStart{
		Request: "Add a --json flag to the report command.\nKeep the text output as it is.",
		Repo:    "/home/ada/src/shop", Base: "4f2c9d17aa01", Branch: "main", Dirty: true,
		Models: map[plan.Phase]string{plan.Explore: "gpt-5-mini", plan.Plan: "gpt-5", plan.Implement: "gpt-5", plan.Review: "gpt-5"},
	}, plan.Snapshot{Label: "start", Tree: "9ae0"}, plan.StateChange{To: plan.Exploring, Event: "explore"})
	s.tellExplore()
	s.tellPlan()
	s.tellImplement()
	s.tellReview()
	s.tellFix()
	return s
}

func (s *story) tellExplore() {
	s.begin(plan.Explore, 1, "c1", "gpt-5-mini")
	s.ask()
	s.answer(3*time.Second, "", plan.Usage{Input: 2100, Output: 60})
	s.call(12*time.Millisecond, "list_dir", `{"path":"internal","depth":2}`, plan.ToolEnd{Output: "report/"})
	s.call(31*time.Millisecond, "grep", `{"pattern":"func Report","path":"internal","glob":"*.go"}`, plan.ToolEnd{Output: "internal/report/report.go:12"})
	s.call(2*time.Millisecond, "read", `{"path":"internal/report/report.go","offset":1,"limit":80}`, plan.ToolEnd{Output: "package report"})
	s.call(1*time.Millisecond, "read", `{"path":"cmd/shop/main.go"}`, plan.ToolEnd{Output: "package main"})
	s.call(1*time.Millisecond, "read", `{"path":"cmd/shop"}`, plan.ToolEnd{Error: true, Output: "cmd/shop is a directory: use list_dir"})
	s.add(0, plan.TurnEnd{Reason: plan.EndCompleted})
	s.ask()
	s.answer(6*time.Second, "The report command lives in `internal/report`.\n\n- Report(w, rows) writes a table\n- flags are parsed in cmd/shop/main.go\n",
		plan.Usage{Input: 5200, Cached: 2048, Output: 310})
	s.end(0, plan.EndCompleted)
	s.add(0, plan.Report{Text: "The report command\nlives in internal/report.\n"}, plan.StateChange{From: plan.Exploring, To: plan.Planning, Event: "report"})
}

func (s *story) tellPlan() {
	s.begin(plan.Plan, 1, "c2", "gpt-5")
	s.ask()
	s.add(time.Second, plan.MessageUpdate{Kind: plan.BlockReasoning, Text: "hmm"}, plan.MessageUpdate{Kind: plan.BlockText, Text: "Steps: firs"})
	s.add(time.Second, plan.Retry{Attempt: 1, Reason: "the stream was cut off", WaitMS: 500})
	s.answer(9*time.Second, "1. Add `Options{JSON bool}` to Report.\n2. Add the flag and a test of its output, with the exact bytes that the command writes today kept as a golden file.\n",
		plan.Usage{Input: 3900, Cached: 1024, Output: 820, Reasoning: 400})
	s.end(0, plan.EndCompleted)
	s.add(0, plan.PlanMade{PlanDoc: plan.PlanDoc{
		Version: 1, Text: "1. Add\n2. Test\n", Verify: []string{"go test ./internal/report"},
		Files: map[string]string{"internal/report/report.go": "aa", "cmd/shop/main.go": "bb", "internal/report/json.go": ""},
	}}, plan.StateChange{From: plan.Planning, To: plan.Implementing, Event: "plan"})
	s.check(4200*time.Millisecond, plan.CheckResult{Check: testCheck, Baseline: true})
	s.check(900*time.Millisecond, plan.CheckResult{Check: vetCheck, Baseline: true, ExitCode: 2, Output: "# shop/old\nold/x.go:3:2: undefined: foo\n"})
}

func (s *story) tellImplement() {
	s.begin(plan.Implement, 1, "c3", "gpt-5")
	s.ask()
	s.answer(5*time.Second, "I add the option first.", plan.Usage{Input: 6100, Output: 900})
	s.call(4*time.Millisecond, "edit", `{"path":"internal/report/report.go","old_string":"a","new_string":"b"}`, plan.ToolEnd{Output: "edited"})
	s.call(3*time.Millisecond, "apply_patch", `{"patch":"*** Begin Patch\n*** Add File: internal/report/json.go\n+package report\n*** End Patch"}`, plan.ToolEnd{Output: "done"})
	s.call(0, "write", `{"path":".git/hooks/post-commit","content":"x"}`, plan.ToolEnd{Error: true, Status: "refused", Output: ".git is read-only here.\nWrite elsewhere."})
	s.call(8200*time.Millisecond, "bash", `{"command":"go test ./internal/report\necho done"}`, plan.ToolEnd{
		ExitCode: exitCode(1), Output: "--- FAIL: TestJSON (0.00s)\n    json_test.go:31: got \x1b[31m{}\x1b[0m\nFAIL\n",
	})
	s.call(1*time.Millisecond, "read", `{"path":"internal/report/missing.go"}`, plan.ToolEnd{Error: true, Output: "there is no file internal/report/missing.go"})
	s.add(0, plan.TurnEnd{Reason: plan.EndCompleted})
	s.ask()
	s.answer(4*time.Second, "The flag is in place.", plan.Usage{Input: 9800, Cached: 8192, Output: 240})
	s.end(0, plan.EndCompleted)
	s.add(0, plan.Snapshot{Label: "implement-1", Tree: "77d1"}, plan.StateChange{From: plan.Implementing, To: plan.Reviewing, Event: "built"})
	s.check(5100*time.Millisecond, plan.CheckResult{Check: testCheck, ExitCode: 1, Output: "--- FAIL: TestJSON (0.00s)\nFAIL\nFAIL\tshop/internal/report\t0.01s\n"})
	s.check(800*time.Millisecond, plan.CheckResult{Check: vetCheck})
}

func (s *story) tellReview() {
	s.begin(plan.Review, 1, "c4", "gpt-5")
	s.ask()
	s.answer(7*time.Second, "The test fails, so this is not done.\n\n```json\n{\"verdict\": \"NEEDS_FIX\"}\n```\n", plan.Usage{Input: 7000, Output: 500})
	s.end(0, plan.EndCompleted)
	s.add(0, plan.VerdictGiven{Judgement: plan.Judgement{
		Verdict: plan.NeedsFix, Why: "go test ./... passed before the change and fails now, and the flag is not documented in the README.",
		Checklist: []plan.ListItem{{Item: "flag", Met: true}, {Item: "test"}},
		Missing:   []plan.Missing{{Gap: "TestJSON fails", Severity: plan.SeverityMust}},
	}},
		plan.GapChange{Gap: plan.Gap{ID: "G1", Gap: "TestJSON fails", Severity: plan.SeverityMust, Status: plan.GapOpened}},
		plan.GapChange{Gap: plan.Gap{ID: "G2", Gap: "the README does not mention --json", Severity: plan.SeverityShould, Status: plan.GapOpened}},
		plan.StateChange{From: plan.Reviewing, To: plan.Implementing, Event: "fix", Why: "2 gaps are open"})
}

func (s *story) tellFix() {
	s.begin(plan.Implement, 2, "c3", "gpt-5")
	s.turn = 1
	s.ask()
	s.answer(3*time.Second, "", plan.Usage{Input: 11000, Cached: 9800, Output: 350})
	s.call(5*time.Millisecond, "edit", `{"path":"internal/report/json.go","old_string":"a","new_string":"b"}`, plan.ToolEnd{Output: "edited"})
	s.call(2*time.Minute+3*time.Second, "bash", `{"command":"go test ./..."}`, plan.ToolEnd{ExitCode: exitCode(0), Output: "ok"})
	s.end(time.Second, plan.EndCompleted)
	s.add(0, plan.StateChange{From: plan.Implementing, To: plan.Reviewing, Event: "built"})
	s.check(4900*time.Millisecond, plan.CheckResult{Check: testCheck})
	s.check(800*time.Millisecond, plan.CheckResult{Check: vetCheck})
	s.begin(plan.Review, 2, "c5", "gpt-5")
	s.ask()
	s.answer(8*time.Second, `{"verdict": "DONE"}`, plan.Usage{Input: 7400, Cached: 1024, Output: 480})
	s.end(0, plan.EndCompleted)
	why := "Every requirement is met, and go test ./... ended with 0 in this review."
	s.add(0, plan.VerdictGiven{Judgement: plan.Judgement{
		Verdict: plan.Done, Approved: true, Why: why,
		Checklist: []plan.ListItem{{Item: "flag", Met: true}, {Item: "test", Met: true}},
		Commands:  []plan.RanCommand{{Command: "go test ./..."}},
	}},
		plan.GapChange{Gap: plan.Gap{ID: "G1", Gap: "TestJSON fails", Severity: plan.SeverityMust, Status: plan.GapClosed}},
		plan.GapChange{Gap: plan.Gap{ID: "G2", Gap: "the README does not mention --json", Severity: plan.SeverityShould, Status: plan.GapClosed}},
		plan.StateChange{From: plan.Reviewing, To: plan.Approved, Event: "approve", Why: why})
	s.phase, s.try, s.conv, s.turn = "", 0, "", -1
	s.add(0, plan.RunEnd{
		Outcome: plan.Approved, Why: why, Priced: true, CostUSD: 0.0541,
		Usage: plan.Usage{Requests: 8, Input: 52500, Cached: 22088, Output: 3660, Reasoning: 400},
		Diff:  plan.DiffStat{Files: 3, Insertions: 48, Deletions: 12},
	})
}

package plan_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 800_000_000, time.UTC)

// bodies has one body of every type, with every field set that changes the
// JSON form.
func bodies() []plan.Body {
	code, wake := 2, at.Add(time.Minute)
	usage := plan.Usage{Requests: 1, Input: 20, Cached: 10, Output: 5, Reasoning: 2}
	check := plan.Check{Command: "go test ./... 2>&1 | tail", Required: true, Source: plan.CheckFlag}
	said := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
		{Type: plan.BlockReasoning, Text: "hm", Opaque: json.RawMessage(`{"sig":"a==","n":1.50}`)},
		{Type: plan.BlockText, Text: "a < b && \"c\"\n\u2028"},
		{Type: plan.BlockToolCall, Call: "k1", Name: "read", Args: `{"path": "a.go"`},
		{Type: plan.BlockToolResult, Call: "k1", Name: "read", Text: "no", Error: true, Blob: "ab"},
		{Type: plan.BlockImage, MIME: "image/png", Data: "AAAA"},
		{Type: plan.BlockExtension, Kind: "x", Opaque: json.RawMessage(`[1]`)},
	}}
	return []plan.Body{
		plan.RunStart{
			Request: "r", Repo: "/r", Base: "b", Branch: "main", Snapshot: "t", Dirty: true,
			Models: map[plan.Phase]string{plan.Plan: "m", plan.Explore: "n"}, Config: json.RawMessage(`{"a":1}`),
			Kit: "k", Context: "c", Version: "v",
		},
		plan.RunEnd{Outcome: plan.Approved, ExitCode: 0, Why: "w", Usage: usage, CostUSD: 0.25, Priced: true, Diff: plan.DiffStat{Files: 1, Insertions: 2, Deletions: 3}},
		plan.StateChange{From: plan.Reviewing, To: plan.Implementing, Event: "fix", Why: "w"},
		plan.PhaseStart{Model: "m", Tools: []string{"read"}, Resumed: true},
		plan.PhaseEnd{Reason: plan.EndParked},
		plan.TurnStart{Trigger: "user"},
		plan.TurnEnd{Reason: plan.EndCompleted},
		plan.MessageStart{Role: plan.RoleUser},
		plan.MessageUpdate{Kind: plan.BlockToolCall, Call: "k1", Name: "read", Text: "{"},
		plan.MessageEnd{Message: said, Stop: "stop", Model: "m", Discarded: true},
		plan.ToolStart{Call: "k1", Name: "edit", Args: json.RawMessage(`{"path":"a.go"}`), Effect: plan.EffectVerifiable, Intent: &plan.Intent{
			Key: "k", Output: "edited a.go", Files: []plan.FileChange{{Path: "a.go", Target: "b.go", Before: "1", After: "2", Mode: "0755"}},
		}},
		plan.ToolUpdate{Call: "k1", Name: "bash", Text: "out"},
		plan.ToolEnd{
			Call: "k1", Name: "bash", Error: true, Output: "o", DurationMS: 5, Blob: "ab", ExitCode: &code,
			Files: map[string]string{"b": "", "a": "h"}, Status: "timeout",
		},
		plan.Request{Model: "m", Messages: 2, Prefix: "p", Hash: "h", Moved: "messages"},
		plan.Retry{Attempt: 1, Reason: "r", WaitMS: 500, Status: 429},
		plan.LimitHit{Kind: "turns", Value: 3, Max: 3},
		plan.Adjusted{Model: "m", Part: "reasoning_effort", From: "high", To: "medium", Why: "w"},
		plan.Route{For: "review", Model: "a/m", Asked: "@cheap", Why: "w"},
		plan.UsageReport{Model: "m", Usage: usage, CostUSD: 0.5, Priced: true},
		plan.Report{Text: "t"},
		plan.PlanMade{PlanDoc: plan.PlanDoc{Version: 1, Text: "t", Files: map[string]string{"a": "h"}, Verify: []string{"v"}, Base: "b"}},
		plan.Snapshot{Label: "start", Tree: "t", Ref: "refs/plan/R/start"},
		plan.CheckStart{Check: check, Baseline: true},
		plan.CheckEnd{CheckResult: plan.CheckResult{Check: check, ExitCode: 124, Baseline: true, DurationMS: 1, Output: "o", Blob: "b", TimedOut: true, Cancelled: true}},
		plan.VerdictGiven{Judgement: plan.Judgement{
			Verdict: plan.Done, Approved: true, Why: "w", Checklist: []plan.ListItem{{Item: "i", Met: true, Evidence: "e"}},
			Missing: []plan.Missing{{ID: "G1", Gap: "g", Severity: plan.SeverityMust}}, Commands: []plan.RanCommand{{Command: "c", ExitCode: 1}},
		}},
		plan.GapChange{Gap: plan.Gap{ID: "G1", Gap: "g", Severity: plan.SeverityShould, Status: plan.GapReopened}},
		plan.Parked{Reason: plan.ParkRateLimit, WakeAt: &wake, Detail: "d", Waiting: []plan.WaitingCall{
			{Call: "k1", Name: "ask", Args: json.RawMessage(`{"question":"q"}`), Why: "w", Question: "q", Options: []string{"o"}},
		}},
		plan.Unparked{Reason: plan.ParkRateLimit},
		plan.Drift{
			Files: []string{"a.go"}, Total: 1, Planned: []string{"a.go"}, From: "t1", Tree: "t2", Base: "c1", Head: "c2",
			Choice: plan.DriftAccepted, Plan: 1,
		},
		plan.SettingsChanged{Changed: []string{"max_turns: 1 → 2"}, Config: json.RawMessage(`{"max_turns":2}`), Models: map[plan.Phase]string{plan.Plan: "m"}},
		plan.Progress{Text: "t"},
		plan.Failure{Error: "e", Hint: "h"},

		plan.Steering{Text: "t", Letter: 1},
		plan.FollowUp{Text: "t", Letter: 2},
		plan.Filtered{Action: "reject", Why: "w", Text: "t", Letter: 3},
		plan.StormBroken{Calls: []string{"k1"}, Action: "reflect"},
		plan.Pruned{Calls: []string{"k1"}, Tokens: 7, Memo: "m"},
		plan.CompactionStart{Level: "safe", Tokens: 9, Window: 10},
		plan.CompactionEnd{Level: "safe", Before: 9, After: 4, Messages: []plan.Message{said}, Error: "e"},
		plan.ApprovalRequired{Call: "k1", Name: "bash", Args: json.RawMessage(`{"command":"ls"}`), Why: "w", Rule: "r", Effect: "e", Grant: plan.Grant{Tool: "bash", Path: "p", Command: "ls"}},
		plan.ApprovalResolved{Call: "k1", Approved: true, Reason: "r", By: "person", Rule: "r", Scope: plan.ScopeRun, Grant: plan.Grant{Tool: "bash"}, Letter: 4},
		plan.HookRan{Event: "post_tool_use", Command: "c", Tool: "bash", Call: "k1", Action: "failed", ExitCode: 1, Output: "o", Error: "e", DurationMS: 2},
		plan.Question{Call: "k1", Question: "q", Options: []string{"o"}},
		plan.FindingMade{Finding: plan.Finding{Kind: plan.FindScope, Path: "p", Text: "t", Reason: "r", Answer: true}},
		plan.Critiqued{Version: 1, Findings: "f", Error: "e"},
		plan.Answered{Call: "k1", Text: "t", By: "person", Letter: 5},
		plan.Recall{Terms: []string{"sum"}, Facts: []plan.Recalled{{ID: 1, Text: "sums live in calc.go", Score: 3.5}}, Withheld: []plan.WithheldFact{{ID: 2, Score: 1, Why: "score"}}, Style: "briefly"},
		plan.SkillPick{Skill: "tidy", Why: plan.PickSampled, Version: "d1", Candidates: []plan.SkillCandidate{{Skill: "tidy", Relevance: 2, Alpha: 3, Beta: 1, Draw: 0.8}}, Index: "- tidy: Tidies", Hint: "it may help"},
		plan.SkillOutcome{Skill: "tidy", Phase: plan.Implement, Reward: 0.5, Why: "approved"},
		plan.SkillDraft{Name: "tidy", Signature: "tidy", Revision: 1, Digest: "d1", Runs: []plan.RunID{"r1"}},
	}
}

// declaredTypes reads the names of the event types out of this package's
// source, so that a type without a sample above cannot go unnoticed.
func declaredTypes(t *testing.T) []plan.EventType {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var out []plan.EventType
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "EventType" {
				return true
			}
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, plan.EventType(value))
			return true
		})
	}
	return out
}

func TestEveryBodyGoesThroughTheJournalUnchanged(t *testing.T) {
	t.Parallel()
	turn := 3
	var seen []plan.EventType
	for _, body := range bodies() {
		seen = append(seen, body.Type())
		t.Run(string(body.Type()), func(t *testing.T) {
			t.Parallel()
			want := plan.Event{
				Run: "R1", Seq: 12, Time: at, Job: "j", Conv: "c3", Parent: "c1",
				Phase: plan.Implement, Attempt: 2, Turn: &turn, Body: body,
			}
			line, err := want.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			var got plan.Event
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatal(err)
			}
			if _, unknown := got.Body.(plan.Unknown); unknown {
				t.Fatal("its type cannot be read back")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-written +read):\n%s", diff)
			}
			if strings.ContainsAny(string(line), "\n\r") {
				t.Errorf("more than one line: %q", line)
			}
			// encoding/json escapes more; what it says must be the same.
			std, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, line), decode(t, std)); diff != "" {
				t.Errorf("json.Marshal says something else:\n%s", diff)
			}
		})
	}
	declared := declaredTypes(t)
	if len(declared) < 30 {
		t.Fatalf("found only %d event types in the source", len(declared))
	}
	slices.Sort(declared)
	slices.Sort(seen)
	if diff := cmp.Diff(declared, seen); diff != "" {
		t.Errorf("types without a sample, or samples without a type (-declared +sampled):\n%s", diff)
	}
}

// TestEveryBodyIsReadTheShortWay: what is written is read without a second look
// at it. A type that cannot be would be read slowly, and nobody would notice.
func TestEveryBodyIsReadTheShortWay(t *testing.T) {
	t.Parallel()
	for _, body := range bodies() {
		data, err := plan.MarshalCompact(body)
		if err != nil {
			t.Fatal(err)
		}
		if !plan.Scans(string(data), body) {
			t.Errorf("%s is not: %s", body.Type(), data)
		}
	}
}

func decode(t *testing.T, line []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	zero := 0
	for _, c := range []struct {
		name string
		ev   plan.Event
		want string
	}{
		{
			"everything",
			plan.Event{
				Run: "R1", Seq: 12, Time: at.In(time.FixedZone("", 3600)), Job: "j1", Conv: "c3", Parent: "c1",
				Phase: plan.Explore, Attempt: 1, Turn: &zero, Body: plan.TurnStart{Trigger: "user"},
			},
			`{"v":1,"run":"R1","seq":12,"time":"2026-03-04T05:06:07.8Z","job":"j1","conv":"c3","parent":"c1","phase":"explore","attempt":1,"turn":0,"type":"turn_start","data":{"trigger":"user"}}`,
		},
		{
			"empty fields are left out, a live event has no seq",
			plan.Event{Run: "R1", Time: at, Body: plan.Progress{Text: "a<b>&c"}},
			`{"v":1,"run":"R1","time":"2026-03-04T05:06:07.8Z","type":"progress","data":{"text":"a<b>&c"}}`,
		},
		{
			"what readers rely on is there even when it is zero",
			plan.Event{Run: "R1", Seq: 1, Time: at, Body: plan.ToolEnd{Call: "k", Name: "read"}},
			`{"v":1,"run":"R1","seq":1,"time":"2026-03-04T05:06:07.8Z","type":"tool_end","data":{"call":"k","name":"read","error":false,"output":"","duration_ms":0}}`,
		},
		{
			"blobs are not part of it",
			plan.Event{Run: "R1", Seq: 1, Time: at, Body: plan.Report{Text: "x"}, Blobs: []plan.Blob{plan.NewBlob([]byte("secret"))}},
			`{"v":1,"run":"R1","seq":1,"time":"2026-03-04T05:06:07.8Z","type":"report","data":{"text":"x"}}`,
		},
		{
			"an approval",
			plan.Event{Run: "R1", Seq: 9, Time: at, Body: plan.RunEnd{Outcome: plan.Approved}},
			`{"v":1,"run":"R1","seq":9,"time":"2026-03-04T05:06:07.8Z","type":"run_end","data":{"outcome":"approved","exit_code":0,"usage":{"requests":0,"input":0,"cached":0,"output":0},"cost_usd":0,"priced":false,"diff":{"files":0,"insertions":0,"deletions":0},"checks":{"failed":0}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.ev.AppendJSON([]byte("before "))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("before "+c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFieldsReliedOn holds the contract on the names that programs read.
func TestFieldsReliedOn(t *testing.T) {
	t.Parallel()
	want := map[plan.EventType][]string{
		plan.TypeToolStart: {"call", "name", "args"}, plan.TypeToolEnd: {"call", "name", "error", "output", "duration_ms"},
		plan.TypeMessageEnd: {"role", "blocks"}, plan.TypeCheckEnd: {"command", "exit_code", "baseline", "required"},
		plan.TypeVerdict: {"verdict", "approved", "why", "missing", "commands"}, plan.TypeParked: {"reason", "wake_at"},
		plan.TypeRunEnd: {"outcome", "exit_code", "usage", "cost_usd", "diff"},
	}
	for _, body := range bodies() {
		line, err := plan.MarshalCompact(body)
		if err != nil {
			t.Fatal(err)
		}
		data, ok := decode(t, line).(map[string]any)
		if !ok {
			t.Fatalf("%s is no object: %s", body.Type(), line)
		}
		for _, field := range want[body.Type()] {
			if _, ok := data[field]; !ok {
				t.Errorf("%s has no %s: %s", body.Type(), field, line)
			}
		}
		delete(want, body.Type())
	}
	if len(want) > 0 {
		t.Errorf("no sample of %v", want)
	}
}

func TestUnknownTypesAreKept(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"z":1,"a":1.500,"a":2,"big":123456789012345678901234567890,"e":1e400,"s":"<\u0041>\u2028"}`,
		`[1,[],{}]`, `"text"`, `null`, `true`, `-0`,
	} {
		line := `{"v":1,"run":"R1","seq":7,"time":"2026-03-04T05:06:07.8Z","conv":"c1","turn":0,"type":"weather","data":` + data + `}`
		var ev plan.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if ev.Type() != "weather" || ev.Live() {
			t.Errorf("%s: type %q, live %v", data, ev.Type(), ev.Live())
		}
		got, err := ev.AppendJSON(nil)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(line, string(got)); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
	}
}

func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{"newer", `{"v":2,"run":"R1","seq":1,"time":"2026-03-04T05:06:07Z","type":"report","data":{"text":"x"}}`, "envelope version 2 is newer than 1"},
		{"newer and unknown", `{"v":99,"run":"R1","time":"2026-03-04T05:06:07Z","type":"weather","data":{}}`, "envelope version 99"},
		{"no type", `{"v":1,"run":"R1","time":"2026-03-04T05:06:07Z","data":{}}`, "no type"},
		{"no data", `{"v":1,"run":"R1","time":"2026-03-04T05:06:07Z","type":"weather"}`, "decode weather event: no data"},
		{"wrong data", `{"v":1,"run":"R1","time":"2026-03-04T05:06:07Z","type":"report","data":{"text":5}}`, "decode report event"},
		{"no time", `{"v":1,"run":"R1","time":"yesterday","type":"report","data":{}}`, "yesterday"},
		{"a year that cannot be written", `{"v":1,"run":"R1","time":"9999-12-31T23:59:59-23:00","type":"report","data":{}}`, "year 10000"},
		{"cut", `{"v":1,"run":"R1","ti`, "unexpected end"},
		{"no object", `[]`, "cannot unmarshal array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kept := plan.Event{Run: "kept"}
			err := json.Unmarshal([]byte(c.line), &kept)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if kept.Run != "kept" || kept.Body != nil {
				t.Errorf("a failed decode changed the event: %+v", kept)
			}
		})
	}
	if _, err := (plan.Event{Run: "R1"}).AppendJSON(nil); err == nil || !strings.Contains(err.Error(), "no body") {
		t.Errorf("an event without a body: %v", err)
	}
}

func TestLiveEvents(t *testing.T) {
	t.Parallel()
	var live []plan.EventType
	for _, body := range bodies() {
		if (plan.Event{Body: body}).Live() {
			live = append(live, body.Type())
		}
	}
	want := []plan.EventType{plan.TypeMessageUpdate, plan.TypeToolUpdate, plan.TypeProgress}
	if diff := cmp.Diff(want, live); diff != "" {
		t.Error(diff)
	}
	if (plan.Event{}).Live() || (plan.Event{}).Type() != "" {
		t.Error("an event without a body is taken for one")
	}
}

// FuzzEvent: whatever can be read can be written, and then says the same for
// ever.
func FuzzEvent(f *testing.F) {
	for _, body := range append(bodies(), plan.Unknown{Kind: "weather", Raw: json.RawMessage(`{"a":[1]}`)}) {
		line, err := (plan.Event{Run: "R1", Seq: 1, Time: at, Phase: plan.Plan, Body: body}).AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"v":1,"run":"R1","time":"9999-12-31T23:59:59-23:00","type":"x","data":null}`))
	f.Add([]byte(`{"type":"tool_start","data":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var first plan.Event
		if json.Unmarshal(line, &first) != nil {
			return
		}
		once, err := first.AppendJSON(nil)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", line, err)
		}
		var second plan.Event
		if err := json.Unmarshal(once, &second); err != nil {
			t.Fatalf("%q was written and cannot be read: %v", once, err)
		}
		twice, err := second.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(once) != string(twice) {
			t.Fatalf("it changes:\n%s\n%s", once, twice)
		}
	})
}

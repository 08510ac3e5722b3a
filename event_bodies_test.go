package plan_test

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/plan-engine/plan"
)

// bodies has one body of every type with every field set, and more of those
// whose fields hold something in particular.
func bodies() []plan.Body { return append(fullBodies(), sampleBodies()...) }

// fullBodies has a body of every type, with a value in every field.
func fullBodies() []plan.Body {
	var out []plan.Body
	for _, name := range plan.EventTypes() {
		zero, err := plan.DecodeBody(name, "{}")
		if err != nil {
			panic(err)
		}
		body := reflect.New(reflect.TypeOf(zero)).Elem()
		fill(body)
		out = append(out, body.Interface().(plan.Body))
	}
	return out
}

// fill sets all that the JSON form of a value has.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(at))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a":[1,"b"]}`)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("s")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	default:
		panic("no value for a field of type " + v.Type().String())
	}
}

// sampleBodies has bodies whose fields hold what a journal may hold.
func sampleBodies() []plan.Body {
	code, wake := 2, at.Add(time.Minute)
	usage := plan.Usage{
		Requests:  1,
		Input:     20,
		Cached:    10,
		Output:    5,
		Reasoning: 2,
	}
	check := plan.Check{
		Command:  "go test ./... 2>&1 | tail",
		Required: true,
		Source:   plan.CheckFlag,
	}
	said := plan.Message{
		Role: plan.RoleAssistant,
		Blocks: []plan.Block{
			{Type: plan.BlockReasoning, Text: "hm", Opaque: json.RawMessage(`{"sig":"a==","n":1.50}`)},
			{Type: plan.BlockText, Text: "a < b && \"c\"\n\u2028"},
			{Type: plan.BlockToolCall, Call: "k1", Name: "read", Args: `{"path": "a.go"`},
			{
				Type:  plan.BlockToolResult,
				Call:  "k1",
				Name:  "read",
				Text:  "no",
				Error: true,
				Blob:  "ab",
			},
			{Type: plan.BlockImage, MIME: "image/png", Data: "AAAA"},
			{Type: plan.BlockExtension, Kind: "x", Opaque: json.RawMessage(`[1]`)},
		},
	}
	return []plan.Body{
		plan.RunStart{
			Request:   "r",
			Aim:       plan.AimAsk,
			Continues: "01",
			Repo:      "/r",
			Base:      "b",
			Branch:    "main",
			Snapshot:  "t",
			Dirty:     true,
			Models:    map[plan.Phase]string{plan.Plan: "m", plan.Explore: "n"},
			Config:    json.RawMessage(`{"a":1}`),
			Kit:       "k",
			Context:   "c",
			Version:   "v",
		},
		plan.RunEnd{
			Outcome:  plan.Approved,
			ExitCode: 0,
			Why:      "w",
			Usage:    usage,
			CostUSD:  0.25,
			Priced:   true,
			Diff: plan.DiffStat{
				Files:      1,
				Insertions: 2,
				Deletions:  3,
			},
		},
		plan.StateChange{
			From:  plan.Reviewing,
			To:    plan.Implementing,
			Event: "fix",
			Why:   "w",
		},
		plan.PhaseStart{
			Model:   "m",
			Tools:   []string{"read"},
			Resumed: true,
		},
		plan.PhaseEnd{Reason: plan.EndParked},
		plan.TurnStart{Trigger: "user"},
		plan.ConvStart{Model: "m", Messages: 3},
		plan.ConvEnd{
			Reason:  "completed",
			Turns:   2,
			Usage:   plan.Usage{Requests: 2, Input: 3},
			CostUSD: 0.5,
		},
		plan.TurnEnd{Reason: plan.EndCompleted},
		plan.MessageStart{Role: plan.RoleUser},
		plan.MessageUpdate{
			Kind: plan.BlockToolCall,
			Call: "k1",
			Name: "read",
			Text: "{",
		},
		plan.MessageEnd{
			Message:   said,
			Stop:      "stop",
			Model:     "m",
			Discarded: true,
		},
		plan.ToolStart{
			Call:   "k1",
			Name:   "edit",
			Args:   json.RawMessage(`{"path":"a.go"}`),
			Effect: plan.EffectVerifiable,
			Intent: &plan.Intent{
				Key:    "k",
				Output: "edited a.go",
				Files: []plan.FileChange{{
					Path:   "a.go",
					Target: "b.go",
					Before: "1",
					After:  "2",
					Mode:   "0755",
				}},
			},
		},
		plan.ToolUpdate{
			Call: "k1",
			Name: "bash",
			Text: "out",
		},
		plan.ToolEnd{
			Call:       "k1",
			Name:       "bash",
			Error:      true,
			Output:     "o",
			DurationMS: 5,
			Blob:       "ab",
			ExitCode:   &code,
			Files:      map[string]string{"b": "", "a": "h"},
			Status:     "timeout",
		},
		plan.Request{
			Model:    "m",
			Messages: 2,
			Prefix:   "p",
			Hash:     "h",
			Moved:    "messages",
			Parts:    []plan.Part{{Kind: "result", Tool: "read", Bytes: 9, Again: 4}},
			Whole:    true,
		},
		plan.Retry{
			Attempt: 1,
			Reason:  "r",
			WaitMS:  500,
			Status:  429,
		},
		plan.LimitHit{
			Kind:  "turns",
			Value: 3,
			Max:   3,
		},
		plan.Adjusted{
			Model: "m",
			Part:  "reasoning_effort",
			From:  "high",
			To:    "medium",
			Why:   "w",
		},
		plan.Route{
			For:   "review",
			Model: "a/m",
			Asked: "@cheap",
			Why:   "w",
		},
		plan.UsageReport{
			Model:   "m",
			Usage:   usage,
			CostUSD: 0.5,
			Priced:  true,
		},
		plan.Report{Text: "t"},
		plan.PlanMade{PlanDoc: plan.PlanDoc{
			Version: 1,
			Text:    "t",
			Files:   map[string]string{"a": "h"},
			Verify:  []string{"v"},
			Base:    "b",
		}},
		plan.Snapshot{
			Label: "start",
			Tree:  "t",
			Ref:   "refs/plan/R/start",

			LeftOut: []string{"large"},
		},
		plan.CheckStart{Check: check, Baseline: true},
		plan.CheckEnd{CheckResult: plan.CheckResult{
			Check:      check,
			ExitCode:   124,
			Baseline:   true,
			DurationMS: 1,
			Output:     "o",
			Blob:       "b",
			TimedOut:   true,
			Cancelled:  true,
		}},
		plan.VerdictGiven{Judgement: plan.Judgement{
			Verdict:   plan.Done,
			Approved:  true,
			Why:       "w",
			Checklist: []plan.ListItem{{Item: "i", Met: true, Evidence: "e"}},
			Missing:   []plan.Missing{{ID: "G1", Gap: "g", Severity: plan.SeverityMust}},
			Commands:  []plan.RanCommand{{Command: "c", ExitCode: 1}},
		}},
		plan.GapChange{Gap: plan.Gap{
			ID:       "G1",
			Gap:      "g",
			Severity: plan.SeverityShould,
			Status:   plan.GapReopened,
		}},
		plan.Parked{
			Reason: plan.ParkRateLimit,
			WakeAt: &wake,
			Detail: "d",
			Waiting: []plan.WaitingCall{
				{
					Call:     "k1",
					Name:     "ask",
					Args:     json.RawMessage(`{"question":"q"}`),
					Why:      "w",
					Question: "q",
					Options:  []string{"o"},
				},
			},
		},
		plan.Unparked{Reason: plan.ParkRateLimit},
		plan.Drift{
			Files:   []string{"a.go"},
			Total:   1,
			Planned: []string{"a.go"},
			From:    "t1",
			Tree:    "t2",
			Base:    "c1",
			Head:    "c2",
			Choice:  plan.DriftAccepted,
			Plan:    1,
		},
		plan.SettingsChanged{
			Changed: []string{"max_turns: 1 → 2"},
			Config:  json.RawMessage(`{"max_turns":2}`),
			Models:  map[plan.Phase]string{plan.Plan: "m"},
		},
		plan.Progress{Text: "t"},
		plan.Failure{Error: "e", Hint: "h"},

		plan.Steering{Text: "t", Letter: 1},
		plan.FollowUp{Text: "t", Letter: 2},
		plan.Filtered{
			Action: "reject",
			Why:    "w",
			Text:   "t",
			Letter: 3,
		},
		plan.StormBroken{Calls: []string{"k1"}, Action: "reflect"},
		plan.Pruned{
			Calls:  []string{"k1"},
			Tokens: 7,
			Memo:   "m",
		},
		plan.CompactionStart{
			Level:  "safe",
			Tokens: 9,
			Window: 10,
		},
		plan.CompactionEnd{
			Level:    "safe",
			Before:   9,
			After:    4,
			Messages: []plan.Message{said},
			Error:    "e",
		},
		plan.ApprovalRequired{
			Call:    "k1",
			Name:    "bash",
			Args:    json.RawMessage(`{"command":"ls"}`),
			Why:     "w",
			Version: 1,
			Shown:   "s",
			Digest:  "d",
			Rule:    "r",
			Effect:  "e",
			Grant: plan.Grant{
				Tool:    "bash",
				Path:    "p",
				Command: "ls",
			},
		},
		plan.ApprovalResolved{
			Call:     "k1",
			Approved: true,
			Reason:   "r",
			By:       "person",
			Rule:     "r",
			Scope:    plan.ScopeRun,
			Grant:    plan.Grant{Tool: "bash"},
			Letter:   4,
		},
		plan.HookRan{
			Event:      "post_tool_use",
			Command:    "c",
			Tool:       "bash",
			Call:       "k1",
			Action:     "failed",
			ExitCode:   1,
			Output:     "o",
			Error:      "e",
			DurationMS: 2,
		},
		plan.Question{
			Call:     "k1",
			Question: "q",
			Options:  []string{"o"},
		},
		plan.FindingMade{Finding: plan.Finding{
			Kind:   plan.FindScope,
			Path:   "p",
			Text:   "t",
			Reason: "r",
			Answer: true,
		}},
		plan.Critiqued{
			Version:  1,
			Findings: "f",
			Error:    "e",
		},
		plan.Answered{
			Call:   "k1",
			Text:   "t",
			By:     "person",
			Letter: 5,
		},
		plan.Recall{
			Terms:    []string{"sum"},
			Facts:    []plan.Recalled{{ID: 1, Text: "sums live in calc.go", Score: 3.5}},
			Withheld: []plan.WithheldFact{{ID: 2, Score: 1, Why: "score"}},
			Style:    "briefly",
		},
		plan.SkillPick{
			Skill:   "tidy",
			Why:     plan.PickSampled,
			Version: "d1",
			Candidates: []plan.SkillCandidate{{
				Skill:     "tidy",
				Relevance: 2,
				Alpha:     3,
				Beta:      1,
				Draw:      0.8,
			}},
			Index: "- tidy: Tidies",
			Hint:  "it may help",
		},
		plan.SkillOutcome{
			Skill:  "tidy",
			Phase:  plan.Implement,
			Reward: 0.5,
			Why:    "approved",
		},
		plan.SkillDraft{
			Name:      "tidy",
			Signature: "tidy",
			Revision:  1,
			Digest:    "d1",
			Runs:      []plan.RunID{"r1"},
		},
	}
}

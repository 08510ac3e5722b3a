package render

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/costs"
)

// unsafeIn returns what of s could act on a terminal; s may hold newlines and
// tabs.
func unsafeIn(s string) string {
	if !utf8.ValidString(s) {
		return "invalid UTF-8"
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r)) &&
			r != 0x200c && r != 0x200d { // joiners stay where they join
			return string(r)
		}
	}
	return ""
}

// nasty holds everything that must not reach a terminal, and a long tail.
const nasty = "n\x1b[2J\x1b]0;t\x07\x1b\x07\r\x00\x7f\u0085\u009b31m\u202e\u2066\u200b\ufeff\U000e0041\u2028x\u200dy\xff\nmore \x1b[31m" + "漢字 and words that go on and on for a while"

// spoil puts nasty text into every string of v.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.String() == "" || v.Type() == reflect.TypeFor[string]() {
			v.SetString(nasty)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type() != reflect.TypeFor[time.Time]() {
				spoil(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			args, _ := json.Marshal(map[string]string{"path": nasty, "command": nasty, "pattern": nasty, nasty: nasty})
			v.SetBytes(args)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[plan.Phase]string]() {
			v.Set(reflect.ValueOf(map[plan.Phase]string{plan.Explore: nasty, plan.Plan: nasty + "x"}))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		spoil(v.Elem())
	}
}

// nastyEvents is one event of every type, with nasty text wherever there is
// text.
func nastyEvents(t *testing.T) []plan.Event {
	t.Helper()
	bodies := []plan.Body{
		&plan.RunStart{}, &plan.PhaseStart{}, &plan.TurnStart{}, &plan.Request{}, &plan.MessageUpdate{}, &plan.MessageUpdate{Kind: plan.BlockText},
		&plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant}}, &plan.MessageUpdate{Kind: plan.BlockText}, &plan.Retry{},
		&plan.ToolStart{}, &plan.ToolUpdate{}, &plan.ToolEnd{Error: true}, &plan.LimitHit{}, &plan.UsageReport{}, &plan.Report{}, &plan.PlanMade{},
		&plan.Snapshot{}, &plan.CheckStart{}, &plan.Progress{}, &plan.CheckEnd{CheckResult: plan.CheckResult{ExitCode: 3}}, &plan.VerdictGiven{},
		&plan.GapChange{}, &plan.PhaseEnd{}, &plan.StateChange{}, &plan.Parked{}, &plan.Unparked{}, &plan.Failure{},
		&plan.Adjusted{}, &plan.Adjusted{Part: plan.PartContext}, &plan.Route{}, &plan.CompactionStart{}, &plan.RunEnd{},
	}
	events := make([]plan.Event, 0, len(bodies))
	for i, b := range bodies {
		v := reflect.ValueOf(b).Elem()
		spoil(v)
		body, ok := v.Interface().(plan.Body)
		if !ok {
			t.Fatalf("%T is not a body", v.Interface())
		}
		e := plan.Event{Run: nasty, Seq: int64(i), Conv: "c", Phase: nasty, Body: body}
		if m, ok := body.(plan.MessageEnd); ok {
			m.Discarded = false
			for j := range m.Blocks {
				m.Blocks[j].Type = plan.BlockText
			}
			e.Body = m
		}
		events = append(events, e)
	}
	return events
}

func TestNothingNastyReachesATerminal(t *testing.T) {
	t.Parallel()
	events := nastyEvents(t)
	for _, opts := range []Options{{}, {Verbose: true}, {ASCII: true}, {Color: true, Verbose: true}} {
		var plain, timeline, sheet strings.Builder
		showAll(NewPlain(&plain, opts), events)
		if err := WriteTimeline(&timeline, eventSeq(events, nil), opts); err != nil {
			t.Fatal(err)
		}
		WriteSummary(&sheet, tallyOf(events), opts)
		var spent costs.Costs
		for _, e := range events {
			spent.Add(e)
		}
		var money strings.Builder
		if err := WriteCosts(&money, &spent, opts); err != nil {
			t.Fatal(err)
		}
		vt := newTerminal(t, 80) // it fails the test when it sees a control character
		v := NewScreen(vt, opts)
		showAll(v, events)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		for name, out := range map[string]string{
			"plain":    plain.String(),
			"timeline": timeline.String(),
			"summary":  sheet.String(),
			"costs":    money.String(),
			"screen":   vt.text(),
		} {
			if opts.Color { // colours are ours, and only ours
				for _, k := range []Ink{"0", InkBold, InkDim, InkRed, InkGreen, InkYellow, InkCyan} {
					out = strings.ReplaceAll(out, "\x1b["+string(k)+"m", "")
				}
			}
			if bad := unsafeIn(out); bad != "" {
				t.Errorf("%s with %+v lets %q through:\n%q", name, opts, bad, out)
			}
			if opts.ASCII && strings.ContainsFunc(out, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("%s is not ASCII:\n%s", name, out)
			}
			if !strings.Contains(out, "n^[^G") {
				t.Errorf("%s does not show the text at all", name)
			}
		}
	}
}

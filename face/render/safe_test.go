package render

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plan-engine/plan"
)

func TestSanitizeText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"text stays":            {"a\n\tb é 漢 ✓", "a\n\tb é 漢 ✓"},
		"colours vanish":        {"\x1b[1;31mred\x1b[0m", "red"},
		"cursor moves vanish":   {"a\x1b[2Jb\x1b[10;10Hc\x1b[?25l", "abc"},
		"C1 CSI vanishes":       {"a\u009b31mb", "ab"},
		"a title vanishes":      {"a\x1b]0;owned\x07b\x1b]2;x\x1b\\c\u009d0;y\u009cd", "abcd"},
		"a link keeps its text": {"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		"DCS and APC vanish":    {"a\x1bPq#0\x1b\\b\x1b_x\x1b\\c", "abc"},
		"charset and reset":     {"a\x1b(0b\x1bcc", "abc"},
		"an endless OSC shows":  {"a\x1b]0;text\nnext", "a^[]0;text\nnext"},
		"an OSC inside an OSC":  {"\x1b]0;a\x1b]0;b\x07c", "^[]0;ac"},
		"a lone ESC shows":      {"a\x1b", "a^["},
		"a cut CSI shows":       {"a\x1b[31", "a^[[31"},
		"nested sequences":      {"\x1b\x1b[31m[2J", "^[[2J"},
		"controls show":         {"\x00\x07\x08\x7f", "^@^G^H^?"},
		"C1 controls show":      {"\u0085\u0080", "<U+0085><U+0080>"},
		"line ends":             {"a\r\nb\rc\r", "a\nb\nc\n"},
		"bidi overrides show":   {"a\u202eb\u2066c", "a<U+202E>b<U+2066>c"},
		"hidden characters":     {"a\u200bb\ufeffc\U000e0041d\u2028e", "a<U+200B>b<U+FEFF>c<U+E0041>d<U+2028>e"},
		"joiners stay":          {"👩\u200d🔬 می\u200cخواهم", "👩\u200d🔬 می\u200cخواهم"},
		"bytes that are broken": {"a\xffb\x9b31mc", "a\ufffdb\ufffd31mc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := SafeText(test.in); got != test.want {
				t.Errorf("sanitizeText(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestSanitizeLine(t *testing.T) {
	t.Parallel()
	if got, want := SafeLine("a\n\tb\rc"), "a  b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// unsafeIn returns what of s could act on a terminal; s may hold newlines and
// tabs.
func unsafeIn(s string) string {
	if !utf8.ValidString(s) {
		return "invalid UTF-8"
	}
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20, r >= 0x7f && r <= 0x9f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return string(r)
		}
	}
	return ""
}

func FuzzSanitizeText(f *testing.F) {
	for _, s := range []string{
		"plain", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "\x1b]0;t", "\x1bP\x1b\\", "\u009b1m", "\xc2", "\xff\x9b", "a\r\nb\r", "\u202e\u2066",
		"\x1b\x1b[m[31m", "\x1b[\x1b[mm", strings.Repeat("\x1b]", 50),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, line := SafeText(s), SafeLine(s)
		if bad := unsafeIn(text); bad != "" {
			t.Errorf("sanitizeText(%q) = %q has %q", s, text, bad)
		}
		if strings.ContainsAny(line, "\n\t") || unsafeIn(line) != "" {
			t.Errorf("sanitizeLine(%q) = %q", s, line)
		}
		if again := SafeText(text); again != text {
			t.Errorf("not stable: %q becomes %q", text, again)
		}
		if ascii := sanitizeASCII(text); strings.ContainsFunc(ascii, func(r rune) bool { return r > 0x7e }) {
			t.Errorf("sanitizeASCII(%q) = %q", text, ascii)
		}
	})
}

// nasty holds everything that must not reach a terminal, and a long tail.
const nasty = "n\x1b[2J\x1b]0;t\x07\x1b\x07\r\x00\x7f\u0085\u009b31m\u202e\u2066\xff\nmore \x1b[31m" + "漢字 and words that go on and on for a while"

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
		var costs Costs
		for _, e := range events {
			costs.Add(e)
		}
		var money strings.Builder
		if err := WriteCosts(&money, &costs, opts); err != nil {
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

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

// declaredTypes reads the names of the event types out of this package's
// source, so that a type that no list of a subject has cannot go unnoticed.
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
	for _, body := range bodies() {
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
}

func TestEveryDeclaredTypeHasAKind(t *testing.T) {
	t.Parallel()
	declared, listed := declaredTypes(t), plan.EventTypes()
	if len(declared) < 30 {
		t.Fatalf("found only %d event types in the source", len(declared))
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("declared types that no list of a subject has, or that two have (-declared +listed):\n%s", diff)
	}
}

// TestEveryBodyIsReadTheShortWay: what is written is read without a second look
// at it. A type that cannot be would be read slowly, and no test would notice.
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

// TestEveryBodyHasAHeadline: a label always, and a text where there is something to say.
func TestEveryBodyHasAHeadline(t *testing.T) {
	t.Parallel()
	for _, body := range bodies() {
		if h := body.Headline(); h.Label == "" || strings.ContainsAny(h.Label, "\n:") {
			t.Errorf("%s has the label %q", body.Type(), h.Label)
		}
	}
	for _, body := range fullBodies() {
		if h := body.Headline(); h.Text == "" || h.String() != h.Label+": "+h.Text {
			t.Errorf("%s has the text %q", body.Type(), h.Text)
		}
	}
	if h := (plan.Event{}).Headline(); h != (plan.Headline{Level: plan.LevelDetail}) {
		t.Errorf("no event has the headline %+v", h)
	}
}

func TestLiveEvents(t *testing.T) {
	t.Parallel()
	var live []plan.EventType
	for _, name := range plan.EventTypes() {
		if name.Live() {
			live = append(live, name)
		}
		if name.Live() && name.Folded() {
			t.Errorf("%s: the state of a run cannot rest on what is not stored", name)
		}
	}
	want := []plan.EventType{plan.TypeProgress, plan.TypeMessageUpdate, plan.TypeToolUpdate}
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

package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// TestMessagesAreSavedWhole: what this version does not know is kept, at both
// levels, in a fixed order.
func TestMessagesAreSavedWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, out string }{
		{"extension", `{"role":"extension","kind":"note","data":{"a":1},"blocks":[]}`, `{"role":"extension","blocks":[],"kind":"note","data":{"a":1}}`},
		{"old, with nothing but a role", `{"role":"user"}`, `{"role":"user","blocks":null}`},
		{"later fields of a message", `{"z":[1, 2],"role":"user","blocks":[],"a":"<b>"}`, `{"role":"user","blocks":[],"a":"<b>","z":[1,2]}`},
		{"later fields of a block", `{"role":"user","blocks":[{"type":"text","text":"t","cache":{"ttl":5}}]}`, `{"role":"user","blocks":[{"type":"text","text":"t","cache":{"ttl":5}}]}`},
		{"large numbers", `{"role":"user","blocks":[],"n":12345678901234567890}`, `{"role":"user","blocks":[],"n":12345678901234567890}`},
		{"optional fields are left out", `{"role":"assistant","blocks":[{"type":"tool_call","call":"1","name":"f","args":"{"}],"origin":""}`, `{"role":"assistant","blocks":[{"type":"tool_call","call":"1","name":"f","args":"{"}]}`},
	} {
		var m plan.Message
		if err := json.Unmarshal([]byte(c.in), &m); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		out, err := plan.MarshalCompact(m)
		if err != nil || string(out) != c.out {
			t.Errorf("%s: wrote %s, %v", c.name, out, err)
		}
		end, err := plan.MarshalCompact(plan.MessageEnd{Message: m, Stop: "stop"})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var back plan.MessageEnd
		if err := json.Unmarshal(end, &back); err != nil || back.Stop != "stop" {
			t.Errorf("%s: an event came back as %+v, %v", c.name, back, err)
		}
		if diff := cmp.Diff(m, back.Message); diff != "" {
			t.Errorf("%s: through an event:\n%s", c.name, diff)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"role":"user","blocks":[{"type":"text","text":"a","Type":"b","x":{"y":[null]}}],"origin":"steering","q":1}`))
	f.Add([]byte(`{"role":"extension","kind":"k","data":null,"KIND":"l","blocks":null}`))
	f.Add([]byte(`{"role":"tool","blocks":[{"type":"tool_result","opaque":{"a":"\u2028<"},"":1}],"stop":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m plan.Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		first, err := plan.MarshalCompact(m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again plan.Message
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		second, err := plan.MarshalCompact(again)
		if err != nil || string(second) != string(first) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}

// BenchmarkMessage is what a message costs to be written, as its hash needs it.
func BenchmarkMessage(b *testing.B) {
	m := plan.Message{Role: plan.RoleTool}
	for range 15 {
		m.Blocks = append(m.Blocks, plan.Block{Type: plan.BlockToolResult, Call: "call_1_2", Name: "read", Text: strings.Repeat("     1\tthis is a line\n", 30)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}

package plan

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestFlatMessagesAreTheSame: a message is written with the same bytes whether
// its blocks are written with it or one by one.
func TestFlatMessagesAreTheSame(t *testing.T) {
	t.Parallel()
	full := Block{
		Type: BlockText, Text: "<a> & \u2028 \xff", Call: "c", Name: "n", Args: `{"a": 1}`, Error: true, Blob: "b",
		MIME: "m", Data: "d", Kind: "k", Opaque: json.RawMessage(`{"x": "<"}`),
	}
	for _, m := range []Message{
		{}, {Role: RoleUser, Blocks: []Block{}}, {Role: RoleTool, Blocks: []Block{full, {}}, Origin: "o", Kind: "k", Data: json.RawMessage(`[1, 2]`)},
	} {
		flat, ok := m.flat()
		if !ok {
			t.Errorf("%+v is not flat", m)
		}
		got, err := MarshalCompact(flat)
		if err != nil {
			t.Fatal(err)
		}
		want, err := MarshalCompact(plainMessage(m))
		if err != nil || string(got) != string(want) {
			t.Errorf("%v\n%s\n%s", err, got, want)
		}
	}
	if n, flat := reflect.TypeFor[Message]().NumField(), reflect.TypeFor[flatMessage]().NumField(); flat != n-1 { // all but Extra
		t.Errorf("a message has %d fields, and %d of them are written", n, flat)
	}
}

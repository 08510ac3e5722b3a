package host_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/host"
)

// Calls without ids have their results by their order, all of them.
func TestCallsWithoutIDs(t *testing.T) {
	t.Parallel()
	got, err := host.ReadContext("talk.json", []byte(`[{"role":"assistant","tool_calls":[`+
		`{"function":{"name":"a"}},{"function":{"name":"b"}},{"function":{"name":"c"}},{"function":{"name":"d"}}]},`+
		`{"role":"tool","content":"1"},{"role":"tool","content":"2"},`+
		`{"role":"tool","content":"3"},{"role":"tool","content":"4"}]`))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	text, at := got[0].Text(), 0
	for _, want := range []string{`"a"`, "1", `"b"`, "2", `"c"`, "3", `"d"`, "4"} {
		next := strings.Index(text[at:], want)
		if next < 0 {
			t.Fatalf("%s is not where it should be in %s", want, text)
		}
		at += next + len(want)
	}
	if strings.Contains(text, "nothing is known") {
		t.Error(text)
	}
}

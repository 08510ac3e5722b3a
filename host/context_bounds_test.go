package host_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/host"
)

// A conversation is read in time that grows with its length alone, however its calls and
// results lie, and one that no journal could bear is refused.
func TestALongConversationIsBounded(t *testing.T) {
	t.Parallel()
	const calls = 60_000
	var asked, answered strings.Builder
	for i := range calls {
		fmt.Fprintf(&asked, `,{"id":"c%d","function":{"name":"x","arguments":"{}"}}`, i)
		fmt.Fprintf(&answered, `,{"role":"tool","tool_call_id":"c%d","content":"r"}`, calls-1-i)
	}
	text := `[{"role":"assistant","tool_calls":[` + asked.String()[1:] + `]}` + answered.String() + `]`
	began := time.Now()
	if _, err := host.ReadContext("talk.json", []byte(text)); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%d calls took %s", calls, took)
	}
	many := `[{"role":"user","content":"a"}` + strings.Repeat(`,{"role":"assistant","content":"b"}`, 20_000) + `]`
	_, err := host.ReadContext("talk.json", []byte(many))
	if err == nil || !strings.Contains(err.Error(), "has 20001 messages; 20000 is the most") {
		t.Errorf("got %v", err)
	}
}

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

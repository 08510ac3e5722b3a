package host_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/host"
)

// threadTime is what the thread has used of its processor: what else the machine does is not in
// it.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

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
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime(t)
	if _, err := host.ReadContext("talk.json", []byte(text)); err != nil {
		t.Error(err)
	}
	if took := threadTime(t) - began; took > 7*time.Second {
		t.Errorf("%d calls took %s", calls, took)
	}
	many := `[{"role":"user","content":"a"}` + strings.Repeat(`,{"role":"assistant","content":"b"}`, 20_000) + `]`
	_, err := host.ReadContext("talk.json", []byte(many))
	if err == nil || !strings.Contains(err.Error(), "has 20001 messages; 20000 is the most") {
		t.Errorf("got %v", err)
	}
}

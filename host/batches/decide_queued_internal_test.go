package batches

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// Of several calls that a job waits with, one is decided about: that which is named by the
// digest of what was shown. Without one, it is said which there are.
func TestOneOfSeveralCalls(t *testing.T) {
	t.Parallel()
	call := func(id, command string) plan.WaitingCall {
		return plan.WaitingCall{
			Call:   id,
			Name:   "bash",
			Args:   []byte(`{"command":"` + command + `"}`),
			Digest: "sha256:" + id,
		}
	}
	w := WaitingJob{Job: "j", Calls: []plan.WaitingCall{call("one", "make deploy"), call("two", "rm -r out")}}
	_, err := w.find(host.Decision{Approve: true})
	for _, want := range []string{"2 calls", "--digest sha256:one", "--digest sha256:two", "make deploy", "rm -r out"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	if got, err := w.find(host.Decision{Approve: true, Digest: "sha256:two"}); err != nil || got.Call != "two" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := w.find(host.Decision{Approve: true, Digest: "sha256:other"}); err == nil ||
		!strings.Contains(err.Error(), "not what you were shown") {
		t.Errorf("another digest: %v", err)
	}
}

package host_test

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
)

//go:embed testdata/steer.toml
var steer string

// TestHooksSteerARun: a result is replaced, a turn gets another model, each request is
// seen, a phase is reopened, and the settings bound what a command may take. The journal
// has what each changed.
func TestHooksSteerARun(t *testing.T) {
	t.Parallel()
	w := hosttest.Play(t, steer)
	gittest.Write(t, w.Dir, map[string]string{"home/config.toml": `sandbox = "off"
explore_bash = true
way = "full"
tool_strategy = "sequential"
[timeouts]
exec = "200ms"
[[hooks]]
event = "result"
tool = "read"
command = """sed 's/.*/{"output": "it says MARK"}/' """
[[hooks]]
event = "turn_model"
command = """case $(cat) in *'"phase":"explore"'*'"turn":1,'*) echo '{"model": "another"}';; esac"""
[[hooks]]
event = "request"
command = "cat > /dev/null"
[[hooks]]
event = "turn_end"
command = "cat > /dev/null"
[[hooks]]
event = "phase_end"
command = "if grep -q 'I shall plan'; then echo that is no plan >&2; exit 2; fi"
`})
	h := host.New(w.Config)
	defer h.Close()
	end, err := h.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Say hello", PlanOnly: true}, host.Face{})
	if err != nil || end.State != "planned" {
		t.Fatalf("%+v: %v", end, err)
	}
	hooks, killed := map[string]int{}, ""
	for ev, err := range h.Follow(t.Context(), end.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case plan.HookRan:
			key := b.Event + " " + b.Action
			if b.Change != nil {
				key += " " + b.Change.What + " to " + b.Change.To
			}
			hooks[key]++
		case plan.ToolEnd:
			if b.Name == "bash" {
				killed = b.Output
			}
		}
	}
	want := map[string]int{
		"result changed result to it says MARK": 1,
		"turn_model changed model to another":   1,
		"turn_model passed":                     3,
		"request passed":                        4,
		"turn_end passed":                       4,
		"phase_end passed":                      2,
		"phase_end reopened":                    1,
	}
	if diff := cmp.Diff(want, hooks); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(killed, "200ms") {
		t.Errorf("the command came to %q", killed)
	}
	var models []string
	for _, r := range w.Model.Requests() {
		var body struct{ Model string }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		models = append(models, body.Model)
	}
	if diff := cmp.Diff([]string{"scripted", "another", "scripted", "scripted"}, models); diff != "" {
		t.Error(diff)
	}
	explore, replanned := string(w.Model.Requests()[1].Body), string(w.Model.Requests()[3].Body)
	if !strings.Contains(explore, "it says MARK") || strings.Contains(explore, "echo hullo") {
		t.Errorf("the model read %s", explore)
	}
	if !strings.Contains(replanned, "that is no plan") {
		t.Errorf("the model read %s", replanned)
	}
	said, err := h.Context(t.Context(), "run:"+string(end.Run))
	if err != nil || len(said) != 5 {
		t.Fatalf("%q, %v", spoken(said), err)
	}
	got := spoken(said)
	if got[0] != "user||Say hello" || got[2] != "assistant||`greet.sh` says hullo." ||
		!strings.HasPrefix(got[4], "assistant||# Plan") ||
		!strings.Contains(got[1], "<tool-result name=\"read\">\nit says MARK\n</tool-result>") ||
		!strings.Contains(got[1], "<tool-error name=\"bash\">") ||
		strings.Contains(strings.Join(got, ""), "A hook of the settings") {
		t.Errorf("it is handed on as %q", got)
	}
	begun, err := h.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Say hello", PlanOnly: true, Context: said}, host.Face{})
	if err != nil || begun.State != "planned" {
		t.Errorf("%+v: %v", begun, err)
	}
	if body := string(w.Model.Requests()[4].Body); !strings.Contains(body, "it says MARK") {
		t.Errorf("the model read %s", body)
	}
}

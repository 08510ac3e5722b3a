package host_test

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/userinfo"
)

//go:embed testdata/address.toml
var address string

// A credential in an address is read by no model, whichever way the address takes, and
// is in no event but where a line of the user's settings has it.
func TestNoModelReadsCredentialsOfAddresses(t *testing.T) {
	t.Parallel()
	w := hosttest.Play(t, address)
	at := func(way string) string { return "https://bob:w4y-" + way + "@host.example/x" }
	gittest.Write(t, w.Repo, map[string]string{
		"settings":  "url = " + at("file") + "\n",
		"AGENTS.md": "The package index is " + at("instructions") + "\n",
	})
	gittest.Git(t, w.Repo, "add", ".")
	gittest.Git(t, w.Repo, "commit", "-qm", "settings")
	gittest.Git(t, w.Repo, "remote", "add", "origin", at("remote"))
	// The lines themselves are the user's, and run as they are: they spell it otherwise.
	said := func(way string) string { return strings.ReplaceAll(at(way), "w4y-", "w4y''-") }
	gittest.Write(t, w.Dir, map[string]string{"home/config.toml": `sandbox = "auto"
[checks]
required = ["echo ` + said("check") + `; cat settings; test -f copy", "echo ` + at("line") + `"]
setup = "echo ` + said("setup") + `"
[[hooks]]
event = "pre_prompt"
command = """echo '{"context": "a prompt at ` + said("prompt_hook") + `"}' """
[[hooks]]
event = "post_tool_use"
command = """echo '{"context": "a call at ` + said("tool_hook") + `"}' """
[[hooks]]
event = "pre_tool_use"
tool = "read"
path = "copy"
command = "echo no copy from ` + said("refusal") + `; exit 1"
[[hooks]]
event = "verdict"
command = "echo judged at ` + said("verdict_hook") + `; exit 1"
`})
	h := host.New(w.Config)
	defer h.Close()
	end, err := h.Run(t.Context(), host.Request{Dir: w.Repo, Text: "Copy what is at " + at("request")}, host.Face{})
	if err != nil || end.State != "approved" {
		t.Fatalf("%+v: %v", end, err)
	}
	ways := map[string]bool{}
	look := func(where, text string) {
		for _, rest := range strings.Split(text, "w4y-")[1:] {
			way, _, _ := strings.Cut(rest, "@")
			ways[where+" has that of "+way] = true
		}
	}
	for _, seen := range w.Model.Requests() {
		look("a model", string(seen.Body))
	}
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for ev, err := range h.Follow(t.Context(), end.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		look(string(ev.Type()), strings.ReplaceAll(string(data), at("line"), ""))
		if strings.Contains(string(data), userinfo.Mark+"@host.example") {
			shown[string(ev.Type())] = true
		}
		if ended, ok := ev.Body.(plan.ToolEnd); ok && ended.Blob != "" {
			whole, err := db.Blob(t.Context(), ended.Blob)
			if err != nil {
				t.Fatal(err)
			}
			look("the whole of an output", string(whole))
			shown["blob"] = strings.Contains(string(whole), userinfo.Mark)
		}
	}
	for way := range ways {
		t.Error(way)
	}
	for _, want := range []string{"run_start", "tool_end", "hook", "check_end", "blob"} {
		if !shown[want] {
			t.Errorf("%s shows no address: %v", want, shown)
		}
	}
}

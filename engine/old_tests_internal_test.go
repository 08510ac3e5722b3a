package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

func TestOldTests(t *testing.T) {
	t.Parallel()
	code := 0
	ran := func(command string) []plan.Event {
		args, _ := json.Marshal(map[string]string{"command": command})
		return []plan.Event{
			{Body: plan.ToolStart{Call: command, Name: "bash", Effect: plan.EffectUnknown, Args: args}},
			{Body: plan.ToolEnd{Call: command, Name: "bash", ExitCode: &code}},
		}
	}
	edit := func(failed bool) []plan.Event {
		files := map[string]string{"b.go": "1", "a.go": "2"}
		return []plan.Event{
			{Body: plan.ToolStart{Call: "e", Name: "edit", Effect: plan.EffectVerifiable}},
			{Body: plan.ToolEnd{Call: "e", Name: "edit", Error: failed, Files: files}},
		}
	}
	edits := func(name string) []plan.Event {
		events := edit(false)
		events[1].Body = plan.ToolEnd{Call: "e", Name: "edit", Files: map[string]string{name: "1"}}
		return events
	}
	checks := []plan.Check{{Command: "./run-all"}}
	for name, c := range map[string]struct {
		work [][]plan.Event
		says string
	}{
		"nothing":                     {nil, ""},
		"tested last":                 {[][]plan.Event{edit(false), ran("go test ./...")}, ""},
		"only tested":                 {[][]plan.Event{ran("go test ./...")}, ""},
		"edited last":                 {[][]plan.Event{ran("go test ./...\nmore"), edit(false)}, "(`go test ./... …`) is older than its last edit (a.go)"},
		"the edit failed":             {[][]plan.Event{ran("npm test"), edit(true)}, ""},
		"never tested":                {[][]plan.Event{ran("ls"), edit(false), ran("cat latest")}, "ran no test"},
		"a check is a test":           {[][]plan.Event{edit(false), ran("cd x && ./run-all -v")}, ""},
		"a check, and edited again":   {[][]plan.Event{edit(false), ran("./run-all"), edit(false)}, "older"},
		"tested, edited, tested":      {[][]plan.Event{ran("make check"), edit(false), ran("make check")}, ""},
		"prose is edited last":        {[][]plan.Event{edit(false), ran("npm test"), edits("docs/Readme.md"), edits("CHANGES.rst")}, ""},
		"code that is called change":  {[][]plan.Event{edit(false), ran("npm test"), edits("change.go")}, "(change.go)"},
		"a word that holds the other": {[][]plan.Event{edit(false), ran("cat contest")}, "ran no test"},
	} {
		var work []plan.Event
		for _, part := range c.work {
			work = append(work, part...)
		}
		f, ok := oldTests(work, checks)
		if ok != (c.says != "") || !strings.Contains(f.Text, c.says) {
			t.Errorf("%s: %v, %q; want %q", name, ok, f.Text, c.says)
		}
	}
}

package permit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools/permit"
)

// An allow for a command was given for what it ran then: once that has changed, what
// counts is what would without it.
func TestAllowsForWhatHasChangedDoNotCount(t *testing.T) {
	t.Parallel()
	allow := func(command string) permit.Rule { return permit.Rule{Command: command, Action: permit.Allow} }
	ask := permit.Rule{Tool: "bash", Action: permit.Ask}
	for _, c := range []struct {
		name    string
		rules   []permit.Rule
		command string
		changed []string
		want    permit.Action
		says    string
	}{
		{"as it was", []permit.Rule{ask, allow("make *")}, "make x", nil, permit.Allow, ""},
		{"changed", []permit.Rule{ask, allow("make *")}, "make x", []string{"Makefile"}, permit.Ask, "Makefile"},
		{"to the letter", []permit.Rule{ask, allow("make x")}, "make x", []string{"Makefile"}, permit.Ask, "make x"},
		{
			"one of several",
			[]permit.Rule{ask, allow("ls*"), allow("make *")},
			"ls && make x",
			[]string{"Makefile"},
			permit.Ask, "Makefile",
		},
		{"hazard", []permit.Rule{allow("git push*")}, "git push", []string{"x"}, permit.Ask, "does not count"},
		{"nothing asks", []permit.Rule{allow("make *")}, "make x", []string{"Makefile"}, permit.Allow, ""},
		{"every command", []permit.Rule{ask, allow("*")}, "make x", []string{"Makefile"}, permit.Allow, ""},
		{"the tool", []permit.Rule{ask, {Tool: "bash", Action: permit.Allow}}, "make x", []string{"Makefile"}, permit.Allow, ""},
		{
			"an earlier one",
			[]permit.Rule{ask, {Tool: "bash", Action: permit.Allow}, allow("make *")},
			"make x",
			[]string{"Makefile"},
			permit.Allow, "",
		},
		{"a deny stays", []permit.Rule{{Command: "make *", Action: permit.Deny}}, "make x", []string{"Makefile"}, permit.Deny, ""},
	} {
		place := permit.Place{Root: t.TempDir(), Changed: func(string) []string { return c.changed }}
		policy, err := permit.New(place, permit.Layer{Name: "config.toml", Rules: c.rules})
		if err != nil {
			t.Fatal(err)
		}
		got := policy.Judge(permit.Call{Tool: "bash", Command: c.command})
		if got.Action != c.want || !strings.Contains(got.Reason, c.says) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// It is looked once for a call, and only where an allow could count.
func TestWhatHasChangedIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	var asked []string
	place := permit.Place{Root: t.TempDir(), Changed: func(line string) []string {
		asked = append(asked, line)
		return nil
	}}
	policy, err := permit.New(place, permit.Layer{Rules: []permit.Rule{{Command: "make *", Action: permit.Allow}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"ls", "make a && make b"} {
		policy.Judge(permit.Call{Tool: "bash", Command: command})
	}
	if want := []string{"make a && make b"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q", asked)
	}
}

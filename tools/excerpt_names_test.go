package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan/tools"
)

// TestAnExcerptShowsTheMemberThatIsMeant, and not those of the same name of other types.
func TestAnExcerptShowsTheMemberThatIsMeant(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for i := range 6 {
		fmt.Fprintf(&code, "class T%d:\n    def convert(self):\n        return %d\n\n    def only%d(self):\n        pass\n\n%s", i, i, i,
			strings.Repeat("# nothing\n", 10))
	}
	set := openSet(t, tools.Config{Root: plant(t, files{"a.py": code.String()})})
	for names, want := range map[string]string{
		"T2.convert convert":            "return 2",
		"T1.convert T4.convert convert": "return 1 return 4",
		"convert":                       "", // which of six
		"only3":                         "pass",
	} {
		e, _ := set.Excerpt(t.Context(), tools.Wanted{Path: "a.py", Names: strings.Fields(names), Bytes: 4000})
		var got []string
		for _, r := range e.Regions {
			lines := strings.Split(strings.TrimSpace(r.Text), "\n")
			got = append(got, strings.TrimSpace(lines[len(lines)-1]))
		}
		sameText(t, strings.Join(got, " "), want)
	}
}

package auto

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plan-engine/plan/skills"
)

// Bounds of what goes into a draft.
const (
	maxRequests = 3
	maxRequest  = 80  // bytes
	maxLine     = 300 // bytes
	maxItems    = 20
)

// compose writes the SKILL.md of a draft. What comes from runs stands in
// bullets of one line each, with secrets replaced, so that nothing in it can
// pass for a heading or a frontmatter.
func compose(name string, c Common, runs int, redact func(string) string) ([]byte, error) {
	line := func(s string) string { return oneLine(redact(s), maxLine) }
	about := strings.Join(c.Words, ", ")
	if about == "" {
		about = strings.ReplaceAll(name, "-", ", ")
	}
	head, err := yaml.Marshal(map[string]any{
		"name": name,
		"description": oneLine(
			fmt.Sprintf(
				"How tasks about %s were done here. Use it when a request is of that kind. Drafted from %d approved "+
					"runs.",
				redact(about),
				runs,
			),
			1000,
		),
		"metadata": map[string]string{"phases": "plan, implement", "origin": "drafted"},
	})
	if err != nil {
		return nil, fmt.Errorf("write the frontmatter: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---\n%s---\n# %s\n\n", head, strings.ReplaceAll(name, "-", " "))
	fmt.Fprintf(
		&b,
		"What %d approved runs had in common. It describes what worked; what is asked now comes first.\n",
		runs,
	)
	section := func(title string, items []string, quote func(string) string) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		for _, item := range items[:min(len(items), maxItems)] {
			fmt.Fprintf(&b, "- %s\n", quote(item))
		}
	}
	requests := c.Requests[:min(len(c.Requests), maxRequests)]
	section("Requests like these", requests, func(s string) string { return code(oneLine(redact(s), maxRequest)) })
	section("Steps of the plans", c.Steps, line)
	section("Files that were changed", c.Files, func(s string) string { return code(line(s)) })
	section("Commands that worked", c.Commands, func(s string) string { return code(line(s)) })
	section("Checks that passed in the end", c.Checks, func(s string) string { return code(line(s)) })
	section("What reviews found missing; do it at once", c.Gaps, line)
	return []byte(b.String()), nil
}

// code quotes a line for Markdown with as many backticks as it takes.
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

// composeChange writes a proposed change to a skill that is there: its own text, and
// what later runs add to it.
func composeChange(old []byte, c Common, runs int, redact func(string) string) []byte {
	var b strings.Builder
	b.Write([]byte(strings.TrimRight(string(old), "\n")))
	fmt.Fprintf(&b, "\n\n## From %d later runs that were approved\n\n", runs)
	n := 0
	item := func(label, s string) {
		if s = oneLine(redact(s), maxLine); n < maxItems && !strings.Contains(string(old), s) {
			fmt.Fprintf(&b, "- %s: %s\n", label, s)
			n++
		}
	}
	for _, s := range c.Gaps {
		item("A review found missing", s)
	}
	for _, s := range c.Commands {
		item("Worked", code(s))
	}
	for _, s := range c.Checks {
		item("Passed in the end", code(s))
	}
	for _, s := range c.Steps {
		item("Step", s)
	}
	if n == 0 {
		return nil // nothing new
	}
	return []byte(b.String())
}

// checkSkill makes sure that what was written is a skill: a draft that cannot be
// read is of no use.
func checkSkill(data []byte, name string) error {
	if _, _, err := skills.Parse(data, name); err != nil {
		return fmt.Errorf("the draft %s is no skill: %w", name, err)
	}
	return nil
}

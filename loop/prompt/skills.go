package prompt

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/oneline"
)

// Skill is something that a model can read up on when it needs it. Only its
// name and description are in the prompt.
type Skill struct {
	Name        string
	Description string // in one line: what it is good for, and when
	Path        string // where it can be read; "" if the name says it
}

// SkillIndex is what the system prompt says about skills: sorted by name, each
// escaped, the later of two with one name. Without skills it is "".
func SkillIndex(skills []Skill) (string, error) {
	byName := map[string]Skill{}
	for i, s := range skills {
		if strings.TrimSpace(s.Name) == "" || strings.TrimSpace(s.Description) == "" {
			return "", fmt.Errorf("loop: skill %d (%q) lacks a name or a description", i, s.Name+s.Description)
		}
		byName[s.Name] = s
	}
	if len(byName) == 0 {
		return "", nil
	}
	var b strings.Builder
	b.WriteString("<skills>\n")
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s := byName[name]
		fmt.Fprintf(&b, "<skill name=\"%s\"", escaped(s.Name))
		if s.Path != "" {
			fmt.Fprintf(&b, " path=\"%s\"", escaped(s.Path))
		}
		fmt.Fprintf(&b, ">%s</skill>\n", escaped(s.Description))
	}
	b.WriteString("</skills>")
	return b.String(), nil
}

// escaped is a text on one line that closes no tag and no quote.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(oneline.Of(text))) // a Builder does not fail
	return b.String()
}

// WithSkills is a system prompt with the index at its end.
func WithSkills(system string, skills []Skill) (string, error) {
	index, err := SkillIndex(skills)
	if err != nil || index == "" {
		return system, err
	}
	return strings.TrimSpace(system + "\n\n" + index), nil
}

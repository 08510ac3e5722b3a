package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// Bounds of a SKILL.md. The name and description are the Agent Skills
// format's; the others keep a broken file from filling a prompt.
const (
	maxDescription = 1024
	maxFile        = 256 << 10
)

// Skill is what is known of a skill without its body.
type Skill struct {
	Name        string
	Description string
	// Phases are those in which it may be hinted: metadata.phases of the
	// frontmatter. Default: plan and implement.
	Phases []plan.Phase
	// Hidden skills are used only by their name: disable-model-invocation.
	Hidden bool
	// Score is a measured one in [0,1], nil before it was measured.
	Score *float64

	Dir    string // absolute path of its folder; "" for one that is built in
	Source string // which of the places it was found in
	Digest string // over every file of the folder; see Digest

	files fs.FS // its folder, if that is not Dir
}

// For reports whether the skill may be hinted in the phase.
func (s Skill) For(p plan.Phase) bool { return slices.Contains(s.Phases, p) }

// frontmatter is the head of a SKILL.md. Keys that are not known are allowed:
// the format is open.
type frontmatter struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Metadata    map[string]string `yaml:"metadata"`
	Hidden      bool              `yaml:"disable-model-invocation"`
}

// Parse reads a SKILL.md and returns what its frontmatter says and its body.
// The name must be that of the folder.
func Parse(data []byte, folder string) (Skill, string, error) {
	if len(data) > maxFile {
		return Skill{}, "", fmt.Errorf(
			"it has %d bytes; %d are allowed. Move details into files beside it",
			len(data),
			maxFile,
		)
	}
	if !utf8.Valid(data) {
		return Skill{}, "", errors.New("it is not UTF-8 text")
	}
	head, body, err := splitFrontmatter(data)
	if err != nil {
		return Skill{}, "", err
	}
	var fm frontmatter
	if err := yaml.Unmarshal(head, &fm); err != nil {
		return Skill{}, "", fmt.Errorf("the frontmatter cannot be read: %w", err)
	}
	s := Skill{
		Name:        fm.Name,
		Description: oneline.Of(fm.Description),
		Hidden:      fm.Hidden,
	}
	if s.Phases, err = phasesOf(fm.Metadata["phases"]); err != nil {
		return Skill{}, "", err
	}
	switch {
	case s.Name == "":
		return Skill{}, "", errors.New("the frontmatter has no name")
	case !ValidName(s.Name):
		return Skill{}, "", fmt.Errorf(
			"the name %q is not allowed: 1 to %d of a-z, 0-9 and single hyphens, none at the ends",
			s.Name,
			maxName,
		)
	case s.Name != folder:
		return Skill{}, "", fmt.Errorf("its name is %q and its folder is %q; they must be the same", s.Name, folder)
	case s.Description == "":
		return Skill{}, "", errors.New("the frontmatter has no description, so nobody can tell when to use it")
	case utf8.RuneCountInString(s.Description) > maxDescription:
		return Skill{}, "", fmt.Errorf(
			"the description has %d characters; %d are allowed",
			utf8.RuneCountInString(s.Description),
			maxDescription,
		)
	}
	return s, strings.TrimSpace(string(body)), nil
}

// Frontmatter returns the head of a SKILL.md with the lines that enclose it.
func Frontmatter(data []byte) (string, error) {
	head, _, err := splitFrontmatter(data)
	if err != nil {
		return "", err
	}
	return "---\n" + strings.Trim(string(head), "\n") + "\n---\n", nil
}

// splitFrontmatter parts the frontmatter from the body.
func splitFrontmatter(data []byte) (head, body []byte, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return nil, nil, errors.New(
			"it does not begin with a frontmatter: a line of three hyphens, name and description, and three hyphens " +
				"again",
		)
	}
	if body, ok := bytes.CutPrefix(rest, []byte("---\n")); ok {
		return nil, body, nil
	}
	head, body, ok = bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		if head, ok = bytes.CutSuffix(rest, []byte("\n---")); !ok {
			return nil, nil, errors.New("its frontmatter does not end: a line of three hyphens is missing")
		}
	}
	return head, body, nil
}

// ValidName reports whether a name is one that the Agent Skills format allows.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName || strings.Trim(name, "-") != name || strings.Contains(name, "--") {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// phasesOf reads metadata.phases: names parted by commas or spaces.
func phasesOf(text string) ([]plan.Phase, error) {
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		return []plan.Phase{plan.Plan, plan.Implement}, nil
	}
	var out []plan.Phase
	for _, n := range names {
		p := plan.Phase(strings.ToLower(n))
		if !slices.Contains(plan.Phases(), p) {
			return nil, fmt.Errorf(
				"metadata.phases names %q, which is no phase; there are explore, plan, implement and review",
				n,
			)
		}
		out = append(out, p)
	}
	return out, nil
}

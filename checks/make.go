package checks

import (
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// makeRule is how a target is made.
type makeRule struct{ needs, recipe []string }

// makefile is what a makefile and all that it includes say.
type makefile struct {
	rules map[string]*makeRule
	first string // target, for a call without one
	vars  map[string]string
}

var (
	makeInclude = lazy.Regexp(`^\s*(?:-include|sinclude|include)\s+(.+)$`)
	makeVar     = lazy.Regexp(`^\s*(?:(?:export|override)\s+)*([\w.-]+)\s*(?:[:?+!]|::|:::)?=\s*(.*)$`)
	makeRef     = lazy.Regexp(`\$[({]([\w.-]+)[)}]`)
	makeShell   = lazy.Regexp(`\$\(shell\s+([^()]*(?:\([^()]*\)[^()]*)*)\)|^[^=]*!=\s*(.+)$`)
)

// makeCall follows a call of make: the makefile, what it includes, and the
// recipes of the targets that are asked for and of all that they need.
func (r *reading) makeCall(args []string, dir, script string) {
	file := ""
	var goals []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		option, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case slices.Contains([]string{"-f", "--file", "--makefile"}, option):
			file = value
			i += skipped(joined)
		case option == "-C" || option == "--directory":
			dir = path.Join(dir, value)
			i += skipped(joined)
		case slices.Contains([]string{"-I", "-o", "-W", "--include-dir"}, option):
			i += skipped(joined)
		case !strings.HasPrefix(a, "-") && !joined && !strings.Contains(a, unknown):
			goals = append(goals, a)
		}
	}
	name := r.find(file, dir, script)
	for _, usual := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if file == "" && name == "" && r.ids[path.Join(dir, usual)] != "" {
			name = path.Join(dir, usual)
		}
	}
	if name == "" || len(r.seen) > maxFollowed || !r.isNew("make", name, dir, strings.Join(goals, " ")) {
		return
	}
	m := &makefile{rules: map[string]*makeRule{}, vars: map[string]string{"MAKE": "make", "CURDIR": "."}}
	r.include(m, name, dir)
	if len(goals) == 0 {
		goals = []string{m.first}
	}
	for _, goal := range goals {
		r.goal(m, goal, name, dir)
	}
	if shell := m.expand(m.vars["SHELL"]); shell != "" {
		r.script(shell, dir, name)
	}
}

// skipped is how many words an option takes beside its own.
func skipped(joined bool) int {
	if joined {
		return 0
	}
	return 1
}

// include reads a makefile and those that it includes.
func (r *reading) include(m *makefile, name, dir string) {
	if !r.note(name, roleMake) || !r.isNew("include", name, dir) {
		return
	}
	var rule *makeRule
	for _, line := range logicalLines(r.text(name)) {
		for _, match := range makeShell().FindAllStringSubmatch(line, -1) {
			r.shell(m.expand(match[1]+match[2]), dir, name)
		}
		if strings.HasPrefix(line, "\t") {
			if rule != nil {
				rule.recipe = append(rule.recipe, line)
			}
			continue
		}
		if match := makeInclude().FindStringSubmatch(line); match != nil {
			r.includeAll(m, match[1], dir)
			continue
		}
		if names := targets(line); len(names) > 0 {
			rule = m.rule(names, line)
			continue
		}
		if match := makeVar().FindStringSubmatch(line); match != nil {
			m.vars[match[1]] = match[2]
		}
	}
}

// includeAll reads every file that the words of an include may mean.
func (r *reading) includeAll(m *makefile, words, dir string) {
	words = strings.NewReplacer("$(wildcard ", "", ")", "").Replace(m.expand(words))
	for word := range strings.FieldsSeq(words) {
		pattern := path.Join(dir, strings.ReplaceAll(word, "${", "*${"))
		if at := strings.LastIndex(word, "}"); at >= 0 { // what only make knows may be any folder
			pattern = "*" + word[at+1:]
		}
		for name := range r.ids {
			whole, _ := path.Match(pattern, name)
			tail, _ := path.Match(path.Base(pattern), path.Base(name))
			if whole || strings.Contains(word, "}") && tail {
				r.include(m, name, dir)
			}
		}
	}
}

// rule takes a line that says what targets need.
func (m *makefile) rule(names []string, line string) *makeRule {
	_, needs, _ := strings.Cut(line, ":")
	needs = strings.TrimLeft(needs, ":&")
	needs, recipe, _ := strings.Cut(needs, ";")
	rule := &makeRule{}
	for _, name := range names {
		name = m.expand(name)
		if m.first == "" && !strings.HasPrefix(name, ".") && !strings.Contains(name, "%") {
			m.first = name
		}
		if old := m.rules[name]; old != nil {
			rule = old
		}
		m.rules[name] = rule
	}
	rule.needs = append(rule.needs, strings.Fields(strings.ReplaceAll(m.expand(needs), "|", " "))...)
	if recipe != "" {
		rule.recipe = append(rule.recipe, recipe)
	}
	return rule
}

// goal follows the recipe of a target and of all that it needs.
func (r *reading) goal(m *makefile, goal, file, dir string) {
	if !r.isNew("goal", file, dir, goal) {
		return
	}
	rule := m.rules[goal]
	for pattern, other := range m.rules {
		if rule != nil || !strings.Contains(pattern, "%") {
			continue
		}
		before, after, _ := strings.Cut(pattern, "%")
		if strings.HasPrefix(goal, before) && strings.HasSuffix(goal, after) {
			rule = other
		}
	}
	if rule == nil {
		return
	}
	for _, need := range rule.needs {
		r.goal(m, need, file, dir)
	}
	for _, line := range rule.recipe {
		line = strings.TrimLeft(strings.TrimSpace(line), "@-+ ")
		r.shell(strings.ReplaceAll(m.expand(line), "$$", "$"), dir, file)
	}
}

// expand puts in what the makefile says of its variables. Others become
// variables of the shell, which are not known either.
func (m *makefile) expand(text string) string {
	for range 8 {
		more := makeRef().ReplaceAllStringFunc(text, func(ref string) string {
			name := ref[2 : len(ref)-1]
			if value, ok := m.vars[name]; ok {
				return value
			}
			return "${" + name + "}"
		})
		if more == text {
			break
		}
		text = more
	}
	return text
}

package permit

import (
	"slices"
	"strings"
)

// taskVerbs are the words behind which programs run a task that the project names. Where
// there is none, each operand is a task.
var taskVerbs = map[string][]string{
	"npm":  {"run", "run-script"},
	"pnpm": {"run", "run-script"}, "yarn": {"run"}, "bun": {"run"}, "deno": {"task"},
	"composer": {"run", "run-script"}, "poetry": {"run"}, "uv": {"run"}, "pdm": {"run"}, "pipenv": {"run"},
	"hatch": {"run"}, "make": nil, "gmake": nil, "just": nil, "task": nil, "mage": nil, "rake": nil, "invoke": nil,
	"inv": nil, "ant": nil, "gradle": nil, "gradlew": nil,
}

// bareTasks are programs that take a task without a word before it, too.
var bareTasks = []string{"pnpm", "yarn", "bun"}

// task is the first task that the command runs whose name says that it sends something to
// others, "" for none. What the program itself sends is judged elsewhere.
func (p *Part) task(name string) string {
	verbs, ok := taskVerbs[name]
	operands := p.operands()
	if !ok || len(operands) == 0 {
		return ""
	}
	at := slices.IndexFunc(operands, func(w word) bool { return slices.Contains(verbs, w.text) })
	switch {
	case verbs == nil:
	case at >= 0 && at+1 < len(operands):
		operands = operands[at+1 : at+2]
	case at < 0 && slices.Contains(bareTasks, name) && !slices.Contains(publishers[name], operands[0].text):
		operands = operands[:1]
	default:
		return ""
	}
	for _, w := range operands {
		if sendingTask(w.text) && !slices.Contains(publishers[name], w.text) {
			return w.text
		}
	}
	return ""
}

// sendingTask reports whether a task is named after what it sends: deploy, deploy-prod,
// docs:publish.
func sendingTask(name string) bool {
	if slices.Contains(outwardVerbs, name) {
		return true
	}
	for _, part := range strings.Split(name, ":") {
		first, _, _ := strings.Cut(strings.NewReplacer("_", "-", ".", "-").Replace(part), "-")
		if slices.Contains([]string{"deploy", "publish", "push", "upload"}, first) {
			return true
		}
	}
	return false
}

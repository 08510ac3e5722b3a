package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/wires"
)

// pagesRoot is the module's folder, as the tests of this package see it.
const pagesRoot = "../.."

// referencePage names all that the program has.
const referencePage = "docs/reference.md"

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(pagesRoot, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wholeRoot is the command with all that stand below it.
func wholeRoot() *cobra.Command {
	a := &app{helpAll: true}
	a.host = a.newHost()
	root := a.root()
	a.addCommands(root, nil)
	root.InitDefaultCompletionCmd()
	return root
}

// eachCommand visits the commands that help shows.
func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, below := range cmd.Commands() {
		if !below.Hidden {
			eachCommand(below, visit)
		}
	}
}

// inCode matches what a page says in code: fenced blocks and spans.
var inCode = regexp.MustCompile("(?s)```.*?```|`[^`]+`")

// commandLines are the command lines of plan in a text that is code, each as its
// words behind "plan".
func commandLines(code string) [][]string {
	var out [][]string
	code = strings.ReplaceAll(strings.Trim(code, "`"), "\\\n", " ")
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		for _, part := range regexp.MustCompile(`[|;]|&&|\$\(`).Split(line, -1) {
			part, _, _ = strings.Cut(part, " #")
			part, _, _ = strings.Cut(part, "   ") // help's examples say there what they do
			words := strings.Fields(part)
			for len(words) > 0 && strings.Contains(words[0], "=") { // a variable for the command
				words = words[1:]
			}
			if len(words) > 1 && words[0] == "plan" && regexp.MustCompile(`^[a-z-]`).MatchString(words[1]) {
				out = append(out, words[1:])
			}
		}
	}
	return out
}

// wrongIn says what is not there of a command line, or "".
func wrongIn(root *cobra.Command, words []string) string {
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root && !strings.HasPrefix(words[0], "-") {
		return fmt.Sprintf("there is no command `plan %s`", words[0])
	}
	if cmd.Hidden {
		return fmt.Sprintf("`%s` is hidden", cmd.CommandPath())
	}
	if cmd.HasSubCommands() && len(rest) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(rest[0]) &&
		cmd.Args != nil && cmd.Args(cmd, rest[:1]) != nil {
		return fmt.Sprintf("there is no command `%s %s`", cmd.CommandPath(), rest[0])
	}
	cmd.InitDefaultHelpFlag()
	for _, word := range rest {
		name, _, _ := strings.Cut(word, "=")
		name, isLong := strings.CutPrefix(name, "--")
		name = regexp.MustCompile(`^[a-z0-9-]*`).FindString(name)
		if !isLong || name == "" {
			continue
		}
		if cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return fmt.Sprintf("`%s` has no flag --%s", cmd.CommandPath(), name)
		}
	}
	return ""
}

// TestPagesNameWhatIsThere tries each command line of the pages and of the help: its
// command is there, and so are its flags.
func TestPagesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	root := wholeRoot()
	docs, err := filepath.Glob(filepath.Join(pagesRoot, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{"README.md", "ARCHITECTURE.md", "AGENTS.md"}
	for _, doc := range docs {
		pages = append(pages, "docs/"+filepath.Base(doc))
	}
	tried := 0
	for _, name := range pages {
		for _, code := range inCode.FindAllString(page(t, name), -1) {
			if strings.HasPrefix(code, "```screen") { // a picture of a terminal
				continue
			}
			for _, words := range commandLines(code) {
				tried++
				if name == "docs/extending.md" && words[0] == "waiting" {
					continue // the command that the page has its reader add
				}
				if wrong := wrongIn(root, words); wrong != "" {
					t.Errorf("%s says `plan %s`, but %s", name, strings.Join(words, " "), wrong)
				}
			}
		}
	}
	eachCommand(root, func(cmd *cobra.Command) {
		for _, words := range commandLines(cmd.Example) {
			tried++
			if wrong := wrongIn(root, words); wrong != "" {
				t.Errorf("the help of %s says `plan %s`, but %s", cmd.CommandPath(), strings.Join(words, " "), wrong)
			}
		}
	})
	if tried < 150 {
		t.Errorf("only %d command lines were found in the pages; there are more", tried)
	}
	for _, wrong := range []string{"frobnicate", "run --frob", "batch frob", "__serve x"} {
		if wrongIn(root, strings.Fields(wrong)) == "" {
			t.Errorf("`plan %s` passes as a command line", wrong)
		}
	}
}

// TestReferenceNamesAll has all that programs and people can name stand in the
// reference.
func TestReferenceNamesAll(t *testing.T) {
	t.Parallel()
	text := page(t, referencePage)
	lacks := func(kind, name string) {
		t.Helper()
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s lacks the %s `%s`: add it where the others of its kind stand", referencePage, kind, name)
		}
	}
	root := wholeRoot()
	commands := map[string]*cobra.Command{}
	eachCommand(root, func(cmd *cobra.Command) {
		commands[cmd.CommandPath()] = cmd
		if strings.HasPrefix(cmd.CommandPath(), "plan completion ") {
			return
		}
		lacks("command", cmd.CommandPath())
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				lacks("flag", "--"+f.Name)
			}
		})
	})
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			lacks("flag", "--"+f.Name)
		}
	})
	for _, e := range plan.EventTypes() {
		lacks("event type", string(e))
	}
	keys := settingKeys("", reflect.TypeFor[config.Config]())
	for _, key := range keys {
		lacks("setting", key)
	}
	// And the other way: what stands in its tables is there.
	for _, m := range regexp.MustCompile("(?m)^\\| `(plan[a-z -]*)` \\|").FindAllStringSubmatch(text, -1) {
		if commands[m[1]] == nil {
			t.Errorf("%s names `%s`, which is no command", referencePage, m[1])
		}
	}
	_, settings, _ := strings.Cut(text, "\n## Settings\n")
	settings, _, _ = strings.Cut(settings, "\n## ")
	for _, m := range regexp.MustCompile("`([a-zA-Z_.]+)`").FindAllStringSubmatch(settings, -1) {
		if !slices.Contains(keys, m[1]) {
			t.Errorf("%s names the setting `%s`, which is not there", referencePage, m[1])
		}
	}
	_, events, _ := strings.Cut(text, "\n## Events\n")
	events, _, _ = strings.Cut(events, "\n## ")
	for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(events, -1) {
		if !slices.Contains(plan.EventTypes(), plan.EventType(m[1])) {
			t.Errorf("%s names the event `%s`, which is not there", referencePage, m[1])
		}
	}
}

// settingKeys are the names of settings, as a file of them has them: NAME stands
// for what its writer chooses.
func settingKeys(prefix string, typ reflect.Type) []string {
	var out []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if name == "" || name == "-" {
			continue
		}
		name = prefix + name
		of := f.Type
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() == reflect.Map && of.Elem().Kind() == reflect.Struct {
			name, of = name+".NAME", of.Elem()
		}
		if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct {
			of = of.Elem()
		}
		var below []string
		if of.Kind() == reflect.Struct {
			below = settingKeys(name+".", of)
		}
		if len(below) == 0 {
			below = []string{name}
		}
		out = append(out, below...)
	}
	return out
}

// TestPagesSettingsAreRead reads each file of settings that a page shows.
func TestPagesSettingsAreRead(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?s)```toml\n(.*?)```")
	n := 0
	pages := []string{"README.md"}
	for _, name := range []string{"models", "settings", "permissions", "walls", "batches", "tools", "terminal"} {
		pages = append(pages, "docs/"+name+".md")
	}
	for _, name := range pages {
		for _, m := range block.FindAllStringSubmatch(page(t, name), -1) {
			if strings.Contains(m[1], "[[reply]]") || strings.Contains(m[1], "[server]") {
				continue // a scenario
			}
			n++
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := config.Load(config.Source{Home: home, Wires: wires.All()}); err != nil {
				t.Errorf("%s shows settings that are not read: %v\n%s", name, err, m[1])
			}
		}
	}
	if n < 14 {
		t.Errorf("only %d files of settings were found in the pages; there are more", n)
	}
}

// TestArchitectureNamesModules has each module that go.mod asks for stand in the table
// of dependencies.
func TestArchitectureNamesModules(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(page(t, "ARCHITECTURE.md"), "\n## Dependencies\n")
	var required []string
	for line := range strings.Lines(page(t, "go.mod")) {
		if m := regexp.MustCompile(`^\t(\S+?)(/v\d+)? v\S+$`).FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			required = append(required, m[1])
		}
	}
	if len(required) < 30 {
		t.Fatalf("only %d modules were found in go.mod; there are more", len(required))
	}
	named := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(table, -1)
	for _, module := range required {
		if !slices.ContainsFunc(named, func(m []string) bool {
			all, isAll := strings.CutSuffix(m[1], "*")
			return "github.com/"+m[1] == module || strings.HasSuffix("/"+module, "/"+m[1]) ||
				isAll && strings.HasPrefix(module, "github.com/"+all)
		}) {
			t.Errorf("ARCHITECTURE.md's table of dependencies lacks %s", module)
		}
	}
}

// TestPagesSayExitCodes holds README's table, the reference and the root help to the
// exit codes.
func TestPagesSayExitCodes(t *testing.T) {
	t.Parallel()
	codes := map[int]bool{plan.ExitOK: true, plan.ExitUsage: true, plan.ExitLimit: true, plan.ExitWaiting: true}
	for _, code := range []int{plan.ExitFailed, plan.ExitNotApproved, plan.ExitInterrupted} {
		codes[code] = true
	}
	_, table, _ := strings.Cut(page(t, "README.md"), "\n## Exit codes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	said := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?m)\| (\d+) \|$`).FindAllStringSubmatch(table, -1) {
		var code int
		_, _ = fmt.Sscan(m[1], &code)
		said[code] = true
	}
	if !maps.Equal(codes, said) {
		t.Errorf("README.md's table of exit codes has %v; the program has %v",
			slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(codes)))
	}
	for code := range codes {
		if !regexp.MustCompile(fmt.Sprintf(`[:·]\s+%d `, code)).MatchString(about) {
			t.Errorf("the help of plan lacks the exit code %d", code)
		}
	}
}

// TestReferenceNamesTestsThatAreThere looks for each test that the reference says
// shows a feature.
func TestReferenceNamesTestsThatAreThere(t *testing.T) {
	t.Parallel()
	_, features, _ := strings.Cut(page(t, referencePage), "\n## Features\n")
	n := 0
	for line := range strings.Lines(features) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || strings.HasPrefix(cells[0], "| feature") {
			continue
		}
		shown := strings.TrimSuffix(cells[1], " |")
		m := regexp.MustCompile("^`([a-z/_]+)` `(Test\\w+|Fuzz\\w+|Example\\w+|[a-z_]+\\.txtar)`").FindStringSubmatch(shown)
		switch {
		case strings.HasPrefix(shown, "not there"):
		case m == nil:
			t.Errorf("%s: a feature names no test and does not say \"not there\": %s", referencePage, line)
		case !isTest(t, m[1], m[2]):
			t.Errorf("%s says that %s in %s shows a feature, but there is no such test: %s",
				referencePage, m[2], m[1], line)
		}
		n++
	}
	if n < 40 {
		t.Errorf("%s has %d features; there are more", referencePage, n)
	}
}

// isTest reports whether a package has a test, or a script of that name.
func isTest(t *testing.T, dir, name string) bool {
	t.Helper()
	if strings.HasSuffix(name, ".txtar") {
		_, err := os.Stat(filepath.Join(pagesRoot, dir, "testdata", "script", name))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(pagesRoot, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), "\nfunc "+name+"(")
	})
}

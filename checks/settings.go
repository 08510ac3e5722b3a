package checks

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// readers are the settings that a runner reads, by its name: names of files in
// the folder that it runs in, or anywhere below it.
var readers = map[string][]string{
	"ava":     {"ava.config.*", "package.json"},
	"cargo":   {"**/Cargo.toml", "**/build.rs", "rust-toolchain*", "**/config.toml", "**/nextest.toml"},
	"ctest":   {"**/CTestTestfile.cmake", "CTestConfig.cmake", "**/CMakeLists.txt"},
	"dotnet":  {"**/*.runsettings", "**/Directory.Build.*", "global.json", "**/xunit.runner.json"},
	"go":      {"**/go.mod", "go.work"},
	"gradle":  {"**/*.gradle", "**/*.gradle.kts", "gradle.properties"},
	"jest":    {"jest.config.*", "jest.setup.*", "babel.config.*", ".babelrc*", "package.json"},
	"just":    {"justfile", "Justfile", ".justfile"},
	"karma":   {"karma.conf.*"},
	"mocha":   {".mocharc*", "mocha.opts", "package.json"},
	"mvn":     {"**/pom.xml", "maven.config", "jvm.config", "extensions.xml"},
	"nox":     {"noxfile.py"},
	"npm":     {".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpm-workspace.yaml", "bunfig.toml"},
	"phpunit": {"phpunit.xml", "phpunit.xml.dist", "**/bootstrap.php"},
	"pytest": {
		"pytest.ini",
		".pytest.ini",
		"pytest.toml",
		"tox.ini",
		"setup.cfg",
		"pyproject.toml",
		"**/conftest.py",
	},
	"python": {"**/sitecustomize.py", "**/usercustomize.py", "*.pth"},
	"rake":   {"Rakefile", "**/*.rake", "**/test_helper.rb"},
	"rspec":  {".rspec", "**/spec_helper.rb", "**/rails_helper.rb"},
	"task":   {"Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml"},
	"tox":    {"tox.ini", "setup.cfg", "pyproject.toml", "**/conftest.py"},
	"vitest": {"vitest.config.*", "vitest.workspace.*", "vite.config.*", "vitest.setup.*", "package.json"},
}

// aliases are other names of runners; "" is for one that runs another command.
var aliases = map[string]string{
	"_mocha":    "mocha",
	"c8":        "",
	"cmake":     "ctest",
	"composer":  "phpunit",
	"ginkgo":    "go",
	"go-task":   "task",
	"gotestsum": "go",
	"gradlew":   "gradle",
	"mvnw":      "mvn",
	"nyc":       "",
	"py.test":   "pytest",
}

// modules are files that say which code is built, and not how it is tested.
var modules = []string{"go.mod", "go.work", "Cargo.toml", "build.rs", "config.toml"}

// runnerCall notes the settings of a runner that is known by its name.
func (r *reading) runnerCall(name string, args []string, dir, script string) {
	if other, ok := aliases[name]; ok {
		name = other
	}
	switch name {
	case "", "nyc", "c8":
		r.call(args, dir, script)
		return
	case "npm", "pnpm", "yarn", "bun", "turbo", "nx", "lerna":
		r.packageCall(args, dir)
		name = "npm"
	case "pytest", "tox":
		r.runnerCall("python", nil, dir, script)
	}
	for _, pattern := range readers[name] {
		role := roleSettings
		if slices.Contains(modules, path.Base(pattern)) {
			role = roleModule
		}
		r.settings(dir, role, pattern)
		if dir != "" { // they are looked for further up as well
			r.settings("", role, strings.TrimPrefix(pattern, "**/"))
		}
	}
	if len(readers[name]) > 0 {
		r.named(args, dir, script)
	}
	for _, config := range []string{"jest.config.", "vitest.config.", "vite.config.", ".mocharc", "package.json"} {
		if name == "jest" || name == "vitest" || name == "mocha" {
			r.namedIn(config, dir)
		}
	}
}

// settingOptions take a file that decides what runs.
var settingOptions = []string{
	"-c", "-f", "-p", "-r", "-exec", "-modfile", "-overlay", "-toolexec",
	"--bootstrap", "--config", "--config-file", "--configuration", "--globalSetup", "--manifest-path", "--rcfile",
	"--require", "--rootdir", "--settings", "--setupFiles", "--setupFilesAfterEnv",
}

// named notes files that options of a runner name.
func (r *reading) named(args []string, dir, script string) {
	for i, a := range args {
		option, value, joined := strings.Cut(a, "=")
		if !slices.Contains(settingOptions, option) {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		r.loaded(value, dir, script)
	}
}

var quotedPath = lazy.Regexp("[\"'`](?:<rootDir>/)?((?:\\.{0,2}/)?[\\w.@/-]+)[\"'`]")

// namedIn notes the tree's files that a runner's settings name: what sets tests
// up, transforms them or reports of them.
func (r *reading) namedIn(config, dir string) {
	for name := range r.ids {
		if path.Dir(name) != path.Clean(dir) || !strings.HasPrefix(path.Base(name), config) {
			continue
		}
		text := r.text(name)
		if config == "package.json" {
			text = r.packagePart(name, text)
		}
		for _, m := range quotedPath().FindAllStringSubmatch(text, -1) {
			if strings.ContainsAny(m[1], "./") {
				r.loaded(m[1], dir, name)
			}
		}
	}
}

// workspaceWords have a package manager run a script in many folders.
var workspaceWords = []string{
	"-F", "-r", "-w", "-ws", "--filter", "--recursive", "--workspace", "--workspaces",
	"run-many", "workspace", "workspaces",
}

// packageCall follows the scripts of package.json that a package manager runs.
func (r *reading) packageCall(args []string, dir string) {
	script, everywhere := "", false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch option, value, joined := strings.Cut(a, "="); {
		case slices.Contains(workspaceWords, option):
			everywhere = true
		case option == "--prefix" || option == "-C" || option == "--cwd" || option == "--dir":
			if !joined && i+1 < len(args) {
				value = args[i+1]
				i++
			}
			dir = path.Join(dir, value)
		case strings.HasPrefix(a, "-") || a == "run" || a == "run-script" || a == "foreach" || a == "exec":
		case script == "":
			script = a
		}
	}
	if script == "t" || script == "tst" || script == "it" || script == "install-test" {
		script = "test"
	}
	for name := range r.ids {
		inDir := path.Dir(name) == path.Clean(dir)
		if path.Base(name) == "package.json" && (inDir || everywhere) && !strings.Contains(name, "node_modules/") {
			for _, entry := range []string{"pre" + script, script, "post" + script} {
				r.packageScript(name, entry)
			}
		}
	}
}

// packageScript follows one entry.
func (r *reading) packageScript(name, entry string) {
	var pkg struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal([]byte(r.text(name)), &pkg) != nil {
		return
	}
	r.note(name, roleSettings)
	command, ok := pkg.Scripts[entry].(string)
	if !ok || !r.isNew("entry", name, entry) {
		return
	}
	if r.scripts[name] == nil {
		r.scripts[name] = map[string]string{}
	}
	r.scripts[name][entry] = command
	r.shell(command, path.Dir(name), name)
}

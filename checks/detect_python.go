package checks

import (
	"io/fs"
	"path"
	"strings"
)

// pythonTest wants settings of pytest or tox, or files that look like tests. What
// the project brings along to run them comes first: they seldom run with the
// machine's own Python.
func (d detector) pythonTest() []string {
	tests := d.pythonTests()
	settings := d.has("pytest.ini") || d.has(".pytest.ini") || d.has("conftest.py") || d.configuresPytest()
	tox := d.configuresTox()
	if !settings && !tox && len(tests) == 0 {
		return nil
	}
	var out []string
	if settings || len(tests) > 0 {
		out = d.pytestOfProject()
	}
	if tox {
		out = append(out, "tox -e py")
	}
	if !settings && len(tests) == 0 {
		return out
	}
	source := ""
	if d.keepsSourceApart() {
		source = "PYTHONPATH=src "
	}
	out = append(out, source+"pytest", source+"python3 -m pytest", source+"python -m pytest")
	if !settings && d.onlyUnittest(tests) {
		out = append(out, source+"python3 -m unittest discover -s "+path.Dir(tests[0]))
	}
	return out
}

// pytestOfProject are the environments that a project keeps for itself.
func (d detector) pytestOfProject() []string {
	var out []string
	for _, dir := range []string{".venv", "venv"} {
		if d.has(dir + "/pyvenv.cfg") {
			out = append(out, dir+"/bin/python -m pytest")
			if d.keepsSourceApart() { // and is not installed there
				out = append(out, "PYTHONPATH=src "+dir+"/bin/python -m pytest")
			}
		}
	}
	project, _ := d.read("pyproject.toml")
	for _, tool := range []struct{ name, lock, section string }{
		{"uv", "uv.lock", "tool.uv"},
		{"poetry", "poetry.lock", "tool.poetry"},
		{"pdm", "pdm.lock", "tool.pdm"},
		{"pipenv", "Pipfile.lock", "tool.pipenv"},
	} {
		if d.has(tool.lock) || hasSection(project, tool.section) {
			out = append(out, tool.name+" run pytest")
		}
	}
	return out
}

func (d detector) configuresPytest() bool {
	project, _ := d.read("pyproject.toml")
	tox, _ := d.read("tox.ini")
	setup, _ := d.read("setup.cfg")
	return hasSection(project, "tool.pytest") || hasSection(tox, "pytest") || hasSection(setup, "tool:pytest")
}

func (d detector) configuresTox() bool {
	project, _ := d.read("pyproject.toml")
	tox, _ := d.read("tox.ini")
	return hasSection(project, "tool.tox") || hasSection(tox, "testenv")
}

// keepsSourceApart reports whether packages stand below src, where Python does not
// find them by itself, and pytest is not told to look there.
func (d detector) keepsSourceApart() bool {
	packages, _ := fs.Glob(d.root.FS(), "src/*/__init__.py")
	modules, _ := fs.Glob(d.root.FS(), "src/*.py")
	if len(packages)+len(modules) == 0 {
		return false
	}
	for _, file := range []string{"pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"} {
		text, _ := d.read(file)
		for line := range strings.Lines(text) {
			name, _, isSetting := strings.Cut(line, "=")
			if isSetting && strings.TrimSpace(name) == "pythonpath" {
				return false
			}
		}
	}
	return true
}

// onlyUnittest reports whether tests need no more than Python itself.
func (d detector) onlyUnittest(tests []string) bool {
	for _, file := range tests {
		if text, _ := d.read(file); strings.Contains(text, "pytest") || !strings.Contains(text, "unittest") {
			return false
		}
	}
	return len(tests) > 0
}

// hasSection reports whether a TOML or INI file has the section, or in TOML
// one below it.
func hasSection(text, name string) bool {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		head, found := strings.CutPrefix(line, "["+name)
		if found && (strings.HasPrefix(head, "]") || strings.HasPrefix(head, ".")) {
			return true
		}
	}
	return false
}

// pythonTests are test files in the directories that are usual for them, and one
// level below.
func (d detector) pythonTests() []string {
	var out []string
	if d.root == nil {
		return nil
	}
	for _, dir := range []string{"tests", "test"} {
		files, _ := fs.Glob(d.root.FS(), path.Join(dir, "*.py"))
		below, _ := fs.Glob(d.root.FS(), path.Join(dir, "*", "*.py"))
		for _, file := range append(files, below...) {
			name := strings.TrimSuffix(path.Base(file), ".py")
			if strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test") {
				out = append(out, file)
			}
		}
	}
	return out
}

package checks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
)

// deciding is the part of a file that decides what checks run: a new dependency
// is none of it, and what a dependency is replaced by is. Of a file that is
// there for nothing else it is all.
func (r *reading) deciding(name string) string {
	if r.ids[name] == "" {
		return ""
	}
	text := r.text(name)
	switch base := path.Base(name); {
	case base == "package.json":
		return r.packagePart(name, text)
	case base == "go.mod":
		return moduleLines(text)
	case base == "Cargo.toml":
		return cargoPart(text)
	case base == "pyproject.toml":
		return sections(
			text,
			"tool.pytest",
			"tool.tox",
			"tool.nox",
			"tool.poe",
			"tool.pdm.scripts",
			"tool.hatch.envs",
		)
	case base == "setup.cfg" || base == "tox.ini":
		return sections(text, "tool:pytest", "pytest", "tox", "testenv")
	case base == ".npmrc" || base == ".yarnrc" || base == ".yarnrc.yml":
		return matching(text, npmKeys())
	case base == "pom.xml":
		return matching(xmlDependencies().ReplaceAllString(text, ""), testWord())
	case base == "CMakeLists.txt":
		return matching(text, testWord())
	case strings.HasSuffix(base, ".gradle") || strings.HasSuffix(base, ".gradle.kts") || base == "gradle.properties":
		return matching(gradleDependencies().ReplaceAllString(text, ""), testWord())
	}
	return r.ids[name] // its content as a whole
}

var (
	npmKeys = lazy.Regexp(`(?i)shell|node-options|ignore-scripts|prefix|globalconfig|userconfig|` +
		`yarn-path|yarnPath|plugins|\bpath:|nodeLinker|registry=file|pnpmfile`)
	testWord           = lazy.Regexp(`(?i)test|surefire|failsafe|skip|exclude|filter|onlyIf|enabled|apply|agent`)
	xmlDependencies    = lazy.Regexp(`(?s)<dependencies>.*?</dependencies>`)
	gradleDependencies = lazy.Regexp(`(?sm)^dependencies\s*\{.*?^\}`)
	moduleWord         = lazy.Regexp(`^(?:module|replace|exclude|ignore|toolchain|tool)\b`)
	cargoKey           = lazy.Regexp(`^(?:harness|test|doctest|autotests|build|links)\s*=|\bpath\s*=|\bgit\s*=`)
	elsewhere          = lazy.Regexp(`^(?:file|link|portal|workspace|git\S*|https?|npm|patch):|^[./~]`)
)

// matching are the lines of a text that an expression fits.
func matching(text string, keep *regexp.Regexp) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if keep.MatchString(line) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return b.String()
}

// moduleLines are the directives of a go.mod that say which code is built.
func moduleLines(text string) string {
	var b strings.Builder
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "//")
		line = oneline.Of(line)
		switch {
		case line == ")":
			block = ""
		case strings.HasSuffix(line, " ("):
			block = strings.TrimSuffix(line, "(")
		case line != "" && moduleWord().MatchString(block+line):
			b.WriteString(block + line + "\n")
		}
	}
	return b.String()
}

// sections are those of an INI or TOML text whose names begin with one of these.
func sections(text string, names ...string) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = slices.ContainsFunc(names, func(name string) bool {
				return strings.HasPrefix(strings.TrimLeft(line, "[ "), name)
			})
		}
		if in && line != "" && !strings.HasPrefix(line, "#") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// cargoPart is what of a Cargo.toml replaces code or says what is tested.
func cargoPart(text string) string {
	return sections(text, "patch", "replace", "test]", "[test", "lib") + matching(text, cargoKey())
}

// packagePart is what of a package.json says how tests run: the scripts that
// checks run, the settings of runners, and dependencies that do not come from
// the registry.
func (r *reading) packagePart(name, text string) string {
	var pkg map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &pkg) != nil {
		return text
	}
	var b strings.Builder
	for _, entry := range slices.Sorted(maps.Keys(r.scripts[name])) {
		fmt.Fprintf(&b, "%s: %s\n", entry, r.scripts[name][entry])
	}
	for _, key := range []string{
		"jest", "mocha", "ava", "nyc", "c8", "vitest", "babel", "config", "imports",
		"overrides", "resolutions", "pnpm", "workspaces", "packageManager",
	} {
		if value, ok := pkg[key]; ok {
			var compact bytes.Buffer
			if json.Compact(&compact, value) == nil {
				fmt.Fprintf(&b, "%s: %s\n", key, compact.String())
			}
		}
	}
	for _, key := range []string{"dependencies", "devDependencies", "optionalDependencies"} {
		var deps map[string]string
		if json.Unmarshal(pkg[key], &deps) != nil {
			continue
		}
		for _, dep := range slices.Sorted(maps.Keys(deps)) {
			if elsewhere().MatchString(deps[dep]) {
				fmt.Fprintf(&b, "%s: %s\n", dep, deps[dep])
			}
		}
	}
	return b.String()
}

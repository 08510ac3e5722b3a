package checks

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// fetch is how what a lock file names is fetched, in the folder of the file.
type fetch struct {
	files []string // their names, as path.Match has them
	tool  string
	line  string // %s is the file; none runs a script of the tree or of a package where the tool can do without
}

// fetches are those that are known.
var fetches = []fetch{
	{[]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, "go", "go mod download"},
	{[]string{"package-lock.json", "npm-shrinkwrap.json"}, "npm", "npm ci --ignore-scripts --no-audit --no-fund"},
	{[]string{"pnpm-lock.yaml"}, "pnpm", "pnpm install --frozen-lockfile --ignore-scripts"},
	{
		[]string{"yarn.lock"},
		"yarn",
		"if [ -e .yarnrc.yml ]; then yarn install --immutable --mode=skip-build; " +
			"else yarn install --frozen-lockfile --ignore-scripts; fi",
	},
	{[]string{"Cargo.lock", "Cargo.toml"}, "cargo", "cargo fetch"},
	{[]string{"poetry.lock"}, "poetry", "poetry install --no-root --no-interaction"},
	{[]string{"uv.lock"}, "uv", "uv sync --frozen --no-install-project"},
	{[]string{"Pipfile.lock"}, "pipenv", "pipenv sync"},
	{
		[]string{"requirements*.txt"},
		"pip",
		`pip download --quiet --only-binary :all: --dest "$(mktemp -d)" --requirement %s`,
	},
	{[]string{"Gemfile.lock"}, "bundle", "bundle cache --no-install"},
	{[]string{"composer.lock"}, "composer", "composer install --no-scripts --no-interaction"},
	{[]string{"pom.xml"}, "mvn", "mvn --batch-mode --quiet dependency:go-offline"},
	{
		[]string{"gradle.lockfile", "buildscript-gradle.lockfile", "verification-metadata.xml", "libs.versions.toml"},
		"gradle",
		"gradle --no-daemon --quiet dependencies",
	},
}

// lockNames are names of files that say, in whatever language, what a tree needs.
var lockNames = []string{
	"*.lock", "*.lockfile", "*-lock.json", "*-lock.yaml", "*.lock.json", "*.resolved", "*.sum", "packages.config",
	"pyproject.toml", "package.json", "Gemfile", "Pipfile", "composer.json", "mix.exs", "build.gradle",
	"build.gradle.kts", "settings.gradle", "settings.gradle.kts", "*.csproj", "MODULE.bazel",
}

// Fetch is the command line that fetches what a tree needs in which these files
// changed: setup if there is one, else what is known of the lock files among them. It
// is "" where no lock file changed or nothing is known. Locks are those files.
func Fetch(changed []string, setup string) (line string, locks []string) {
	var lines []string
	for _, file := range changed {
		known := slices.IndexFunc(fetches, func(f fetch) bool { return fits(f.files, path.Base(file)) })
		if known < 0 && (setup == "" || !fits(lockNames, path.Base(file))) {
			continue
		}
		locks = append(locks, file)
		if setup != "" {
			continue
		}
		f := fetches[known]
		run := strings.ReplaceAll(f.line, "%s", quote("./"+path.Base(file)))
		dir := quote("./" + path.Dir(file))
		line := fmt.Sprintf("if command -v %s >/dev/null && cd %s; then %s; fi", f.tool, dir, run)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	switch {
	case len(locks) == 0:
		return "", nil
	case setup != "":
		return setup, locks
	}
	for i := range lines {
		lines[i] = "(" + lines[i] + ")"
	}
	return strings.Join(lines, " && "), locks
}

// Tools gives, by the tool whose they are, the lock files among files that changed.
func Tools(changed []string) map[string][]string {
	out := map[string][]string{}
	for _, file := range changed {
		for _, f := range fetches {
			if fits(f.files, path.Base(file)) {
				out[f.tool] = append(out[f.tool], file)
				break
			}
		}
	}
	return out
}

func fits(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// quote makes a shell take a text as it is.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

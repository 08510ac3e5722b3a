package review

import (
	"path"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// IsBuildConfig reports whether a file configures a build or a test runner: a
// reviewer's new file of that kind could decide what a claimed line comes to.
func IsBuildConfig(name string) bool {
	base := path.Base(name)
	hidden := strings.HasPrefix(base, ".") || strings.Contains(name, "/.") || strings.HasPrefix(name, ".")
	return hidden || configFile().MatchString(base)
}

// configFile knows the files that build tools, test runners and interpreters
// look for by name.
var configFile = lazy.Regexp(`(?i)^(` + strings.Join([]string{
	`(gnu)?makefile|.*\.mk|cmakelists\.txt|justfile|taskfile\.ya?ml|meson\.build|build(\.bazel)?|workspace|` +
		`module\.bazel`,
	`go\.(mod|sum|work|work\.sum)|modules\.txt`,
	`conftest\.py|(site|user)customize\.py|.*\.pth|pytest\.ini|tox\.ini|setup\.(py|cfg)|pyproject\.toml|` +
		`noxfile\.py|pipfile|requirements.*\.txt`,
	`package(-lock)?\.json|pnpm-.*\.yaml|.*\.config\.(json|[cm]?[jt]s)|[jt]sconfig.*\.json|jest\.setup\..*|` +
		`vitest\.(setup|workspace)\..*`,
	`cargo\.(toml|lock)|build\.rs|rust-toolchain(\.toml)?`,
	`pom\.xml|.*\.gradle(\.kts)?|gradle\.properties|gradlew|mvnw`,
	`gemfile(\.lock)?|rakefile|composer\.json|phpunit\.xml(\.dist)?|mix\.exs`,
	`.*\.(csproj|fsproj|sln|slnx|props|targets)|global\.json|nuget\.config`,
}, "|") + `)$`)

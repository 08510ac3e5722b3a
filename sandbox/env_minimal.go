package sandbox

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// harmlessVars are variables that build tools go by and that hold no credentials, as
// glob patterns. What looks like a secret by its name or its value is left out all the
// same.
var harmlessVars = []string{
	"PATH", "HOME", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR",
	"PWD", "CI", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_*_DIRS",
	"SOURCE_DATE_EPOCH", "LOG_LEVEL", "*_LOG_LEVEL",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"EMAIL", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_SSL_*",
	"GOFLAGS", "GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOCACHEPROG", "GOMODCACHE", "GOENV", "GOOS", "GOARCH",
	"GOARM*",
	"GOAMD64", "GO386", "GOWASM", "GOMIPS*", "GOPPC64", "GORISCV64", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB",
	"GONOSUMCHECK",
	"GOSUMDB", "GOINSECURE", "GOVCS", "GOWORK", "GO111MODULE", "GOTOOLCHAIN", "GOTOOLDIR", "GOTMPDIR", "GOEXPERIMENT",
	"GOMAXPROCS",
	"GOGC", "GOMEMLIMIT", "GODEBUG", "GORACE", "GOTRACEBACK", "GOCOVERDIR", "GOFIPS140", "GOTELEMETRY", "GOAUTH",
	"GCCGO", "CGO_*",
	"CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "OBJCOPY", "FC", "HOSTCC", "ARCH", "CFLAGS",
	"CXXFLAGS", "CPPFLAGS",
	"LDFLAGS", "ASFLAGS", "FFLAGS", "LIBS", "ARFLAGS", "PKG_CONFIG*", "CMAKE_*", "CTEST_*", "MESON*", "NINJA*",
	"MAKE*", "MFLAGS",
	"LD_LIBRARY_PATH", "LD_RUN_PATH", "DYLD_*", "LIBRARY_PATH", "CPATH", "*_INCLUDE_PATH",
	"CCACHE_*", "SCCACHE_DIR", "MACOSX_DEPLOYMENT_TARGET", "SDKROOT", "DEVELOPER_DIR", "ASAN_OPTIONS",
	"UBSAN_OPTIONS",
	"TSAN_OPTIONS", "LSAN_OPTIONS", "MALLOC_*", "OMP_*",
	"NODE_ENV", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_*", "npm_config_*", "YARN_*",
	"PNPM_*", "COREPACK_*",
	"DENO_*", "BUN_*", "TS_NODE_*", "JEST_*", "VITEST_*", "PLAYWRIGHT_*", "PUPPETEER_*",
	"PYTHON*", "PIP_*", "UV_*", "POETRY_*", "PIPENV_*", "PIPX_*", "CONDA_*", "MAMBA_*", "VIRTUAL_ENV*", "PYTEST_*",
	"TOX_*", "NOX_*",
	"DJANGO_SETTINGS_MODULE", "FLASK_APP", "FLASK_DEBUG",
	"RUST*", "CARGO_*",
	"RUBY*", "GEM_*", "BUNDLE_PATH", "BUNDLE_GEMFILE", "BUNDLE_WITH", "BUNDLE_WITHOUT", "BUNDLE_JOBS", "BUNDLE_RETRY",
	"BUNDLE_FROZEN",
	"BUNDLE_DEPLOYMENT",
	"JAVA_*", "JDK_*", "MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "SBT_OPTS", "KOTLIN_*", "ANDROID_*",
	"SPRING_PROFILES_ACTIVE",
	"DOTNET_*", "MSBUILD*", "PHP*", "COMPOSER_*", "MIX_*", "ERL_*", "ELIXIR_*", "PERL*", "LUA_*", "R_*", "JULIA_*",
	"OPAM*", "NIX_*",
	"ASDF_*", "MISE_*", "PYENV_*", "NVM_*", "FNM_*", "VOLTA_*", "RBENV_*", "SDKMAN_*", "JENV_*", "NODENV_*",
	"GOENV_*",
}

// harmlessValue is what no credential looks like: a switch, a small number, a version.
var harmlessValue = lazy.Regexp(`^(?i:|[0-9]{1,5}|v?[0-9]+(\.[0-9]+){1,3}|true|false|yes|no|on|off|auto|always|never)$`)

// harmlessWord is what the name of an environment or a version may be.
var harmlessWord = lazy.Regexp(`^[A-Za-z][A-Za-z-]{0,19}$`)

// MinimalEnv is an environment with nothing but what is known to be harmless: the
// variables that build tools go by, switches and numbers, and paths that exist. Allow
// are patterns of further names.
func MinimalEnv(environ, allow []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return !isHarmless(name, value) && !matchesAny(name, allow)
	})
}

// NamedEnv is the entries whose names stand in a list, without patterns: what a user
// wants commands to have whatever it looks like. The keys and settings of this program
// are never among them.
func NamedEnv(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name := nameOf(entry)
		return !slices.Contains(names, name) || hasPrefix(strings.ToUpper(name), programPrefixes) ||
			isMisleading(strings.ToUpper(name))
	})
}

// WithheldEnv lists the names of variables that commands with such an environment do
// not get, in order.
func WithheldEnv(environ, env []string) []string {
	has := map[string]bool{}
	for _, entry := range env {
		has[nameOf(entry)] = true
	}
	var out []string
	for _, entry := range environ {
		if name := nameOf(entry); name != "" && !has[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func isHarmless(name, value string) bool {
	return matchesAny(name, harmlessVars) || harmlessValue().MatchString(value) || namesPaths(value) ||
		(strings.HasSuffix(name, "_ENV") || strings.HasSuffix(name, "_VERSION")) && harmlessWord().MatchString(value)
}

// namesPaths reports whether a value is a list of absolute paths that exist, or a
// single one, none of which leads to a service.
func namesPaths(value string) bool {
	return !slices.ContainsFunc(strings.Split(value, string(filepath.ListSeparator)), func(path string) bool {
		return !filepath.IsAbs(path) || len(existing([]string{path})) == 0 || leadsToService(path)
	})
}

// leadsToService reports whether services of the machine listen at a path or in it: at
// a socket, in a folder with one, or where they usually do (/run, which no command sees).
// A command that is told of one would do its work outside of the wall, or fail.
func leadsToService(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || within(real, "/run") {
		return true
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() {
		return err != nil || !info.Mode().IsRegular()
	}
	entries, _ := os.ReadDir(real) // what cannot be read says nothing to commands either
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 })
}

func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // what is no pattern matches nothing
		return ok
	})
}

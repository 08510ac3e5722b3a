package sandbox

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/userinfo"
)

// fixedEnv is set for every child, so that nothing asks or pages. It speaks of no colours:
// output is no terminal, and NO_COLOR would change what tests of colours see.
var fixedEnv = []string{
	"DEBIAN_FRONTEND=noninteractive",
	"GIT_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0",
	"PAGER=cat",
	"TERM=dumb",
}

// secretWords mark a secret when a part of the name, between underscores, is
// one or ends with one, plural or not: API_KEY, PGPASSWORD, NPM_AUTHTOKEN,
// SSH_AUTH_SOCK; but not KEYMAP, TOKENIZERS_PARALLELISM or GIT_AUTHOR_NAME.
var secretWords = []string{
	"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "DSN", "JWT", "COOKIE",
}

// secretParts mark a secret only as a whole part behind another: MYSQL_PWD is
// one, PWD is not.
var secretParts = []string{"PASS", "PAT", "PWD", "CRED", "CREDS"}

// secretNames hold addresses with passwords.
var secretNames = []string{"DATABASE_URL", "REDIS_URL", "MONGO_URL", "MONGODB_URI", "AMQP_URL", "PGSERVICE"}

// secretValue is how a value goes that is a key or holds one: what vendors let their
// keys begin with, a password with a name before it, and a name and a password.
var secretValue = lazy.Regexp(
	`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-|AKIA|ASIA|npm_|pypi-|hf_|eyJ)[A-Za-z0-9_-]{16}|` +
		`-----BEGIN |(?i:(?:^|[^a-z0-9])(?:password|passwd|pwd|secret|token|api_?key|access_?key|` +
		`bearer)["']?\s*[=:]\s*["']?[^\s"'$;]{3})|` +
		`(?i:^(?:bearer|basic)\s+\S)|^[^\s/:@=]+:[^\s/@]+@[^\s@]+$`,
)

// droppedPrefixes belong to accounts.
var droppedPrefixes = []string{"ANTHROPIC_", "AWS_", "AZURE_", "VAULT_"}

// programPrefixes belong to this program and to the model that it talks to.
var programPrefixes = []string{"OPENAI_", "PLAN_"}

// misleadingVars make a child work on another repository than the one that is its
// working directory, run code before the command, or colour its output.
var misleadingVars = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
	"GIT_IMPLICIT_WORK_TREE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
	"GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS",
	"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS",
	"CLICOLOR_FORCE", "FORCE_COLOR", "OLDPWD",
}

// misleadingPrefixes are families of the same kind: numbered git settings,
// git's traces into the output, and functions that stand in for commands.
var misleadingPrefixes = []string{"GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_TRACE", "BASH_FUNC_"}

// CleanEnv is the environment that children get: environ without what looks
// like a secret by its name, without this program's own settings (PLAN_*) and
// without what would mislead git or the shell, and with the settings that keep
// commands from asking and paging. What looks like a secret by its value
// goes too, and an address loses its name and password. The order is kept; the last
// of two equal names wins.
func CleanEnv(environ []string) []string {
	out := slices.DeleteFunc(filterEnv(environ, isDropped), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name != "PATH" && secretValue().MatchString(userinfo.Strip(value)) && !namesPaths(value)
	})
	for i, entry := range out {
		name, value, _ := strings.Cut(entry, "=")
		out[i] = name + "=" + userinfo.Strip(value)
	}
	return out
}

// OwnEnv is the environment of commands that the user wrote to be run in the
// user's name, where credentials are what they need: as CleanEnv makes it, but
// with everything in it that looks like a secret. The keys and settings of this
// program (OPENAI_*, PLAN_*) stay away from them too.
func OwnEnv(environ []string) []string {
	return filterEnv(environ, func(name string) bool {
		name = strings.ToUpper(name)
		return hasPrefix(name, programPrefixes) || isMisleading(name)
	})
}

// filterEnv is environ without the entries whose names are left out, each name
// once, and with what is fixed for every child.
func filterEnv(environ []string, leaves func(name string) bool) []string {
	out := make([]string, 0, len(environ)+len(fixedEnv))
	seen := map[string]bool{}
	for _, entry := range fixedEnv {
		seen[nameOf(entry)] = true
	}
	for _, entry := range slices.Backward(environ) {
		name := nameOf(entry)
		if name == "" || seen[name] || leaves(name) {
			continue
		}
		seen[name] = true
		out = append(out, entry)
	}
	slices.Reverse(out)
	return append(out, fixedEnv...)
}

// nameOf is the name of a NAME=value entry, "" for anything else.
func nameOf(entry string) string {
	name, _, ok := strings.Cut(entry, "=")
	if !ok {
		return ""
	}
	return name
}

// isMisleading takes a name in upper case.
func isMisleading(name string) bool {
	return slices.Contains(misleadingVars, name) || hasPrefix(name, misleadingPrefixes)
}

func isDropped(name string) bool {
	name = strings.ToUpper(name)
	if name == "GOAUTH" { // says how go finds credentials; holds none
		return false
	}
	if isMisleading(name) || hasPrefix(name, programPrefixes) || hasPrefix(name, droppedPrefixes) ||
		slices.ContainsFunc(secretNames, func(secret string) bool { return strings.HasSuffix(name, secret) }) {
		return true
	}
	for i, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' }) {
		if i > 0 && slices.Contains(secretParts, part) {
			return true
		}
		part = strings.TrimSuffix(part, "S")
		if slices.ContainsFunc(secretWords, func(word string) bool { return strings.HasSuffix(part, word) }) {
			return true
		}
	}
	return false
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// lookupEnv is the value of a variable in env, "" when it is not set.
func lookupEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

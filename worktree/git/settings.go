package git

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/sandbox"
)

// settings go before every git command: nothing of the repository's own runs
// in the background or on the side, and output does not depend on taste.
var settings = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"safe.bareRepository=explicit", // a folder that looks like a repository is none
	"gc.auto=0",
	"maintenance.auto=false",
	"core.quotePath=false",
	"core.safecrlf=false",
	"core.splitIndex=false",
	"core.logAllRefUpdates=false",
	"log.showSignature=false",
	"submodule.recurse=false",
	"advice.addEmbeddedRepo=false",
	// What the journal says is kept outlasts a loss of power: git's own default is to
	// leave loose objects and refs to the system. Indexes are private ones, but for
	// [Call.Index].
	"core.fsync=committed,derived-metadata,reference",
	"core.fsyncMethod=batch",
	"diff.suppressBlankEmpty=false",
}

// inherited are the only GIT_ variables that git gets from outside: where the
// user's and the system's settings are, where looking for .git ends, and who
// the user is. The others would point it at another repository or index.
var inherited = []string{
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_LFS_SKIP_SMUDGE",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
}

// environment is what git runs in. It asks no questions: an editor, a pager or a
// question for a password has no one to answer it, whatever settings name them.
func environment(environ []string, tree string) []string {
	env := slices.DeleteFunc(sandbox.CleanEnv(environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "GIT_EXEC_PATH" && tree != "" && Inside(value, tree):
			return true
		case strings.HasPrefix(name, "GIT_"):
			return !slices.Contains(inherited, name)
		}
		return name == "LC_ALL"
	})
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_PAGER=cat")
}

// networkEnv is the part of the environment that says where git may go. The list of
// protocols overrides every setting about them, and with a name that is no
// protocol git goes nowhere, nor does it fetch what a partial clone lacks.
func networkEnv(remote, file bool) []string {
	protocols := "none"
	var env []string
	if remote {
		protocols = "https:http:ssh:git"
		for _, name := range []string{"SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_ASKPASS"} {
			if v, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+v)
			}
		}
	}
	switch {
	case file && remote:
		protocols += ":file"
	case file:
		protocols = "file"
	}
	return append(env, "GIT_ALLOW_PROTOCOL="+protocols)
}

// setting is one entry of git's configuration. Names are as git prints them: with
// section and last part in lower case.
type setting struct{ name, value string }

// environ are variables that make settings count before those of all files.
func environ(over []setting) []string {
	if len(over) == 0 {
		return nil
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(over))}
	for i, s := range over {
		env = append(
			env,
			fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.name),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value),
		)
		if s.name == "core.gitproxy" { // the first of several counts, so no later one overrides it
			env = append(env, "GIT_PROXY_COMMAND=")
		}
	}
	return env
}

// Harmless reports whether a setting of that name has git run nothing and go
// nowhere, whatever its value is, also where git may look into repositories of
// which nothing else is known.
func Harmless(name string) bool {
	section, rest, _ := strings.Cut(name, ".")
	switch section {
	case "core":
		return slices.Contains(harmlessCore, rest)
	case "extensions":
		return rest == "objectformat"
	case "user", "branch", "submodule":
		return !strings.HasSuffix(name, ".update")
	case "remote":
		return strings.HasSuffix(name, ".url") || strings.HasSuffix(name, ".fetch")
	}
	return false
}

var harmlessCore = []string{
	"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
	"symlinks", "autocrlf", "eol", "safecrlf", "worktree", "sparsecheckout", "sparsecheckoutcone",
}

// inertSections have no names of programs in them: section.name, without a part
// between.
var inertSections = []string{
	"user", "author", "committer", "advice", "apply", "blame", "checkout", "color", "column", "commit", "extensions",
	"feature", "fetch", "format", "gc", "i18n", "index", "log", "maintenance", "merge", "pack", "pull", "push",
	"rebase", "repack", "rerere", "stash", "status", "tag", "versionsort", "worktree", "diff",
}

// inertCore are settings of core that name no program, besides the harmless.
var inertCore = []string{
	"abbrev", "attributesfile", "excludesfile", "checkstat", "commentchar", "compression", "createobject", "fsync",
	"fsyncmethod", "whitespace", "sharedrepository", "untrackedcache", "trustctime", "protectntfs", "protecthfs",
	"checkroundtripencoding", "multipackindex", "commitgraph", "notesref", "quotepath", "splitindex", "preloadindex",
	"hookspath", "fsmonitor", // these are set for every command
}

// noProgram is a value that cannot name one: a number, or yes or no.
var noProgram = lazy.Regexp(`^(-?[0-9]+[kKmMgG]?|true|false|yes|no|on|off)$`)

// inert reports whether a setting of a repository may count as it stands: it names
// no program. Transports are closed where a program could be reached by them.
func inert(s setting) bool {
	section, rest, _ := strings.Cut(s.name, ".")
	switch {
	case Harmless(s.name), section == "include", section == "includeif":
		return true // what is included is listed on its own
	case s.name == "diff.external":
		return false
	case s.name == "gpg.format":
		return true
	case section == "core" && slices.Contains(inertCore, rest):
		return true
	case section == "remote":
		return strings.HasSuffix(rest, ".promisor") || strings.HasSuffix(rest, ".partialclonefilter")
	case section == "http", section == "credential", section == "uploadpack":
		return false
	case !strings.Contains(rest, ".") && slices.Contains(inertSections, section):
		return true
	}
	return noProgram().MatchString(s.value)
}

// redirects reports whether a setting says how a server is reached, and no later one of
// its name takes that back.
func redirects(name string) bool {
	section, rest, _ := strings.Cut(name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	return section == "url" ||
		section == "remote" && slices.Contains([]string{"uploadpack", "receivepack", "vcs"}, last)
}

// neutral is what counts in place of a repository's own setting: what the user's
// own settings say, or what has git run nothing.
func neutral(name string, users []string) []setting {
	section, rest, _ := strings.Cut(name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	if section == "credential" && last == "helper" { // a list, which an empty one ends
		out := []setting{{name, ""}}
		for _, value := range users {
			out = append(out, setting{name, value})
		}
		return out
	}
	if len(users) > 0 {
		return []setting{{name, users[len(users)-1]}}
	}
	value := ""
	switch {
	case section == "merge" && last == "driver":
		value = "false" // a conflict, for a person to settle
	case name == "core.sshcommand":
		value = "ssh"
	case section == "protocol":
		value = "never"
	case section == "http" && last == "sslverify":
		value = "true"
	}
	out := []setting{{name, value}}
	if section == "filter" { // else git refuses files that are to go through it
		out = append(out, setting{strings.TrimSuffix(name, last) + "required", "false"})
	}
	return out
}

package keyed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/sandbox"
)

// login is a name and a password for a host.
type login struct{ host, name, password string }

// usualProxy is where go fetches from when nothing is said.
const usualProxy = "https://proxy.golang.org"

// golang prepares `go mod download` for the folders of changed files. What is not
// private comes from the user's proxies alone, and what is private from where the user
// says it is.
func (u User) golang(ctx context.Context, tree Tree, changed []string, f *Fetch) (refused, err error) {
	texts, dirs, err := copyModules(ctx, tree, changed, f)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return errors.New("there is no go.mod to go by"), nil
	}
	private := sandbox.GoSetting(u.Env, "GOPRIVATE")
	direct := cmp.Or(sandbox.GoSetting(u.Env, "GONOPROXY"), private)
	hosts := privateHosts(texts, direct)
	logins := u.logins(ctx, hosts)
	bySSH, none := withoutAgent, errNone
	if u.has(KeySSHAgent) {
		if f.Agent, none = u.agent(hosts, f); none == nil {
			bySSH = withAgent
		}
	}
	if len(logins) == 0 && f.Agent == nil {
		return none, nil
	}
	var netrc, store strings.Builder
	for _, l := range logins {
		fmt.Fprintf(&netrc, "machine %s login %s password %s\n", l.host, l.name, l.password)
		at := url.URL{
			Scheme: "https",
			Host:   l.host,
			User:   url.UserPassword(l.name, l.password),
		}
		fmt.Fprintln(&store, at.String())
		f.secrets = append(f.secrets, l.password)
	}
	f.Files[keysDir+"netrc"], f.Files[keysDir+"credentials"] = netrc.String(), store.String()
	f.Files[keysDir+"gitconfig"] = u.Git + gitSettings
	set := strings.Join([]string{
		`NETRC="$KEYS/netrc" GOAUTH=netrc GIT_CONFIG_GLOBAL="$KEYS/gitconfig" GIT_ALLOW_PROTOCOL=https:http:ssh`,
		bySSH,
		"GOFLAGS= GOWORK=off GOTOOLCHAIN=local GOVCS='*:git'",
		"GOPROXY=" + quote(strings.Join(u.goProxies(), ",")),
		"GOPRIVATE=" + quote(private),
		"GONOPROXY=" + quote(direct),
	}, " ")
	var lines []string
	for _, dir := range dirs {
		lines = append(lines, u.in(dir, set+" go mod download"))
	}
	f.Line = strings.Join(lines, " && ")
	return nil, nil
}

// copyModules copies all descriptions of modules, which may name each other, and lists
// the folders of those that changed.
func copyModules(
	ctx context.Context,
	tree Tree,
	changed []string,
	f *Fetch,
) (texts map[string]string, dirs []string, err error) {
	var names []string
	for name := range tree.IDs() {
		if base := path.Base(name); base == "go.mod" || base == "go.sum" {
			names = append(names, name)
		}
	}
	if texts, err = tree.ReadLocks(ctx, names...); err != nil {
		return nil, nil, err
	}
	for name, text := range texts {
		if f.put(name, text) != nil { // then it is not there for the others
			continue
		}
		if dir := path.Dir(name); path.Base(name) == "go.mod" && touches(dir, changed) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return texts, dirs, nil
}

// logins are those of the user for the hosts of private modules, and for all that netrc
// names.
func (u User) logins(ctx context.Context, private []string) []login {
	var out []login
	if u.has(KeyNetrc) {
		out = u.netrc()
	}
	for _, host := range private {
		if !u.has(KeyGitCredential) || slices.ContainsFunc(out, func(l login) bool { return l.host == host }) {
			continue
		}
		if name, password, err := u.Ask(ctx, host); err == nil { // else go says what it lacks
			out = append(out, login{host, name, password})
		}
	}
	return slices.DeleteFunc(out, func(l login) bool { // netrc has no way to write these
		return l.password == "" || strings.ContainsAny(l.host+l.name+l.password, " \t\r\n")
	})
}

// touches reports whether a file of a folder changed.
func touches(dir string, changed []string) bool {
	return slices.ContainsFunc(changed, func(name string) bool {
		return path.Dir(name) == dir || strings.HasPrefix(path.Base(name), "go.work")
	})
}

// gitSettings bind keys to their hosts, and have git run nothing of what it fetched.
const gitSettings = `
[core]
	hooksPath = /dev/null
	fsmonitor = false
	askPass =
[credential]
	helper =
	helper = "!git credential-store --file \"$KEYS/credentials\""
	useHttpPath = false
`

// goProxies are the servers that go asks for modules, without the way around them.
func (u User) goProxies() []string {
	set := sandbox.GoSetting(u.Env, "GOPROXY")
	if set == "" {
		set = usualProxy
	}
	var out []string
	for _, proxy := range strings.FieldsFunc(set, func(r rune) bool { return r == ',' || r == '|' }) {
		at, err := url.Parse(strings.TrimSpace(proxy))
		if err == nil && (at.Scheme == "https" || at.Scheme == "http") && at.Host != "" {
			at.User = nil
			out = append(out, at.String())
		}
	}
	if len(out) == 0 {
		return []string{"off"}
	}
	return out
}

// modulePath is what a module's path looks like, with its host.
var modulePath = lazy.Regexp(`[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+(?:/[\w.~-]+)*`)

// privateHosts lists the hosts of modules that go fetches without a proxy, as far as a
// pattern names the host, or the domain that it is of.
func privateHosts(texts map[string]string, direct string) []string {
	named := strings.Join(slices.DeleteFunc(strings.Split(direct, ","), func(pattern string) bool {
		host, _, _ := strings.Cut(strings.TrimSpace(pattern), "/")
		domain, isDomain := strings.CutPrefix(host, "*.")
		return strings.ContainsAny(domain, "*?[\\") || isDomain && !strings.Contains(domain, ".")
	}), ",")
	var out []string
	for _, text := range texts {
		for _, module := range modulePath().FindAllString(text, -1) {
			host, _, _ := strings.Cut(module, "/")
			if !slices.Contains(out, host) && isPrivate(module, named) {
				out = append(out, host)
			}
		}
	}
	slices.Sort(out)
	return out
}

// isPrivate reports whether one of the patterns of a list is that of a module or of a
// path that it lies below, as go has it.
func isPrivate(module, patterns string) bool {
	parts := strings.Split(module, "/")
	return slices.ContainsFunc(strings.Split(patterns, ","), func(pattern string) bool {
		pattern = strings.Trim(pattern, "/ ")
		n := strings.Count(pattern, "/") + 1
		if pattern == "" || n > len(parts) {
			return false
		}
		ok, err := path.Match(pattern, strings.Join(parts[:n], "/"))
		return ok && err == nil
	})
}

// netrc reads the hosts that the user's file names. What it says for any host at all
// does not count.
func (u User) netrc() []login {
	file := u.env("NETRC")
	if file == "" {
		file = filepath.Join(u.env("HOME"), ".netrc")
	}
	data, _ := plainfile.Read(file) // one that cannot be read names none
	var words []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) > 0 && fields[0] == "macdef" { // what follows may be commands of ftp
			break
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			words = append(words, fields...)
		}
	}
	var out []login
	at := &login{} // thrown away, as are those of any host
	for i, word := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch word {
		case "machine":
			out = append(out, login{host: next})
			at = &out[len(out)-1]
		case "default":
			at = &login{}
		case "login":
			at.name = next
		case "password":
			at.password = next
		}
	}
	return out
}

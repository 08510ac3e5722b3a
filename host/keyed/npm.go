package keyed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/plainfile"
)

// publicRegistries are where npm and others fetch from when nothing is said.
var publicRegistries = []string{"https://registry.npmjs.org", "https://registry.yarnpkg.com"}

// npmCredential is the last part of the name of a setting that is a key for a host, or
// what belongs to one.
var npmCredential = []string{"_authToken", "_auth", "username", "_password", "email", "always-auth"}

// npmHarmless are settings that say how npm reaches servers, and nothing else.
var npmHarmless = []string{"cafile", "proxy", "https-proxy", "noproxy", "strict-ssl"}

// npmrc is what counts of the user's settings for npm.
type npmrc struct {
	text    string
	origins []string // that it names, as https://host
	secrets []string
}

// variable is one in a setting, which npm replaces by its value.
var variable = lazy.Regexp(`\$\{([A-Za-z_][A-Za-z0-9_]*)\??\}`)

// npmSettings reads the user's settings for npm.
func (u User) npmSettings() npmrc {
	file := u.env("npm_config_userconfig", "NPM_CONFIG_USERCONFIG")
	if file == "" {
		file = filepath.Join(u.env("HOME"), ".npmrc")
	}
	data, _ := plainfile.Read(file) // one that cannot be read says nothing
	out := npmrc{origins: slices.Clone(publicRegistries)}
	var text strings.Builder
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		if !ok || key == "" || strings.ContainsAny(key[:1], "#;") {
			continue
		}
		missing := false
		value = variable().ReplaceAllStringFunc(value, func(name string) string {
			set := u.env(variable().FindStringSubmatch(name)[1])
			missing = missing || set == ""
			return set
		})
		if missing || strings.ContainsAny(value, "\r\n") || !out.add(key, value) {
			continue
		}
		fmt.Fprintf(&text, "%s=%s\n", key, value)
	}
	out.text = text.String()
	return out
}

// add reports whether a setting counts, and keeps what it names.
func (n *npmrc) add(key, value string) bool {
	if key == "registry" || strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry") {
		origin := originOf(value)
		n.origins = append(n.origins, origin)
		return origin != ""
	}
	host, isHost := strings.CutPrefix(key, "//")
	if !isHost {
		return slices.Contains(npmHarmless, key)
	}
	i := strings.LastIndex(host, ":")
	if i < 0 || !slices.Contains(npmCredential, host[i+1:]) {
		return false
	}
	origin := originOf("https://" + host[:i])
	if origin == "" {
		return false
	}
	n.origins = append(n.origins, origin)
	if strings.HasPrefix(host[i+1:], "_") && value != "" {
		n.secrets = append(n.secrets, value)
	}
	return true
}

// originOf is the scheme, host and port of an address of a server, "" for anything else.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// npm prepares `npm ci` for lock files.
func (u User) npm(ctx context.Context, tree Tree, locks []string, f *Fetch) (refused, err error) {
	settings := u.npmSettings()
	if len(settings.secrets) == 0 {
		return errNone, nil
	}
	var lines []string
	for _, lock := range locks {
		dir := path.Dir(lock)
		manifest := path.Join(dir, "package.json")
		texts, err := tree.ReadLocks(ctx, lock, manifest)
		if err != nil {
			return nil, err
		}
		text, links, refused := npmLock(texts[lock], settings.origins)
		if refused != nil {
			return fmt.Errorf("%s: %w", lock, refused), nil
		}
		manifests := []string{manifest}
		for _, link := range links {
			manifests = append(manifests, path.Join(dir, link, "package.json"))
		}
		if texts, err = tree.ReadLocks(ctx, manifests...); err != nil {
			return nil, err
		}
		for _, name := range manifests {
			copied, refused := npmManifest(texts[name])
			if refused = errors.Join(refused, f.put(name, copied)); refused != nil {
				return fmt.Errorf("%s: %w", name, refused), nil
			}
		}
		if refused := f.put(path.Join(dir, "package-lock.json"), text); refused != nil {
			return refused, nil
		}
		lines = append(lines, u.in(dir, `NPM_CONFIG_USERCONFIG="$KEYS/npmrc" npm ci --ignore-scripts --no-audit `+
			`--no-fund --no-update-notifier`))
	}
	f.Files[keysDir+"npmrc"], f.secrets = settings.text, settings.secrets
	f.Line = strings.Join(lines, " && ")
	return nil, nil
}

// npmDependencies are the parts of a package's description that name others.
var npmDependencies = []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"}

// npmFlags are further parts by which npm decides what to fetch.
var npmFlags = []string{
	"name", "integrity", "dev", "optional", "devOptional", "peer", "link", "inBundle", "extraneous", "engines", "os",
	"cpu", "libc", "hasInstallScript", "peerDependenciesMeta", "bundleDependencies", "bundledDependencies",
}

// npmVersion is what a version may be, and npmRange what a dependency may say: no
// address, no repository, no folder.
var (
	npmVersion = lazy.Regexp(`^[0-9A-Za-z.+-]*$`)
	npmRange   = lazy.Regexp(`^(npm:(@[\w.-]+/)?[\w.-]+(@|$))?([\w*^~<>=|+ -][\w.*^~<>=|+ -]*)?$`)
)

// npmPackage copies what counts of a package's description.
func npmPackage(in map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for _, key := range npmFlags {
		if value, ok := in[key]; ok {
			out[key] = value
		}
	}
	if version, ok := in["version"].(string); ok {
		if !npmVersion().MatchString(version) {
			return nil, fmt.Errorf("it names the version %q", version)
		}
		out["version"] = version
	}
	for _, key := range npmDependencies {
		deps, _ := in[key].(map[string]any) // npm takes nothing else
		for name, value := range deps {
			if text, ok := value.(string); !ok || !npmRange().MatchString(text) {
				return nil, fmt.Errorf("it names %s as %q, which no registry has", name, fmt.Sprint(value))
			}
		}
		if len(deps) > 0 {
			out[key] = deps
		}
	}
	return out, nil
}

// npmManifest is a package.json with nothing but what it depends on.
func npmManifest(text string) (string, error) {
	var in map[string]any
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return "", errors.New("it cannot be read")
	}
	out, err := npmPackage(in)
	if err != nil {
		return "", err
	}
	for _, key := range []string{"overrides", "workspaces"} {
		value, ok := in[key]
		if !ok {
			continue
		}
		if !localStrings(value) {
			return "", fmt.Errorf("what it says of %s names more than versions and folders below", key)
		}
		out[key] = value
	}
	data, err := json.Marshal(out)
	return string(data), err
}

// localStrings reports whether no text in a value leads out of a folder.
func localStrings(value any) bool {
	switch v := value.(type) {
	case string:
		return npmRange().MatchString(v) || !strings.Contains(v, ":") && filepath.IsLocal(v)
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !localStrings(v) })
	case map[string]any:
		for _, v := range v {
			if !localStrings(v) {
				return false
			}
		}
	}
	return true
}

// npmLock is a lock file with nothing but what is fetched, all of it from origins. Links
// are the folders of the tree that it takes packages from.
func npmLock(text string, origins []string) (out string, links []string, err error) {
	var in struct {
		Name            string                    `json:"name,omitempty"`
		Version         string                    `json:"version,omitempty"`
		LockfileVersion int                       `json:"lockfileVersion"`
		Requires        bool                      `json:"requires"`
		Packages        map[string]map[string]any `json:"packages"`
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return "", nil, errors.New("it cannot be read")
	}
	if in.LockfileVersion != 2 && in.LockfileVersion != 3 {
		return "", nil, fmt.Errorf(
			"it is of version %d, and only those of npm 7 and later name all",
			in.LockfileVersion,
		)
	}
	for at, p := range in.Packages {
		config, err := npmPackage(p)
		if err != nil {
			return "", nil, err
		}
		resolved, _ := p["resolved"].(string) // "" where npm looks in the registry
		link, _ := p["link"].(bool)
		switch {
		case !filepath.IsLocal(path.Join(".", at)):
			return "", nil, fmt.Errorf("it puts a package at %q", at)
		case link && resolved == path.Clean(resolved) && filepath.IsLocal(resolved) && !strings.Contains(resolved, ":"):
			links = append(links, resolved)
		case link || resolved != "" && !slices.Contains(origins, originOf(resolved)):
			return "", nil, fmt.Errorf("it names %q, and your settings name no such server", resolved)
		}
		if resolved != "" {
			config["resolved"] = resolved
		}
		in.Packages[at] = config
	}
	in.LockfileVersion, in.Version = 3, ""
	data, err := json.Marshal(in)
	return string(data), links, err
}

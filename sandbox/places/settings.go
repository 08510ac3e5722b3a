package places

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/sandbox"
)

// settings is a settings file of a tool: where it stands, how it is written, and which
// of its keys are known to hold no credentials. All others are left out of what commands
// see.
type settings struct {
	path  string // below the home
	name  string // of the variable that names such a file, "" if there is none
	style style
	keys  []string // glob patterns of section.key, in lower case
}

// known has one row a file.
var known = []settings{
	{".config/git/config", "GIT_CONFIG_GLOBAL", styleGit, gitKeys},
	{".gitconfig", "GIT_CONFIG_GLOBAL", styleGit, gitKeys},
	{".npmrc", "NPM_CONFIG_USERCONFIG", styleProperties, []string{
		"registry", "@*:registry", "cache", "prefix", "proxy", "https-proxy", "noproxy", "strict-ssl", "cafile",
		"save*", "fund",
		"audit*", "engine-strict", "legacy-peer-deps", "ignore-scripts", "loglevel", "progress", "package-lock",
		"shamefully-hoist",
		"store-dir", "node-linker", "auto-install-peers", "strict-peer-dependencies", "prefer-*", "fetch-*",
		"maxsockets",
		"node-options", "script-shell", "update-notifier", "color", "unicode", "global-*dir", "public-hoist-pattern*",
		"hoist*",
	}},
	{".yarnrc.yml", "", styleYAML, []string{
		"nodelinker", "npmregistryserver", "yarnpath", "cachefolder", "globalfolder", "enable*", "compressionlevel",
		"checksumbehavior",
		"defaultsemverrangeprefix", "httpproxy", "httpsproxy", "networkconcurrency", "pnp*", "nmmode",
		"nmhoistinglimits",
	}},
	{".config/pip/pip.conf", "PIP_CONFIG_FILE", styleINI, pipKeys},
	{".pip/pip.conf", "PIP_CONFIG_FILE", styleINI, pipKeys},
	{"Library/Application Support/pip/pip.conf", "PIP_CONFIG_FILE", styleINI, pipKeys},
	{".config/uv/uv.toml", "UV_CONFIG_FILE", styleTOML, []string{
		"index-url", "extra-index-url", "find-links", "cache-dir", "python-*", "link-mode", "resolution",
		"prerelease", "offline",
		"no-*", "native-tls", "index.url", "index.name", "index.default", "index.explicit", "pip.*", "concurrent-*",
		"compile-bytecode",
	}},
	{".config/pypoetry/config.toml", "", styleTOML, poetryKeys},
	{"Library/Application Support/pypoetry/config.toml", "", styleTOML, poetryKeys},
	{".condarc", "CONDARC", styleYAML, []string{
		"channels", "default_channels", "channel_*", "custom_channels", "envs_dirs", "pkgs_dirs", "auto_*",
		"always_*", "solver",
		"ssl_verify", "show_*", "changeps1", "report_errors", "offline", "pip_interop_enabled", "channel_priority",
	}},
	{".config/go/env", "GOENV", styleProperties, []string{"go*", "cgo_*", "cc", "cxx", "ar", "pkg_config", "gccgo"}},
	{"Library/Application Support/go/env", "GOENV", styleProperties, []string{
		"go*", "cgo_*", "cc", "cxx", "ar", "pkg_config",
	}},
	{".cargo/config.toml", "", styleTOML, cargoKeys},
	{".cargo/config", "", styleTOML, cargoKeys},
	{".gradle/gradle.properties", "", styleProperties, []string{
		"org.gradle.*", "kotlin.*", "android.use*", "android.enable*", "android.nontransitiverclass", "ksp.*",
		"kapt.*",
		"systemprop.http*.proxyhost", "systemprop.http*.proxyport", "systemprop.http*.nonproxyhosts",
	}},
	{".m2/settings.xml", "", styleXML, []string{
		"settings/localrepository", "settings/interactivemode", "settings/offline", "settings/plugingroups",
		"settings/mirrors",
		"settings/activeprofiles", "settings/profiles/profile/id", "settings/profiles/profile/activation",
		"settings/profiles/profile/repositories", "settings/profiles/profile/pluginrepositories",
	}},
	{".nuget/NuGet/NuGet.Config", "", styleXML, nugetKeys},
	{".config/NuGet/NuGet.Config", "", styleXML, nugetKeys},
	{".bundle/config", "BUNDLE_USER_CONFIG", styleYAML, []string{
		"bundle_path", "bundle_jobs", "bundle_retry", "bundle_without", "bundle_with", "bundle_deployment",
		"bundle_frozen", "bundle_bin",
		"bundle_mirror__*", "bundle_cache_*", "bundle_no_*", "bundle_force_*", "bundle_prefer_*", "bundle_system",
		"bundle_build__*",
	}},
	{".gemrc", "GEMRC", styleYAML, []string{
		":sources", ":verbose", ":update_sources", ":backtrace", "gem", "install", "update", ":benchmark",
	}},
	{".config/mise/config.toml", "MISE_GLOBAL_CONFIG_FILE", styleTOML, []string{
		"tools.*", "settings.*", "alias.*", "plugins.*",
	}},
	{".asdfrc", "ASDF_CONFIG_FILE", styleProperties, []string{
		"legacy_version_file", "always_keep_download", "plugin_*", "concurrency",
	}},
	{".curlrc", "", styleProperties, []string{
		"proto*", "tlsv1*", "cacert", "location", "silent", "show-error", "ipv4", "retry*",
	}},
}

var (
	gitKeys = []string{
		"user.name", "user.email", "user.signingkey", "user.useconfigonly", "author.*", "committer.*", "core.*",
		"init.*", "advice.*", "apply.*", "blame.*", "branch.*", "checkout.*",
		"clean.*", "clone.*", "color.*", "column.*", "commit.*", "diff.*", "difftool.*", "extensions.*", "feature.*",
		"fetch.*",
		"filter.*", "format.*", "gc.*", "gpg.format", "grep.*", "help.*", "http.sslverify", "http.sslcainfo",
		"http.sslcapath",
		"http.proxy", "http.version", "http.postbuffer", "i18n.*", "include.path", "index.*", "interactive.*",
		"lfs.*", "log.*",
		"maintenance.*", "merge.*", "mergetool.*", "notes.*", "pack.*", "pager.*", "protocol.*", "pull.*", "push.*",
		"rebase.*",
		"rerere.*", "safe.*", "stash.*", "status.*", "submodule.*", "tag.*", "tar.*", "transfer.*", "url.*",
		"versionsort.*",
		"worktree.*",
	}
	pipKeys = []string{
		"*.index-url", "*.extra-index-url", "*.find-links", "*.no-index", "*.trusted-host", "*.timeout", "*.retries",
		"*.cert",
		"*.proxy", "*.cache-dir", "*.no-cache-dir", "*.disable-pip-version-check", "*.require-virtualenv",
		"*.prefer-binary",
		"*.no-binary", "*.only-binary", "*.break-system-packages", "*.user", "*.quiet", "*.no-input",
		"*.no-build-isolation",
	}
	poetryKeys = []string{
		"cache-dir", "data-dir", "virtualenvs.*", "repositories.*.url", "installer.*", "solver.*", "experimental.*",
		"requests.*",
		"system-git-client", "keyring.enabled", "python.*",
	}
	cargoKeys = []string{
		"build.*", "net.*", "term.*", "target.*", "profile.*", "alias.*", "source.*", "registries.*.index",
		"registries.*.protocol",
		"registry.default", "registry.index", "http.proxy", "http.cainfo", "http.check-revoke", "http.timeout",
		"http.multiplexing",
		"unstable.*", "doc.*", "install.*", "cargo-new.*", "paths", "patch.*", "future-incompat-report.*",
		"resolver.*",
	}
	nugetKeys = []string{
		"configuration/packagesources", "configuration/packagesourcemapping", "configuration/disabledpackagesources",
		"configuration/activepackagesource", "configuration/fallbackpackagefolders",
	}
)

// mostSettings bounds how much is read of a settings file, in bytes.
const mostSettings = 1 << 20

// Settings lists the settings files of the home as commands may see them.
func (h Home) Settings() []sandbox.Setting {
	if h.dir == "" {
		return nil
	}
	var out []sandbox.Setting
	for _, s := range known {
		path := h.path(s.path)
		if named := h.env[s.name]; s.name != "" && filepath.IsAbs(named) {
			path = named
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostSettings {
			continue
		}
		data, err := plainfile.Read(path)
		if err != nil {
			continue
		}
		if s.style == styleGit {
			data = h.included(data, filepath.Dir(path), 0)
		}
		clean := s.clean(string(data))
		out = append(out, sandbox.Setting{
			Path:    path,
			Data:    []byte(clean),
			Changed: clean != string(data),
			Var:     s.name,
		})
	}
	return out
}

// deepest is how deep settings of git may include others.
const deepest = 4

// included is a settings file of git with those that it always includes in their
// places.
func (h Home) included(data []byte, dir string, depth int) []byte {
	var out strings.Builder
	section := ""
	for line := range strings.Lines(string(data)) {
		name, isHeader := header(line)
		if isHeader {
			section = name
		}
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if isHeader || !ok || section != "include" || !strings.EqualFold(strings.TrimSpace(key), "path") {
			out.WriteString(line)
			continue
		}
		path := strings.Trim(strings.TrimSpace(value), `"`)
		switch rest, home := strings.CutPrefix(path, "~/"); {
		case home:
			path = filepath.Join(h.dir, rest)
		case !filepath.IsAbs(path):
			path = filepath.Join(dir, path)
		}
		text, err := plainfile.Read(path)
		if err != nil || depth >= deepest || len(text) > mostSettings {
			continue
		}
		out.Write(h.included(text, filepath.Dir(path), depth+1))
		out.WriteString("\n[include]\n")
	}
	return []byte(out.String())
}

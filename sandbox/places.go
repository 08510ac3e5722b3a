package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/plainfile"
)

// homeOf is the home directory in an environment, "/" if there is none.
func homeOf(env []string) string {
	if home := lookupEnv(env, "HOME"); filepath.IsAbs(home) {
		return filepath.Clean(home)
	}
	return "/"
}

// secretPlaces are where programs keep keys, below a home directory, as glob
// patterns.
var secretPlaces = []string{
	".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", "Library/Keychains",
	".aws", ".azure", ".oci", ".boto", ".config/gcloud", ".config/doctl", ".config/hcloud", ".config/rclone", ".s3cfg",
	".kube", ".docker", ".config/containers", ".config/helm", ".vault-token", ".terraform.d", ".config/op",
	".config/sops",
	".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
	".pypirc", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml",
	".gradle/gradle.properties",
	".pgpass", ".my.cnf", ".mylogin.cnf", ".databrickscfg", ".snowflake", ".config/sqlcl",
	".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history",
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".thunderbird",
	".*/*credential*", ".*/auth.json", ".config/*/*credential*", ".config/*/*token*", ".config/*/auth.json",
	".local/share/*/auth.json", ".local/share/*/*credential*",
}

// maybeSecret are files that are needed by builds and that some people keep
// keys in: they are hidden if they hold one of these words.
var maybeSecret = map[string][]string{
	".npmrc":                     {"_auth", "_password"},
	".yarnrc.yml":                {"npmAuthToken", "npmAuthIdent"},
	".config/pip/pip.conf":       {"@"},
	".pip/pip.conf":              {"@"},
	".gitconfig":                 {"extraheader", "://oauth2:", "://x-access-token:"},
	".config/git/config":         {"extraheader", "://oauth2:", "://x-access-token:"},
	".config/go/env":             {"@"},
	".composer/auth.json":        {":"},
	".bundle/config":             {"BUNDLE_"},
	".config/nix/nix.conf":       {"access-tokens"},
	".config/pypoetry/":          {"auth"},
	".condarc":                   {"@"},
	".config/uv/uv.toml":         {"@"},
	".cargo/config.toml":         {"token"},
	".config/NuGet/NuGet.Config": {"Password"},
}

// secretFiles are environment variables that name a file or folder with keys.
var secretFiles = []string{
	"KUBECONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
	"NETRC", "GNUPGHOME", "DOCKER_CONFIG", "CLOUDSDK_CONFIG", "GH_CONFIG_DIR", "AZURE_CONFIG_DIR",
	"PGPASSFILE", "BOTO_CONFIG", "VAULT_TOKEN_FILE",
}

// Secrets lists the places of this machine where keys are kept, as far as they
// exist: what nothing behind a wall may read. Env is the user's environment.
func Secrets(env []string) []string {
	out := []string{"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/krb5.keytab"}
	for _, name := range secretFiles {
		for _, path := range filepath.SplitList(lookupEnv(env, name)) {
			if filepath.IsAbs(path) {
				out = append(out, path)
			}
		}
	}
	home := homeOf(env)
	if home == "/" {
		return existing(out)
	}
	for _, pattern := range secretPlaces {
		matches, _ := filepath.Glob(filepath.Join(escapeGlob(home), pattern)) // the patterns are fine
		out = append(out, matches...)
	}
	for name, words := range maybeSecret {
		if path := filepath.Join(home, name); containsAny(path, words) {
			out = append(out, path)
		}
	}
	return existing(out)
}

// containsAny reports whether a file holds one of the words. A file that cannot be
// read counts as one that does.
func containsAny(path string, words []string) bool {
	data, err := plainfile.Read(path)
	if err != nil {
		return !os.IsNotExist(err)
	}
	for _, word := range words {
		if strings.Contains(string(data), word) {
			return true
		}
	}
	return false
}

func existing(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// escapeGlob makes a directory's name safe to begin a pattern with.
func escapeGlob(dir string) string {
	if !strings.ContainsAny(dir, `\*?[`) {
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func absoluteOr(path, otherwise string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return otherwise
}

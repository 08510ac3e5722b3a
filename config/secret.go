package config

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Secret is a value that must not be shown, under the name it is known by.
type Secret struct{ Name, Value string }

// shortest is the length in bytes below which a value is not taken for a
// secret: replacing it would hit ordinary text.
const shortest = 8

// Secrets finds the values of an environment ("NAME=value", as os.Environ
// gives it) that look secret: by the variable's name, or because they are a
// password in a URL. Short values, ordinary words and paths are left alone.
func Secrets(environ []string) []Secret {
	home := ""
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "HOME="); ok {
			home = value
		}
	}
	var out []Secret
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		value = strings.TrimSpace(value)
		if password, ok := urlPassword(value); ok {
			value = password
		} else if !looksSecret(name) || isPath(value, home) {
			continue
		}
		if len(value) >= shortest && !isOrdinary(value) {
			out = append(out, Secret{Name: name, Value: value})
		}
	}
	return out
}

// Redactor makes a function that replaces every known value by a mark with
// its name. Where values overlap the longest counts. The function may be used
// from several goroutines.
func Redactor(secrets []Secret) func(string) string {
	sorted := slices.SortedFunc(slices.Values(secrets), func(a, b Secret) int {
		return cmp.Or(cmp.Compare(len(b.Value), len(a.Value)), cmp.Compare(a.Name, b.Name))
	})
	var pairs []string
	for _, s := range sorted {
		if s.Value != "" {
			pairs = append(pairs, s.Value, "«secret "+s.Name+"»")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// KnownSecrets are values that must not be shown, of which more may become known
// while a program runs, such as what a key_command prints. The methods may be
// called from several goroutines.
type KnownSecrets struct {
	mu      sync.Mutex // for adding
	secrets []Secret
	replace atomic.Pointer[func(string) string]
}

// NewKnownSecrets begins with these.
func NewKnownSecrets(secrets []Secret) *KnownSecrets {
	k := &KnownSecrets{}
	k.Add(secrets...)
	return k
}

// Add makes values known. Those too short or too ordinary to be found in a text
// are left alone.
func (k *KnownSecrets) Add(secrets ...Secret) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range secrets {
		s.Value = strings.TrimSpace(s.Value)
		if len(s.Value) >= shortest && !isOrdinary(s.Value) && !slices.Contains(k.secrets, s) {
			k.secrets = append(k.secrets, s)
		}
	}
	replace := Redactor(k.secrets)
	k.replace.Store(&replace)
}

// Redact replaces every value that is known by now.
func (k *KnownSecrets) Redact(text string) string { return (*k.replace.Load())(text) }

// secretWords and secretEnds are what a part of a secret's name says: the part
// between underscores, whole or at its end ("authToken", "APIKEY").
var (
	secretWords = []string{
		"KEY", "KEYS", "PASS", "PAT", "PWD", "AUTH", "CRED", "CREDS", "CREDENTIAL", "CREDENTIALS", "APIKEY",
		"APIKEYS", "DSN",
		"AUTHORIZATION", "BEARER", "COOKIE", "SIG", "SIGNATURE",
	}
	secretEnds = []string{
		"TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE",
		"APIKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHKEY", "SECRETKEY", "SIGNINGKEY", "ENCRYPTIONKEY",
	}
)

func looksSecret(name string) bool {
	switch name {
	case "PWD", "OLDPWD":
		return false
	}
	separates := func(r rune) bool { return r == '_' || r == '-' || r == '.' }
	for _, part := range strings.FieldsFunc(strings.ToUpper(name), separates) {
		ends := func(end string) bool { return strings.HasSuffix(part, end) }
		if slices.Contains(secretWords, part) || slices.ContainsFunc(secretEnds, ends) {
			return true
		}
	}
	return false
}

// urlPassword is the password of an address like scheme://user:password@host.
func urlPassword(value string) (string, bool) {
	if !strings.Contains(value, "://") {
		return "", false
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return "", false
	}
	// The text as it stands is what has to be found again, not its meaning.
	_, rest, _ := strings.Cut(value, "://")
	user := rest[:max(0, strings.LastIndex(rest[:endOfHost(rest)], "@"))]
	_, password, ok := strings.Cut(user, ":")
	return password, ok
}

func endOfHost(rest string) int {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return i
	}
	return len(rest)
}

func isPath(value, home string) bool {
	return beginsPath(value) || (filepath.IsAbs(home) && home != "/" && strings.HasPrefix(value, home+"/"))
}

// beginsPath knows how a path of this or another machine starts. A slash alone
// does not make one: it is a digit of base64.
func beginsPath(value string) bool {
	if rest, ok := strings.CutPrefix(value, "/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		return len(first) > 1 && strings.Trim(first, lower) == "" ||
			slices.Contains([]string{"Users", "Library", "Applications"}, first)
	}
	drive, _, ok := strings.Cut(value, `:\`)
	return ok && len(drive) == 1 && strings.Contains(lower, strings.ToLower(drive)) ||
		strings.HasPrefix(value, "~/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../")
}

const lower = "abcdefghijklmnopqrstuvwxyz"

// isOrdinary reports whether a value is a word that text is full of.
func isOrdinary(value string) bool {
	switch strings.ToLower(value) {
	case "password", "passwords", "disabled", "required", "optional", "default", "undefined", "anonymous", "username",
		"localhost", "production", "development", "internal", "external", "keychain", "keyring", "osxkeychain",
		"ssh-agent", "gnome-keyring", "publickey", "changeme", "change-me", "not-needed", "not-used",
		"no-key-required", "placeholder":
		return true
	}
	return strings.Trim(value, value[:1]) == "" // "********"
}

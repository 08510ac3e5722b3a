// Package userinfo takes credentials out of addresses: what stands before the host, as
// in https://user:password@host.
package userinfo

import (
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// Mark stands in a text for what was before a host.
const Mark = "[redacted]"

// before is what stands before a host. A password may hold what belongs behind a host:
// it ends with the last @ before a slash.
var before = lazy.Regexp(`([A-Za-z][A-Za-z0-9+.-]*)://([^\s/"'<>` + "`" + `]*)@`)

// placeholder is what a text has where a credential is filled in later: a variable, a
// word in brackets, dots, or our own marks.
var placeholder = lazy.Regexp(
	`^(?:\$\{?\w+\}?|\$\([^)]*\)|%s|%v|%\(\w+\)s|\{+[^}]*\}+|\[[^\]]*\]|[*.]*|x{3,}|X{3,}|«secret [^»]*»)$`,
)

// word is what is a name, where a token might stand.
var word = lazy.Regexp(`^[A-Za-z][A-Za-z._-]{0,15}$`)

// Redact is a text with [Mark] where an address has credentials. A name alone stays, as
// in ssh://git@host, and so does what is filled in later, such as ${PASSWORD}.
func Redact(text string) string { return replace(text, Mark+"@") }

// Strip is a text without those credentials.
func Strip(text string) string { return replace(text, "") }

func isCredential(scheme, info string) bool {
	user, password, ok := strings.Cut(info, ":")
	if ok && !placeholder().MatchString(password) {
		return true
	}
	scheme = strings.ToLower(scheme)
	isWeb := strings.HasSuffix(scheme, "http") || strings.HasSuffix(scheme, "https")
	return isWeb && !placeholder().MatchString(user) && !word().MatchString(user)
}

// replace puts something else in the place of credentials and the @ behind them.
func replace(text, with string) string {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return text
	}
	var out strings.Builder
	last := 0
	for _, at := range before().FindAllStringSubmatchIndex(text, -1) {
		if isCredential(text[at[2]:at[3]], text[at[4]:at[5]]) {
			out.WriteString(text[last:at[4]])
			out.WriteString(with)
			last = at[1]
		}
	}
	out.WriteString(text[last:])
	return out.String()
}

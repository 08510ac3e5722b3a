package git

import (
	"context"
	"errors"
	"strings"
)

// ErrNoCredential says that no helper of the user knows a host.
var ErrNoCredential = errors.New("no helper of git has a name and a password for it")

// Credential asks the user's helpers for the name and the password for a host, as git
// does before it goes there. No one is asked for what they do not have.
func (p Program) Credential(ctx context.Context, host string) (name, password string, err error) {
	out, err := p.Run(ctx, Call{
		Dir:    "/",
		Env:    []string{"GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never"},
		Stdin:  "protocol=https\nhost=" + host + "\n\n",
		Args:   []string{"-c", "core.askPass=", "credential", "fill"},
		Remote: true,
	})
	if err != nil {
		return "", "", errors.Join(ErrNoCredential, err)
	}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		switch key {
		case "username":
			name = value
		case "password":
			password = value
		}
	}
	if password == "" {
		return "", "", ErrNoCredential
	}
	return name, password, nil
}

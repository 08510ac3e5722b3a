package keyed

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what known_hosts is hashed with
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/plainfile"
)

// Agent is the user's ssh-agent, for servers with some host keys alone.
type Agent struct {
	Socket   string   // of the user's agent
	At       string   // where the fetch looks for it, below the folder it runs in
	HostKeys [][]byte // as SSH writes them
}

const (
	agentFile  = keysDir + "agent"
	knownHosts = keysDir + "known_hosts"
	// withoutAgent and withAgent are how git reaches a server by SSH: by nothing of the
	// user's settings, and only one whose key is known.
	withoutAgent = `GIT_SSH_COMMAND='ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes'`
	withAgent    = `SSH_AUTH_SOCK="$KEYS/agent" ` +
		`GIT_SSH_COMMAND='ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes ` +
		`-o UpdateHostKeys=no -o GlobalKnownHostsFile=none -o "UserKnownHostsFile=\"$KEYS/known_hosts\"" ` +
		`-o IdentityFile=none -o ForwardAgent=no'`
)

// agent lends the user's ssh-agent to a fetch, for the hosts of private modules: those
// that the user's settings of go name, and those that the user's settings of git put in
// their place. It is nil, with the reason, where none of them is known to SSH.
func (u User) agent(private []string, f *Fetch) (*Agent, error) {
	socket := u.env("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, errors.New("SSH_AUTH_SOCK names no agent")
	}
	var lines strings.Builder
	out := &Agent{
		Socket: socket,
		At:     agentFile,
	}
	for _, at := range u.sshHosts(private) {
		for _, key := range u.hostKeys(at) {
			fmt.Fprintf(&lines, "%s %s\n", at, key.text)
			out.HostKeys = append(out.HostKeys, key.blob)
		}
	}
	if len(out.HostKeys) == 0 {
		return nil, errors.New("your known_hosts has none of the hosts that GOPRIVATE and your settings of git name")
	}
	f.Files[knownHosts] = lines.String()
	return out, nil
}

// sshBase is a section of git's settings that says what stands in the place of addresses,
// and insteadOf a line in it.
var (
	sshBase   = lazy.Regexp(`(?i)^\s*\[url "(.*)"\]`)
	insteadOf = lazy.Regexp(`(?i)^\s*(?:push)?insteadOf\s*=\s*"?([^"\s]+)"?\s*$`)
)

// sshHosts lists the servers that private hosts are fetched from by SSH, as known_hosts
// names them.
func (u User) sshHosts(private []string) []string {
	out := slices.Clone(private)
	base := ""
	for line := range strings.Lines(u.Git) {
		if m := sshBase().FindStringSubmatch(line); m != nil || strings.HasPrefix(strings.TrimSpace(line), "[") {
			base = ""
			if m != nil {
				base = sshHost(m[1])
			}
			continue
		}
		m := insteadOf().FindStringSubmatch(line)
		if m == nil || base == "" || slices.Contains(out, base) {
			continue
		}
		if at, err := url.Parse(m[1]); err == nil && slices.Contains(private, strings.ToLower(at.Hostname())) {
			out = append(out, base)
		}
	}
	return out
}

// sshHost is the server of an address by SSH, as known_hosts names it; "" for another
// kind of address.
func sshHost(address string) string {
	if at, err := url.Parse(address); err == nil && at.Scheme != "" && at.Host != "" {
		switch port := at.Port(); {
		case at.Scheme != "ssh" && at.Scheme != "git+ssh":
			return ""
		case port == "" || port == "22":
			return strings.ToLower(at.Hostname())
		default:
			return "[" + strings.ToLower(at.Hostname()) + "]:" + port
		}
	}
	host, _, ok := strings.Cut(address, ":")
	if _, after, isUser := strings.Cut(host, "@"); isUser {
		host = after
	}
	if !ok || strings.ContainsAny(host, "/[]") {
		return ""
	}
	return strings.ToLower(host)
}

// hostKey is a key of a server.
type hostKey struct {
	text string // as known_hosts has it: its kind, and the key
	blob []byte
}

// hostKeys are those that the user and the system know of a server by its name. What is
// said for any server at all, and what a certificate authority vouches for, does not
// count; what is revoked is none of them.
func (u User) hostKeys(at string) []hostKey {
	home := u.env("HOME")
	var out, revoked []hostKey
	for _, file := range []string{
		filepath.Join(home, ".ssh", "known_hosts"),
		filepath.Join(home, ".ssh", "known_hosts2"),
		"/etc/ssh/ssh_known_hosts",
	} {
		data, _ := plainfile.Read(file) // one that cannot be read knows none
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			marked := len(fields) > 0 && strings.HasPrefix(fields[0], "@")
			bad := marked && fields[0] == "@revoked"
			if marked {
				fields = fields[1:]
			}
			if len(fields) < 3 || strings.HasPrefix(fields[0], "#") || marked && !bad {
				continue
			}
			blob, err := base64.StdEncoding.DecodeString(fields[2])
			key := hostKey{text: fields[1] + " " + fields[2], blob: blob}
			switch {
			case err != nil:
			case bad:
				revoked = append(revoked, key)
			case namesHost(fields[0], at):
				out = append(out, key)
			}
		}
	}
	return slices.DeleteFunc(out, func(k hostKey) bool {
		return slices.ContainsFunc(revoked, func(r hostKey) bool { return r.text == k.text })
	})
}

// namesHost reports whether the first field of a line of known_hosts names a server.
func namesHost(names, at string) bool {
	if rest, ok := strings.CutPrefix(names, "|1|"); ok {
		salt, sum, _ := strings.Cut(rest, "|")
		key, err := base64.StdEncoding.DecodeString(salt)
		want, sumErr := base64.StdEncoding.DecodeString(sum)
		mac := hmac.New(sha1.New, key)
		mac.Write([]byte(at))
		return err == nil && sumErr == nil && hmac.Equal(mac.Sum(nil), want)
	}
	return slices.ContainsFunc(strings.Split(names, ","), func(name string) bool {
		if host, port, err := net.SplitHostPort(name); err == nil && port == "22" {
			name = host
		}
		return strings.EqualFold(name, at)
	})
}

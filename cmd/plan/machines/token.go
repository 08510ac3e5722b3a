package machines

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/hint"
)

const queueUsage = "the `URL` of a queue, as plan queue serve prints it, or of a cluster of NATS"

func (p Program) open(ctx context.Context, at string) (*nats.Store, error) {
	token, err := p.clientToken(at)
	if err != nil {
		return nil, err
	}
	return p.openWith(ctx, at, token)
}

func (p Program) openWith(ctx context.Context, at, token string) (*nats.Store, error) {
	return nats.Open(ctx, nats.Config{
		URL:      at,
		Token:    token,
		Name:     "plan",
		NKeyFile: p.host.Getenv("PLAN_QUEUE_NKEY_FILE"),
		CAFile:   p.host.Getenv("PLAN_QUEUE_CA_FILE"),
	})
}

// Open reaches the queue at a URL to be looked at again and again, nil for none, until the
// function that it returns is called.
func (p Program) Open(ctx context.Context, at string) (q *batches.Queued, end func(), err error) {
	if at == "" {
		return nil, func() {}, nil
	}
	store, err := p.open(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	q, unwatch := batches.New(p.host).Queued(store).Watched()
	return q, func() { unwatch(); store.Close() }, nil
}

// clientToken is what proves this client to the queue at a URL, "" for what the URL
// has. The token of the queue that this home serves is sent to this machine alone.
func (p Program) clientToken(at string) (string, error) {
	if strings.Contains(at, "@") {
		p.note("the token in --queue can be read in this machine's list of processes; put it into PLAN_QUEUE_TOKEN, " +
			"or into a file that PLAN_QUEUE_TOKEN_FILE names")
		return "", nil
	}
	if p.host.Getenv("PLAN_QUEUE_NKEY_FILE") != "" {
		return "", nil
	}
	token, _, err := p.givenToken()
	if err != nil || token != "" || !isHere(at) {
		return token, err
	}
	file, err := p.tokenFile()
	if err != nil {
		return "", err
	}
	return readToken(file)
}

// isHere says that a URL is on this machine.
func isHere(at string) bool {
	u, err := url.Parse(at)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// serverToken is what clients must know: as it was given, or made once. File has it,
// unless a variable does.
func (p Program) serverToken() (token, file string, err error) {
	token, file, err = p.givenToken()
	if err != nil || token != "" {
		return token, file, err
	}
	if file, err = p.tokenFile(); err != nil {
		return "", "", err
	}
	if token, err = readToken(file); err != nil || token != "" {
		return token, file, err
	}
	token = rand.Text()
	return token, file, durable.Replace(file, []byte(token+"\n"), 0o600)
}

// givenToken is the token that the environment has, or names the file of.
func (p Program) givenToken() (token, file string, err error) {
	if token := p.host.Getenv("PLAN_QUEUE_TOKEN"); token != "" {
		return token, "", nil
	}
	if file = p.host.Getenv("PLAN_QUEUE_TOKEN_FILE"); file == "" {
		return "", "", nil
	}
	token, err = readToken(file)
	if err == nil && token == "" {
		err = hint.New("PLAN_QUEUE_TOKEN_FILE names "+file+", which has no token",
			"Copy the file there that plan queue serve names.")
	}
	return token, file, err
}

func (p Program) tokenFile() (string, error) {
	paths, err := p.host.Paths()
	return filepath.Join(paths.Home, "queue", "token"), err
}

// readToken reads a file; one that is not there has no token.
func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

package toolbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/tools/openapi"
)

// service is a service as a conversation uses it.
func (t *Toolbox) service(name string, c config.OpenAPIConfig, p plan.Phase) openapi.Config {
	of := openapi.Config{
		Name:      name,
		Spec:      t.spec(c),
		BaseURL:   c.BaseURL,
		Headers:   t.headers(c.Headers),
		KeyHeader: c.KeyHeader,
		Allow:     c.Operations,
		Deny:      c.Deny,
		Trim:      c.Trim,
		Timeout:   c.Timeout.Duration,
		Lists:     t.document(name, c),
		Trusted:   func(digest string) bool { return t.cfg.Trusted(listItem("openapi."+name, digest, "")) },
		Ahead:     p != "", // what only looks at what is known starts nothing
		Fresh:     t.fresh,
		Observe:   t.observer(p),
		Now:       t.cfg.Now,
	}
	if of.Timeout <= 0 {
		of.Timeout = t.cfg.Settings.Timeouts.MCP.Duration
	}
	if c.KeyEnv != "" || c.KeyCommand != "" {
		of.Key = func(ctx context.Context) (string, error) { return t.key(ctx, c.KeyEnv, c.KeyCommand) }
	}
	if !c.Outside {
		of.Offline = t.offline("openapi."+name, p)
	}
	return of
}

// spec is where the document is: an address, or a file of the repository.
func (t *Toolbox) spec(c config.OpenAPIConfig) string {
	switch {
	case strings.HasPrefix(c.Spec, "https://") || strings.HasPrefix(c.Spec, "http://") || filepath.IsAbs(c.Spec):
		return c.Spec
	case strings.HasPrefix(c.Spec, "~/"):
		return filepath.Join(t.cfg.UserHome, c.Spec[2:])
	}
	return filepath.Join(t.cfg.Root, c.Spec)
}

// document is where the operations of a service are kept, apart for each document and place.
func (t *Toolbox) document(name string, c config.OpenAPIConfig) *listFile {
	spec := t.spec(c)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s", len(spec), spec, len(c.BaseURL), c.BaseURL))
	return t.listFile("openapi-"+name, sum)
}

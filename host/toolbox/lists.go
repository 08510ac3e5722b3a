package toolbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/tools/catalog"
)

// listFile keeps the tools of a server: what it is, and for a repository's server whose,
// is in its name, so that another server of that name begins anew.
type listFile struct{ path string }

// mostList bounds the file, in bytes.
const mostList = 32 << 20

func (t *Toolbox) lists(name string, c config.MCPConfig) *listFile {
	identity := c.Digest
	root := ""
	if c.From == config.FromTrusted {
		root = t.cfg.Root
	} else {
		identity = c.Line() + "\n" + c.URL
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "2 %d:%s%d:%s", len(root), root, len(identity), identity))
	return t.listFile("mcp-"+name, sum)
}

// listFile is where the list of a source is kept.
func (t *Toolbox) listFile(name string, of [sha256.Size]byte) *listFile {
	return &listFile{path: filepath.Join(t.cfg.Home, "tools", name+"-"+hex.EncodeToString(of[:6])+".json")}
}

// Read implements [catalog.Store]. What cannot be read is asked for again.
func (f *listFile) Read() *catalog.List {
	info, err := os.Stat(f.path)
	if err != nil || info.Size() > mostList {
		return nil
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil
	}
	var l catalog.List
	if json.Unmarshal(data, &l) != nil || l.Accepted == nil {
		return nil
	}
	return &l
}

// Write implements [catalog.Store].
func (f *listFile) Write(l catalog.List) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("keep a list of tools: %w", err)
	}
	if old, err := os.ReadFile(f.path); err == nil && string(old) == string(data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("keep a list of tools: %w", err)
	}
	return durable.Replace(f.path, data, 0o600)
}

// listItem is a list of tools as something to be trusted.
func listItem(source, digest, detail string) trust.Item {
	return trust.Item{
		Kind:   "tools",
		Path:   source,
		Digest: digest,
		Detail: detail,
	}
}

// Claims lists the servers and services whose tools wait for a person: because they are new, have changed
// since they were accepted, or speak to the model.
func (t *Toolbox) Claims() []trust.Item {
	var out []trust.Item
	servers := t.cfg.Settings.MCPServers()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		out = append(out, claimOf("mcp."+name, "tools of a server", t.lists(name, servers[name]))...)
	}
	services := t.cfg.Settings.OpenAPIServices()
	for _, name := range slices.Sorted(maps.Keys(services)) {
		out = append(out, claimOf("openapi."+name, "operations of a service", t.document(name, services[name]))...)
	}
	return out
}

// claimOf is what of a list waits for a person.
func claimOf(source, contents string, list *listFile) []trust.Item {
	l := list.Read()
	if l == nil || l.Waiting() == "" {
		return nil
	}
	return []trust.Item{listItem(source, l.Digest(), contents+", which it describes so (its own words):\n"+l.Waiting())}
}

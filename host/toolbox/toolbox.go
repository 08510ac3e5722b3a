// Package toolbox opens the tools that come from outside, as the settings name them: for a
// conversation of a phase, for a run that begins, and for a person who looks at them.
//
// It knows the settings and what speaks with servers. It must not know what drives a run.
package toolbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/mcp"
	"github.com/plan-engine/plan/tools/openapi"
	"github.com/plan-engine/plan/tools/outside"
)

// Config is what tools are opened with.
type Config struct {
	Settings config.Config
	// Root is the repository that trust is kept for, and Tree says where the work tree is
	// that the run works in.
	Root string
	Tree func() string
	// Room makes the room where a server runs for a phase.
	Room func(ctx context.Context, p plan.Phase) (phases.Room, error)
	// Home is PLAN_HOME, and UserHome the user's own.
	Home, UserHome string
	Getenv         func(string) string
	// KeyCommand runs a command that prints a key, and Secret is told each key.
	KeyCommand func(ctx context.Context, line string) (string, error)
	Secret     func(key string)
	Trusted    func(trust.Item) bool
	// Own is a shell without walls, with the user's environment, for servers that the user
	// wants outside.
	Own func() (*sandbox.Shell, error)
	// Searched is the PATH on which programs are looked for.
	Searched string
	// Ask puts a question of a server to the person; nil: no person can be asked.
	Ask func(ctx context.Context, q mcp.Question) mcp.Answer
	// Used is told of each call.
	Used func(ctx context.Context, p plan.Phase, tool string, duration time.Duration, failed bool)
	Now  func() time.Time
}

// Toolbox is the tools from outside of one run.
type Toolbox struct {
	cfg   Config
	fresh bool // documents that are known are read again
}

// New makes a toolbox. Nothing is started.
func New(cfg Config) *Toolbox { return &Toolbox{cfg: cfg} }

// IsEmpty reports whether the settings name no tools from outside.
func (t *Toolbox) IsEmpty() bool {
	return len(t.cfg.Settings.MCPServers()) == 0 && len(t.cfg.Settings.OpenAPIServices()) == 0
}

// Open opens the tools of a conversation: [phases.Config.Outside].
func (t *Toolbox) Open(p plan.Phase) *outside.Set {
	return outside.New(outside.Config{
		Sources: t.Sources(p),
		Refuse:  refusal(p),
		Index:   newIndex,
	})
}

// refusal says why a phase has no tool that may change something.
func refusal(p plan.Phase) func(loop.Info) string {
	if phases.TraitsOf(p).Writes {
		return nil
	}
	return func(info loop.Info) string {
		if outside.Reads(info) {
			return ""
		}
		return fmt.Sprintf("%s is not offered in %s, which changes nothing: nothing says that it only reads. What "+
			"should be done with it belongs into what you hand over, and Implement does it.",
			outside.RuleName(info.Name), p)
	}
}

// newIndex searches tools with SQLite.
func newIndex(ctx context.Context, of []outside.Document) (outside.Index, error) {
	names, texts := make([]string, len(of)), make([]string, len(of))
	for i, d := range of {
		names[i], texts[i] = d.Name, d.Text
	}
	return memory.NewTextIndex(ctx, names, texts)
}

// Sources are where the tools come from, in the order of their names, for a conversation of a
// phase; "" is for what starts nothing.
func (t *Toolbox) Sources(p plan.Phase) []outside.Source {
	var out []outside.Source
	servers := t.cfg.Settings.MCPServers()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		c := servers[name]
		of := t.server(name, c, p)
		room := &ownRoom{open: func(ctx context.Context) (phases.Room, error) { return t.cfg.Room(ctx, p) }}
		switch {
		case c.Outside:
			of.Shell, of.Dir = &lazyShell{make: t.cfg.Own}, t.cfg.UserHome
		case p != "":
			of.Shell = room
		}
		out = append(out, serverRoom{Server: mcp.New(of), room: room})
	}
	services := t.cfg.Settings.OpenAPIServices()
	for _, name := range slices.Sorted(maps.Keys(services)) {
		out = append(out, openapi.New(t.service(name, services[name], p)))
	}
	return out
}

// serverRoom is a server with the room that it has for itself.
type serverRoom struct {
	*mcp.Server
	room *ownRoom
}

// Close ends the server, then what else runs in its room.
func (r serverRoom) Close() error { return errors.Join(r.Server.Close(), r.room.close()) }

// ownRoom is where one server runs: commands of the phase share nothing with it but the tree,
// since they could read its keys from its processes. It is made when the server is started.
type ownRoom struct {
	open func(ctx context.Context) (phases.Room, error)

	mu   sync.Mutex
	room *phases.Room
	end  context.CancelFunc
}

// Run implements [mcp.Shell].
func (o *ownRoom) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	room, err := o.enter(ctx)
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("prepare the place where it runs: %w", err)
	}
	c.Dir = room.Dir
	return room.Shell.Run(ctx, c)
}

func (o *ownRoom) enter(ctx context.Context) (*phases.Room, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.room != nil {
		return o.room, nil
	}
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, end)
	room, err := o.open(own)
	if !release() || err != nil {
		end()
		if err == nil {
			err = errors.Join(context.Cause(ctx), room.Close())
		}
		return nil, err
	}
	o.room, o.end = &room, end
	return o.room, nil
}

// close closes the room, if there is one, and waits for no removal.
func (o *ownRoom) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.room == nil {
		return nil
	}
	o.end()
	err := o.room.Close()
	o.room = nil
	return err
}

// server is a server as a conversation uses it.
func (t *Toolbox) server(name string, c config.MCPConfig, p plan.Phase) mcp.Config {
	of := mcp.Config{
		Name:     name,
		Line:     c.Line(),
		URL:      c.URL,
		KeyName:  c.KeyEnv,
		ReadOnly: c.ReadOnly,
		Allow:    c.Allow,
		Deny:     c.Deny,
		Timeout:  c.Timeout.Duration,
		Check:    func() error { return t.check(c) },
		Lists:    t.lists(name, c),
		Dir:      t.cfg.Tree(),
		Ask:      t.cfg.Ask,
		Now:      t.cfg.Now,
	}
	if of.Timeout <= 0 {
		of.Timeout = t.cfg.Settings.Timeouts.MCP.Duration
	}
	for _, variable := range slices.Sorted(maps.Keys(c.Env)) {
		of.Env = append(of.Env, mcp.Variable{Name: variable, Value: t.valueOf(c.Env[variable])})
	}
	of.Headers = t.headers(c.Headers)
	if c.KeyEnv != "" || c.KeyCommand != "" {
		of.Key = func(ctx context.Context) (string, error) { return t.key(ctx, c.KeyEnv, c.KeyCommand) }
	}
	of.Observe = t.observer(p)
	of.Trusted = func(digest string) bool { return t.cfg.Trusted(listItem("mcp."+name, digest, "")) }
	if !c.Outside {
		of.Offline = t.offline("mcp."+name, p)
	}
	return of
}

// headers are those of a request, with the values of the variables that they name.
func (t *Toolbox) headers(of map[string]string) map[string]string {
	out := map[string]string{}
	for header, value := range of {
		out[header] = t.valueOf(value)
	}
	return out
}

// observer is told of the calls in a phase; nil: nothing is.
func (t *Toolbox) observer(p plan.Phase) func(context.Context, string, time.Duration, bool) {
	if t.cfg.Used == nil {
		return nil
	}
	return func(ctx context.Context, tool string, duration time.Duration, failed bool) {
		t.cfg.Used(ctx, p, tool, duration, failed)
	}
}

// offline says why a phase reaches no address, "" where it does.
func (t *Toolbox) offline(source string, p plan.Phase) string {
	if t.hasNetwork(p) {
		return ""
	}
	return fmt.Sprintf("%s has no network: set network = true in [phase.%s], or outside = true in [%s]", p, p, source)
}

// hasNetwork reports whether the commands of a phase have the network.
func (t *Toolbox) hasNetwork(p plan.Phase) bool {
	if set := t.cfg.Settings.Phase[p].Network; set != nil {
		return *set
	}
	return p == "" || phases.TraitsOf(p).Writes
}

// valueOf is a value, or that of the variable which it names.
func (t *Toolbox) valueOf(value string) string {
	if name, ok := strings.CutPrefix(value, "$"); ok {
		return t.cfg.Getenv(name)
	}
	return value
}

// key fetches the key that a variable has, or a command prints.
func (t *Toolbox) key(ctx context.Context, variable, command string) (string, error) {
	key := ""
	if command != "" {
		out, err := t.cfg.KeyCommand(ctx, command)
		if err != nil {
			return "", fmt.Errorf("run its key_command: %w", err)
		}
		if key = strings.TrimSpace(out); key == "" {
			return "", errors.New("its key_command printed nothing")
		}
	} else if key = strings.TrimSpace(t.cfg.Getenv(variable)); key == "" {
		return "", fmt.Errorf("%s is not set", variable)
	}
	t.cfg.Secret(key)
	return key, nil
}

// check looks whether a server is still what was trusted: that of a repository by digest; one
// without walls must not run what a run can change.
func (t *Toolbox) check(c config.MCPConfig) error {
	tree := t.cfg.Tree()
	if c.From == config.FromTrusted {
		now, err := config.ServerDigest(tree, c)
		if err != nil {
			return fmt.Errorf("what it runs cannot be read: %w", err)
		}
		if now != c.Digest {
			return errors.New(
				"what it runs has changed since it was trusted; look at it, and allow it again with `plan trust`",
			)
		}
		return nil
	}
	if !c.Outside || c.URL != "" {
		return nil
	}
	line := c.Line()
	files := append(trust.Programs(tree, line, false), trust.Found(tree, line, t.cfg.Searched)...)
	if len(files) > 0 {
		return fmt.Errorf("it is to run without walls, and runs what a run can change (%s); keep it outside of the "+
			"repository, or take outside = true away", strings.Join(slices.Compact(files), ", "))
	}
	return nil
}

// lazyShell is a shell without walls that is made when it is first needed.
type lazyShell struct {
	make  func() (*sandbox.Shell, error)
	mu    sync.Mutex
	shell *sandbox.Shell
}

// Run implements [mcp.Shell].
func (o *lazyShell) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	o.mu.Lock()
	if o.shell == nil {
		shell, err := o.make()
		if err != nil {
			o.mu.Unlock()
			return sandbox.Result{}, err
		}
		o.shell = shell
	}
	o.mu.Unlock()
	return o.shell.Run(ctx, c)
}

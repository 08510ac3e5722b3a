package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan/internal/scratch"
)

// buildPatience is how long a wall may take to stand.
const buildPatience = 20 * time.Second

// Wall is what the commands of one phase run behind. It is built with its
// first command, so a phase without commands pays nothing, and it keeps what
// they write until it is closed: the layers of a policy that discards, and the
// temporary folders. A Wall is safe for concurrent use.
type Wall struct {
	level    Level
	policy   Policy
	env      []string     // of the user, cleaned
	snapshot treeSnapshot // of the tree, where the kernel does not guard all of it
	start    start
	// record is the locked file with the start on disk, nil where there is nothing to
	// put back.
	record     *os.File
	recordPath string

	mu          sync.Mutex
	inside      *inside         // nil before the first command and after Close
	group       *group          // bounds everything inside; nil where there is none
	noGroup     bool            // there can be no such group
	scratch     string          // folder for layers and temporary files
	own         *scratch.Folder // scratch is its path
	closed      bool            // it takes no more commands
	breached    Breach
	cleared     bool // its folder is gone
	putsWritten bool // what the policy puts there stands
	policyPuts  int  // how many puts are the policy's own
	layer       layer
	copied      *treeCopy // how the copy was, of a policy that is tracked
}

// NewWall plans a wall of a level that [Strongest] found, for commands with the
// environment of env. Nothing is built yet, but what the policy puts into a copy
// stands there. With LevelLandlock and a tree that must not change it notes how
// the tree looks.
func NewWall(level Level, policy Policy, env []string) (*Wall, error) {
	if !filepath.IsAbs(policy.Tree) {
		return nil, fmt.Errorf("sandbox: the tree %q is no absolute path", policy.Tree)
	}
	if policy.Discard && level.NeedsCopy() && policy.Copy == "" {
		return nil, fmt.Errorf("sandbox: with %s the tree %q has to be copied", level, policy.Tree)
	}
	if policy.MaxProcesses == 0 {
		policy.MaxProcesses = 4096
	}
	w := &Wall{
		level:      level,
		policy:     policy,
		env:        CleanEnv(env),
		policyPuts: len(policy.Put),
	}
	if policy.Discard && !level.mounts() {
		var err error
		if w.snapshot, err = snapshotTree(policy.Tree, policy.Unwatched); err != nil {
			return nil, fmt.Errorf("sandbox: note how the tree looks: %w", err)
		}
	}
	if err := w.noteStart(); err != nil {
		return nil, err
	}
	if policy.Discard && level.NeedsCopy() {
		if err := w.prepareCopy(); err != nil {
			return nil, errors.Join(err, w.clear())
		}
	}
	if level == LevelNone { // nothing is built that would make them
		if err := w.makeCaches(); err != nil {
			w.End()
			return nil, errors.Join(err, w.clear())
		}
	}
	return w, nil
}

// Level is how strong the wall is.
func (w *Wall) Level() Level { return w.level }

// Dir is where commands find the tree: at its own path, or where its copy is.
func (w *Wall) Dir() string { return w.policy.dir(w.level, w.policy.Tree) }

// Shell is a shell like base whose commands run behind the wall.
func (w *Wall) Shell(base *Shell) *Shell {
	s := *base
	if w.level == LevelNone {
		s.env = withVars(s.env, w.cacheVars(s.env))
	} else {
		s.spawner = w
	}
	return &s
}

// Close ends everything that runs behind the wall, and throws away what was to
// be thrown away. When it returns, no process is left. Closing twice is fine.
// A [*Breach] says that something did change that must not, which only a level
// without namespaces lets happen.
func (w *Wall) Close() error {
	w.End()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cleared {
		return nil
	}
	w.cleared = true
	return errors.Join(w.clear(), w.breach())
}

// End is the part of Close that is quick: it ends everything that runs behind
// the wall, for good. Close has to follow.
func (w *Wall) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.inside != nil {
		w.group.kill()
		w.inside.end()
		w.inside = nil
	}
	w.restoreSaved()
}

// noteStart notes what is to be put back, and writes it down before any command could
// change it.
func (w *Wall) noteStart() (err error) {
	if w.start.Saved, err = savePaths(w.level, w.policy); err != nil {
		return err
	}
	if w.start.Names, err = saveNames(w.level, w.policy); err != nil {
		return err
	}
	if w.policy.Starts != "" && len(w.start.Saved)+len(w.start.Names) > 0 {
		w.record, w.recordPath, err = w.start.record(w.policy.Starts)
	}
	return err
}

// restoreSaved puts back, once, the policy's Code: what decides which programs
// other processes run. Its record goes when that was done, and not before.
func (w *Wall) restoreSaved() {
	putBack, lost := w.start.putBack()
	w.start = start{}
	w.breached.PutBack = append(w.breached.PutBack, putBack...)
	if w.record != nil {
		if len(lost) == 0 {
			if err := removeRecord(w.recordPath); err != nil {
				lost = append(lost, err.Error())
			}
		}
		_ = w.record.Close()
		w.record = nil
	}
	w.breached.Lost = append(w.breached.Lost, lost...)
}

// clear removes the scratch folder and the control group.
func (w *Wall) clear() error {
	if w.scratch == "" {
		return nil
	}
	err := errors.Join(w.group.remove(), w.own.Close())
	w.scratch = ""
	w.group = nil
	return err
}

func (w *Wall) breach() error {
	if w.snapshot != nil {
		after, err := snapshotTree(w.policy.Tree, w.policy.Unwatched)
		if err != nil {
			return fmt.Errorf("sandbox: look whether the tree changed: %w", err)
		}
		w.breached.Paths = w.snapshot.changed(after)
	}
	if b := w.breached; len(b.Paths)+len(b.PutBack)+len(b.Lost) > 0 {
		return &b
	}
	return nil
}

var errClosed = errors.New("sandbox: the wall is closed")

// ensureInside returns the inside of the wall, building it if there is none or if the
// one there was has died.
func (w *Wall) ensureInside(ctx context.Context) (*inside, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errClosed
	}
	if w.inside != nil && !w.inside.dead() {
		return w.inside, nil
	}
	if w.scratch == "" {
		if err := w.makeScratch(); err != nil {
			return nil, err
		}
	}
	if w.group == nil && !w.noGroup {
		w.group, _ = newGroup(w.policy) // Bounded says why there is none
		w.noGroup = w.group == nil
	}
	if err := w.putInTemporary(); err != nil {
		return nil, err
	}
	in, err := w.build(ctx)
	if err != nil && w.group != nil && ctx.Err() == nil { // nothing may be started in it: do without
		err = errors.Join(err, w.group.remove())
		w.group, w.noGroup = nil, true
		if again, retryErr := w.build(ctx); retryErr == nil {
			in, err = again, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("build the sandbox (%s) for %q: %w", w.level, w.policy.Tree, err)
	}
	in.group = w.group
	w.inside, w.putsWritten = in, true
	return in, nil
}

// prepareScratch makes what commands need where nothing has to be built for them.
func (w *Wall) prepareScratch() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	if w.putsWritten {
		return nil
	}
	if w.scratch == "" {
		if err := w.makeScratch(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(w.scratch, "tmp0"), 0o700); err != nil {
		return fmt.Errorf("make a folder for the sandbox: %w", err)
	}
	if err := errors.Join(w.putInTemporary(), w.makeCaches(), w.policy.writeSettings(w.scratch)); err != nil {
		return err
	}
	w.putsWritten = true
	return nil
}

func (w *Wall) makeScratch() error {
	own, err := scratch.New("", scratch.Wall)
	if err != nil {
		return fmt.Errorf("make a folder for the sandbox: %w", err)
	}
	w.scratch, w.own = own.Dir, own
	return nil
}

// Sweep removes the folders and control groups that killed processes left. What
// cannot be removed is left for the next time.
func Sweep() {
	scratch.Sweep(os.TempDir(), scratch.Wall, scratch.Probe)
	sweepGroups()
}

// ready implements spawner.
func (w *Wall) ready(ctx context.Context) error {
	if w.level == LevelSeatbelt {
		return w.prepareScratch()
	}
	_, err := w.ensureInside(ctx)
	return err
}

// spawn implements spawner.
func (w *Wall) spawn(ctx context.Context, t task, watch *watch) (ending, error) {
	t.Dir = w.policy.dir(w.level, t.Dir)
	if t.Dir == "" {
		t.Dir = w.Dir()
	}
	if w.level == LevelSeatbelt {
		t.Env = w.environ(t.Env)
		return w.spawnSeatbelt(ctx, t, watch)
	}
	in, err := w.ensureInside(ctx)
	if err != nil {
		return ending{}, err
	}
	t.Env = w.environ(t.Env)
	if in.group == nil {
		t.Memory = w.policy.MaxMemory
	}
	before := in.group.readHits()
	end, err := in.run(ctx, t, watch)
	end.note = in.group.hitsSince(before)
	if err != nil && end.note != "" {
		err = fmt.Errorf("%w %s", err, strings.TrimSpace(end.note))
	}
	return end, err
}

// tmp is where commands behind the wall have their temporary folder.
func (w *Wall) tmp() string {
	if w.level.mounts() {
		return "/tmp"
	}
	return filepath.Join(w.scratch, "tmp0")
}

// bwrapSelf is where this program stands behind a wall of bwrap's, where its own
// place may be hidden.
const bwrapSelf = "/run/plan"

// self is where commands behind the wall find this program.
func (w *Wall) self() string {
	if w.level == LevelBubblewrap {
		return bwrapSelf
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// quoted is a command as go reads one from a variable: it knows quotes and no
// escapes.
func quoted(words ...string) string {
	for i, word := range words {
		mark := "'"
		if strings.Contains(word, mark) {
			mark = `"`
		}
		words[i] = mark + word + mark
	}
	return strings.Join(words, " ")
}

// environ is the environment of commands behind the wall: temporary files go
// to the wall's own folder, caches to where they may be written, and what
// leads to services of the user's session is gone.
func (w *Wall) environ(env []string) []string {
	set := w.cacheVars(env)
	maps.Copy(set, w.policy.settingVars(w.level, w.scratch))
	set["TMPDIR"] = w.tmp()
	return withVars(
		env,
		set,
		"XDG_RUNTIME_DIR",
		"DBUS_SESSION_BUS_ADDRESS",
		"DISPLAY",
		"WAYLAND_DISPLAY",
		"TEMP",
		"TMP",
	)
}

// withVars is an environment in which these variables are set, and others dropped.
func withVars(env []string, set map[string]string, drop ...string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name := nameOf(entry)
		_, again := set[name]
		return again || slices.Contains(drop, name)
	})
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	return out
}

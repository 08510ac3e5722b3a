// Package caches keeps what the commands of runs write to build caches, in layers
// over the user's own: one that is kept for each repository and in which only the
// trees that runs began at have had a say, and others that last as long as a process
// drives a run.
//
// It knows folders and their locks. It must not know what builds walls, nor which
// tools there are.
package caches

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/sandbox"
)

// In is the folder of the layers, in the home of the program.
func In(home string) string { return filepath.Join(home, "caches") }

// maxLayers is how many layers one tree gets. The kernel takes many more.
const maxLayers = 48

// Config says where layers are kept, and for what.
type Config struct {
	// Dir is the folder of all layers.
	Dir string
	// Repository is a path that is the same for all work trees of a repository.
	Repository string
	// Mounted reports whether layers are laid over each other. Otherwise commands are
	// told of a folder each, and several may use one at a time.
	Mounted func() bool
	// Now is the clock.
	Now func() time.Time
}

// Layers are those of one run, in one process. They are safe for concurrent use.
type Layers struct {
	cfg Config

	mu    sync.Mutex
	kept  *repoLayer
	own   *scratch.Folder // nil before it is needed
	begun bool            // code of the run may have run: nothing is kept from now on
	start bool            // setup and baseline have written to a layer of this run's own
	busy  map[string]bool
	work  string              // the tree that is reviewed
	trees map[string][]string // layers of what ran on a tree, the lowest first
	count int
}

// New prepares the layers of a run. Nothing is made yet.
func New(cfg Config) *Layers {
	return &Layers{
		cfg:   cfg,
		kept:  newRepoLayer(cfg),
		busy:  map[string]bool{},
		trees: map[string][]string{},
	}
}

// Lease is what one wall gets.
type Lease struct {
	// Below are the folders of the layers that it reads, the lowest first.
	Below []string
	// Upper is the folder that takes the writes, "" for one that the wall makes and
	// throws away.
	Upper string

	release func()
}

// Over lays the layers of the lease over caches.
func (l *Lease) Over(caches []sandbox.Cache) []sandbox.Cache {
	out := make([]sandbox.Cache, 0, len(caches))
	for _, c := range caches {
		out = append(out, c.Over(l.Below, l.Upper))
	}
	return out
}

// Close gives back what a wall had, when nothing runs behind it any more.
func (l *Lease) Close() {
	if l.release != nil {
		l.release()
		l.release = nil
	}
}

// Start is for what runs on the tree that the run began at, before any code of the
// run: setup and the checks of the baseline. What they write can be kept for further
// runs, unless another process has the repository's layer; else it is for this one.
func (l *Layers) Start(keep bool) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const name = "start"
	if l.begun || l.busy[name] {
		return l.look(nil)
	}
	if keep && !l.start {
		claimed, err := l.kept.claim()
		if err != nil {
			return nil, err
		}
		keep = claimed
	}
	if keep && !l.start {
		return l.lend(name, nil, l.kept.layer()), nil
	}
	own, err := l.folder()
	if err != nil {
		return nil, err
	}
	l.start = true
	lease := l.lend(name, l.kept.read(), filepath.Join(own, name))
	return lease, nil
}

// Work is for what changes the tree. What it writes lies beneath no check.
func (l *Layers) Work() (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return nil, err
	}
	const name = "work"
	own, err := l.folder()
	if err != nil {
		return nil, err
	}
	if l.busy[name] {
		return l.look(nil)
	}
	return l.lend(name, l.below(), filepath.Join(own, name)), nil
}

// Reviewed is for a check or a trial on a tree, one of those by which the change
// that leads to work is judged. What it writes is there for the next one on the
// same tree, and gone once another change is judged.
func (l *Layers) Reviewed(work, tree string) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.turnTo(work); err != nil {
		return nil, err
	}
	own, err := l.folder()
	if err != nil {
		return nil, err
	}
	if !l.cfg.Mounted() {
		return &Lease{Below: l.below(), Upper: filepath.Join(own, "tree-"+tree)}, nil
	}
	l.count++
	upper := filepath.Join(own, "layer-"+strconv.Itoa(l.count))
	lease := &Lease{Below: append(l.below(), l.trees[tree]...), Upper: upper}
	lease.release = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.work == work && len(l.trees[tree]) < maxLayers {
			l.trees[tree] = append(l.trees[tree], upper)
			return
		}
		_ = scratch.Remove(upper) // else with the rest
	}
	return lease, nil
}

// Fetched is for a fetch with keys of the user, before what runs on a tree: it sees
// nothing that code of a tree has written, and what it fetches is there for what runs on
// the tree next.
func (l *Layers) Fetched(work, tree string) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.turnTo(work); err != nil {
		return nil, err
	}
	own, err := l.folder()
	if err != nil {
		return nil, err
	}
	l.count++
	upper := filepath.Join(own, "fetched-"+strconv.Itoa(l.count))
	lease := &Lease{Upper: upper}
	lease.release = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case l.work != work:
			_ = scratch.Remove(upper) // else with the rest
		case l.cfg.Mounted():
			l.trees[tree] = append(l.trees[tree], upper)
		default:
			l.replace(filepath.Join(own, "tree-"+tree), upper)
		}
	}
	return lease, nil
}

// replace puts a folder in the place of another one, which nothing uses yet.
func (l *Layers) replace(dir, by string) {
	if scratch.Remove(dir) == nil {
		_ = os.Rename(by, dir) // else what was fetched is not there, and is fetched again
	}
}

// Private makes a folder that no command can read that is not meant to, and that goes
// with this process at the latest.
func (l *Layers) Private() (dir string, remove func() error, err error) {
	own, err := newFolder(l.cfg.Dir)
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(own.Dir, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, errors.Join(fmt.Errorf("make a folder for a fetch: %w", err), own.Close())
	}
	return dir, own.Close, nil
}

// Look is for commands that leave nothing behind. They see what was kept, and what
// checks left on a tree of the change to work if they are given one.
func (l *Layers) Look(work, tree string) (*Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tree == "" {
		return l.look(nil)
	}
	if err := l.turnTo(work); err != nil {
		return nil, err
	}
	return l.look(l.trees[tree])
}

// look leases what can be read now.
func (l *Layers) look(above []string) (*Lease, error) {
	below := l.below()
	reading := len(below) > 0 && !l.begun
	if reading {
		l.kept.readers++
	}
	upper := ""
	if !l.cfg.Mounted() { // where there is no wall, nothing else keeps tools from the user's
		own, err := l.folder()
		if err != nil {
			return nil, err
		}
		l.count++
		upper = filepath.Join(own, "look-"+strconv.Itoa(l.count))
	}
	return &Lease{
		Below: append(below, above...),
		Upper: upper,
		release: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if reading {
				l.kept.readers--
			}
			if upper != "" {
				_ = scratch.Remove(upper) // else with the rest
			}
		},
	}, nil
}

// lend leases a folder that one wall at a time has.
func (l *Layers) lend(name string, below []string, upper string) *Lease {
	l.busy[name] = true
	return &Lease{
		Below: below,
		Upper: upper,
		release: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.busy, name)
		},
	}
}

// begin seals what setup and the baseline wrote: from now on it is only read.
func (l *Layers) begin() error {
	l.begun = true
	return l.kept.seal()
}

// turnTo begins to judge another change: what checks of the one before left goes.
func (l *Layers) turnTo(work string) error {
	if err := l.begin(); err != nil || l.work == work {
		return err
	}
	l.work = work
	var errs []error
	for _, layers := range l.trees {
		for _, dir := range layers {
			errs = append(errs, scratch.Remove(dir))
		}
	}
	clear(l.trees)
	return errors.Join(errs...)
}

// below are the layers that are written to no more, the lowest first.
func (l *Layers) below() []string {
	if l.busy["start"] {
		return nil
	}
	out := l.kept.read()
	if l.begun && l.start {
		out = append(out, filepath.Join(l.own.Dir, "start"))
	}
	return out
}

// folder is this run's own folder.
func (l *Layers) folder() (string, error) {
	if l.own == nil {
		dir := l.cfg.Dir
		if l.cfg.Mounted() && !holdsLayers(dir) {
			dir = os.TempDir()
		}
		own, err := newFolder(dir)
		if err != nil {
			return "", err
		}
		l.own = own
	}
	return l.own.Dir, nil
}

// Close removes what was not to be kept. Nothing may run behind a wall any more that
// has a lease.
func (l *Layers) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.kept.close()
	if l.own != nil {
		err = errors.Join(err, l.own.Close())
		l.own = nil
	}
	clear(l.trees)
	l.start = false
	return err
}

// Package host opens what a run needs (home, repository, models, tools, walls,
// learning) and drives it, for any caller: a command, a page, an editor, a
// worker, or a program of your own. It knows every other room of the house. It
// imports no face, reads no arguments, writes to no terminal, hears no signals
// and ends no process: who calls it does.
//
// A [Host] is one home. [Host.Run] begins a run and drives it until it is final
// or parks; [Host.Resume] goes on with one; [Host.Follow] reads its events from
// any seq on, also of a run that another process drives; [Host.Tell] speaks to
// it, [Host.Decide] allows or refuses what it waits with, [Host.Cancel] ends it,
// and [Host.Apply] brings its change over. All are safe for concurrent use, and
// runs of one Host may go on at the same time.
//
// A program that imports this package calls sandbox.Enter first in main: the
// walls around the commands of a run are the program itself, started again.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/phases"
)

// What each package declares that it needs is what another one has.
var (
	_ engine.Runner       = (*phases.Phases)(nil)
	_ engine.Journal      = (*journal)(nil)
	_ engine.Snapshots    = (*snapshots)(nil)
	_ engine.PlanApprover = planDecisions{}
	_ loop.Model          = (*provider.Set)(nil)
	_ loop.Mailbox        = mailbox{}
)

// Config is the world as a host sees it. The zero value is this process's.
type Config struct {
	// Environ are the variables, as "NAME=value": PLAN_HOME says where the home
	// is, and keys and settings come from others. Default: os.Environ().
	Environ []string

	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// Note takes what people should know and can do without, in one line. It may
	// be called from several goroutines. Default: it is dropped.
	Note func(text string)

	// Version is written into run_start. Default: "devel".
	Version string
}

// Host is one home, opened when it is first needed.
type Host struct {
	environ []string
	now     func() time.Time
	note    func(text string)
	version string
	stands  *stand // where the person does; nil: in the directory of the process
	home    *home
}

// home is what all copies of a Host share.
type home struct {
	mu sync.Mutex
	db *memory.DB
	noteLog
}

// New makes a host. Nothing is opened or read yet.
func New(cfg Config) *Host {
	h := &Host{
		environ: cfg.Environ,
		now:     cfg.Now,
		note:    cfg.Note,
		version: cfg.Version,
		home:    &home{},
	}
	if h.environ == nil {
		h.environ = os.Environ()
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.note == nil {
		h.note = func(string) {}
	}
	if h.version == "" {
		h.version = "devel"
	}
	return h
}

// Close closes the database, if it was opened. Runs that are still driven must
// have ended.
func (h *Host) Close() error {
	h.home.mu.Lock()
	defer h.home.mu.Unlock()
	return h.closeDB()
}

func (h *Host) closeDB() error {
	if h.home.db == nil {
		return nil
	}
	err := h.home.db.Close()
	h.home.db = nil
	return err
}

// DB is the database of the home, which is made if there is none.
func (h *Host) DB(ctx context.Context) (*memory.DB, error) {
	h.home.mu.Lock()
	defer h.home.mu.Unlock()
	if h.home.db != nil {
		return h.home.db, nil
	}
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	h.home.db, err = memory.Open(ctx, memory.Config{
		Path:  paths.DB,
		Locks: paths.Locks,
		Now:   h.now,
		Note:  h.note,

		Announce: h.announce,
	})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(paths.Worktrees, 0o700); err != nil { // its database makes the home, and this completes it
		return nil, errors.Join(fmt.Errorf("make the home: %w", err), h.closeDB())
	}
	return h.home.db, nil
}

// Away calls stop while no goroutine of this process writes to the home or stands in
// line to: other processes do not wait for one that is stopped there, as by Ctrl-Z.
func (h *Host) Away(stop func()) {
	h.home.mu.Lock()
	defer h.home.mu.Unlock()
	if h.home.db == nil {
		stop()
		return
	}
	h.home.db.Away(stop)
}

// Paths is where the home has its files.
func (h *Host) Paths() (config.Paths, error) { return config.FindHome(h.Getenv) }

// Getenv is the value of a variable of the host's environment, "" for none.
func (h *Host) Getenv(name string) string { return config.Lookup(h.environ, name) }

// OwnFolders are the user's home and that of plan, which the user's own commands need.
func (h *Host) OwnFolders() []string {
	out := []string{h.Getenv("HOME")}
	if paths, err := h.Paths(); err == nil {
		out = append(out, paths.Home)
	}
	return out
}

// Now is the time of the host's clock.
func (h *Host) Now() time.Time { return h.now() }

// Note tells what people should know and can do without, in one line.
func (h *Host) Note(text string) { h.note(text) }

// withNotes is the same host for one run, whose notes go elsewhere. A nil
// function changes nothing.
func (h *Host) withNotes(note func(string)) *Host {
	if note == nil {
		return h
	}
	copied := *h
	copied.note = note
	return &copied
}

// At is the same host for a person who stands at some directories: what is to be changed
// at a place that only a journal from elsewhere names is changed where that is one of
// theirs. Default: the directory of the process.
func (h *Host) At(dirs ...string) *Host {
	copied := *h
	copied.stands = &stand{dirs: dirs}
	return &copied
}

// Below is [Host.At] for a person who has said that runs may be begun anywhere below some
// directories.
func (h *Host) Below(dirs ...string) *Host {
	copied := *h
	copied.stands = &stand{
		dirs:  dirs,
		below: true,
	}
	return &copied
}

// NewRunID makes an id that is newer than all others.
func (h *Host) NewRunID() plan.RunID {
	return plan.RunID(ulid.MustNew(ulid.Timestamp(h.now()), ulid.DefaultEntropy()).String())
}

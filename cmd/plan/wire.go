package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/tokens"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools"
	"github.com/plan-engine/plan/worktree"
)

// What each package declares that it needs is what another one has.
var (
	_ engine.Runner    = (*phases.Phases)(nil)
	_ engine.Journal   = (*journal)(nil)
	_ engine.Checker   = (*checker)(nil)
	_ engine.Snapshots = (*trees)(nil)
	_ loop.Model       = (*provider.Set)(nil)
	_ loop.Mailbox     = mailbox{}
)

// workshop is everything that a run needs, opened.
type workshop struct {
	cfg     config.Config
	repo    *worktree.Repo
	db      *memory.DB
	writer  *memory.Writer
	shell   *sandbox.Shell
	walls   *walls
	secrets *config.KnownSecrets
	redact  func(string) string // of secrets
	journal *journal
	servers *provider.Set // of the models
	model   loop.Model    // the servers, or what stands before them
	learn   *learning
	close   func() error   // of the recording, if there is one
	behind  sync.WaitGroup // removals of copies that nobody waits for
	// autoApprove says that no person is to be waited for.
	autoApprove bool
	force       bool // the rules are not asked
	guard       *guard
	// try makes a trial that weighs a verdict; it is there while a run is driven.
	try func(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error)
	// freshBaseline says that no check's baseline is taken from an earlier run.
	freshBaseline bool
}

// openWorkshop connects to the model and lays the tools out, to work in repo for
// the user's repository at home: what is learned there is learned about that
// one. Nothing is written yet.
func (a *app) openWorkshop(
	ctx context.Context,
	cfg config.Config,
	flags said,
	repo *worktree.Repo,
	home string,
	db *memory.DB,
	known []plan.Adjusted,
) (*workshop, error) {
	w := &workshop{
		repo:          repo,
		db:            db,
		autoApprove:   flags.autoApprove || cfg.AutoApprove,
		force:         flags.force,
		freshBaseline: flags.freshBaseline,
		secrets:       config.NewKnownSecrets(cfg.Secrets(a.environ)),
		close:         func() error { return nil },
	}
	w.redact = w.secrets.Redact
	if err := a.openModel(ctx, w, &cfg, flags, known); err != nil {
		return nil, failed(err)
	}
	w.cfg = cfg
	if err := checkBudget(cfg, w.servers); err != nil {
		return nil, err
	}
	var err error
	if w.learn, err = a.newLearning(cfg, db, home, w.redact); err != nil {
		return nil, failed(err)
	}
	w.shell, err = sandbox.New(sandbox.Config{
		Env:     cfg.ForChildren(a.environ),
		Path:    os.Getenv("PATH"),
		Timeout: cfg.Timeouts.Bash.Duration,
		Now:     a.now,
	})
	if err != nil {
		return nil, failed(err)
	}
	if w.walls, err = a.openWalls(ctx, w); err != nil {
		return nil, err
	}
	w.guard, err = a.newGuard(w)
	return w, failed(err)
}

// openDB opens the database of this home.
func (a *app) openDB(ctx context.Context) (*memory.DB, config.Paths, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, paths, failed(err)
	}
	db, err := memory.Open(ctx, memory.Config{
		Path:  paths.DB,
		Locks: paths.Locks,
		Now:   a.now,
	})
	if err != nil {
		return nil, paths, failed(err)
	}
	return db, paths, nil
}

// openRepo opens the repository that -C names.
func openRepo(ctx context.Context, dir string) (*worktree.Repo, error) {
	repo, err := worktree.Open(ctx, dir)
	return repo, failed(err)
}

// settings loads the configuration that holds for a repository.
func (a *app) settings(repo string, flags config.Config) (config.Config, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return config.Config{}, failed(err)
	}
	cfg, warnings, err := config.Load(config.Source{
		Home:    paths.Home,
		Repo:    repo,
		Getenv:  a.getenv,
		Flags:   flags,
		Trusted: a.trustedItems(paths, repo),
	})
	if err != nil {
		return config.Config{}, failed(err)
	}
	for _, w := range warnings {
		fmt.Fprintf(a.err, "plan: note: %s\n", render.SafeLine(w.String()))
	}
	return cfg, nil
}

// catalogue knows windows and prices; the configuration overrides it.
func catalogue(cfg config.Config) *catalog.Catalog {
	over := map[string]catalog.Entry{}
	for name, m := range cfg.Models {
		over[name] = catalog.Entry{
			Window:           m.Window,
			MaxOutput:        m.MaxOutput,
			InputUSD:         m.Input,
			CachedUSD:        m.CachedInput,
			WriteUSD:         m.CacheWrite,
			WriteHourUSD:     m.CacheWriteHour,
			OutputUSD:        m.Output,
			Priced:           m.Input > 0 || m.Output > 0,
			StructuredOutput: m.StructuredOutput == "schema",
			Wire:             m.Wire,
		}
	}
	return catalog.New(over)
}

func settingsOf(cfg config.Config) map[plan.Phase]loop.Settings {
	out := map[plan.Phase]loop.Settings{}
	for _, p := range plan.Phases() {
		out[p] = settingsFor(cfg.For(p))
		// Their commands can take longer than a cache is kept for otherwise.
		long := out[p]
		long.LongCache = phases.TraitsOf(p).RunsCommands
		out[p] = long
	}
	out[plan.Critique] = settingsFor(critiqueOf(cfg))
	return out
}

func settingsFor(own config.PhaseConfig) loop.Settings {
	return loop.Settings{
		Temperature:     own.Temperature,
		Effort:          own.Effort,
		MaxOutputTokens: own.MaxOutputTokens,
	}
}

func isSet(flag *bool) bool { return flag != nil && *flag }

// newPhases brings model, tools and tree together.
func (w *workshop) newPhases(
	kit phases.Kit,
	base string,
	instructions []worktree.Instruction,
) (*phases.Phases, error) {
	var words []phases.Instruction
	for _, in := range instructions {
		words = append(words, phases.Instruction{Path: in.Path, Text: w.redact(in.Text)})
	}
	route, why, err := routeOf(w.cfg)
	if err != nil {
		return nil, err
	}
	return phases.New(phases.Config{
		Model:          w.model,
		Models:         modelsOf(w.cfg),
		Settings:       settingsOf(w.cfg),
		Kit:            kit,
		Root:           w.repo.Root(),
		Blob:           w.db.Blob,
		Hashes:         w.repo.Hashes,
		Base:           base,
		Room:           w.walls.room,
		Sandbox:        w.walls.record,
		Instructions:   words,
		Redact:         w.redact,
		Conversation:   w.conversation,
		Try:            func(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error) { return w.try(ctx, t) },
		StrictEvidence: w.cfg.Checks.Evidence == plan.EvidenceShown,
		Mail:           mailbox{w.writer},
		NobodyAnswers:  w.autoApprove,
		AutoApprove:    w.autoApprove,
		Watch:          w.guard.watch,
		Adviser:        w.learn,
		Remember:       w.learn.remember,
		Skill:          w.learn.skill,
		Window:         w.servers.Window,
		LearnWindow:    w.servers.Learn,
		MaxOutput:      w.servers.MaxOutput,
		Route:          route,
		Why:            why,
		SameServer:     w.servers.Same,
		Wire:           w.servers.Wire,
		Provider:       w.servers.Provider,
		Compaction:     loop.Level(w.cfg.Compact.Level),
		Count:          new(tokens.Counter).Count,
		Limits: plan.Limits{
			Turns:   w.cfg.MaxTurns,
			Tokens:  w.cfg.MaxTokens,
			CostUSD: w.cfg.MaxCost,
		},
		Retry: retryOf(w.cfg),
		Price: w.servers.Price,
	})
}

// conversation reads what a conversation of a run has journalled.
func (w *workshop) conversation(ctx context.Context, run plan.RunID, conv string) ([]plan.Event, error) {
	return (&journal{db: w.db, run: run}).Conversation(ctx, conv)
}

// view copies the work tree for a reviewer or a check, where no layer can be
// laid over it. Once the run is being
// stopped nobody waits for a copy, or for its removal: that goes on behind, and
// what it does not get done is swept up by a later process.
func (w *workshop) view(ctx context.Context) (string, func() error, error) {
	type copied struct {
		view *worktree.View
		err  error
	}
	made := make(chan copied, 1)
	go func() {
		v, err := w.repo.View(ctx)
		made <- copied{v, err}
	}()
	select {
	case c := <-made:
		if c.err != nil {
			return "", nil, c.err
		}
		return c.view.Dir, func() error { return w.discard(ctx, c.view) }, nil
	case <-ctx.Done():
		w.behind.Go(func() {
			if c := <-made; c.view != nil {
				_ = c.view.Close() // swept up later
			}
		})
		return "", nil, context.Cause(ctx)
	}
}

// discard removes a copy.
func (w *workshop) discard(ctx context.Context, v *worktree.View) error {
	if ctx.Err() == nil {
		return v.Close()
	}
	w.behind.Go(func() { _ = v.Close() }) // swept up later
	return nil
}

// leave gives what goes on behind a moment to end.
func (w *workshop) leave() {
	done := make(chan struct{})
	go func() {
		w.behind.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// newKit is this version's words and tools.
func (w *workshop) newKit() (phases.Kit, error) {
	set, err := tools.New(tools.Config{Root: w.repo.Root(), Shell: w.shell})
	if err != nil {
		return phases.Kit{}, fmt.Errorf("open the tools: %w", err)
	}
	offered, err := set.Tools(tools.Names()...)
	if err := errors.Join(err, set.Close()); err != nil {
		return phases.Kit{}, fmt.Errorf("open the tools: %w", err)
	}
	kit, err := phases.NewKit(offered, w.cfg.ExploreBash)
	if err == nil && w.cfg.SubAgents != nil && *w.cfg.SubAgents {
		err = kit.AddTask()
	}
	return kit, err
}

// required are the checks that must pass.
func required(cfg config.Config, fromFlags bool) []plan.Check {
	source := plan.CheckConfig
	if fromFlags {
		source = plan.CheckFlag
	}
	var out []plan.Check
	for _, c := range cfg.Checks.Required {
		out = append(out, plan.Check{
			Command:  c,
			Required: true,
			Source:   source,
		})
	}
	return out
}

// loadKit reads the words that a run was started with.
func (w *workshop) loadKit(ctx context.Context, start *plan.RunStart) (phases.Kit, error) {
	data, err := w.db.Blob(ctx, start.Kit)
	if err != nil {
		return phases.Kit{}, fmt.Errorf("read the prompts the run was started with: %w", err)
	}
	return phases.DecodeKit(data)
}

// loadContext reads the frozen conversation that a run was started with.
func (w *workshop) loadContext(ctx context.Context, start *plan.RunStart) ([]plan.Message, error) {
	if start.Context == "" {
		return nil, nil
	}
	data, err := w.db.Blob(ctx, start.Context)
	if err != nil {
		return nil, fmt.Errorf("read the conversation the run was started from: %w", err)
	}
	var out []plan.Message
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read the conversation the run was started from: %w", err)
	}
	return out, nil
}

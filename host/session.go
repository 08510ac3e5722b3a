package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/host/proof"
	"github.com/plan-engine/plan/host/toolbox"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/internal/userinfo"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/record"
	"github.com/plan-engine/plan/model/tokens"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools"
	"github.com/plan-engine/plan/worktree"
)

// session is everything that one run needs, opened.
type session struct {
	heartbeat *heartbeat // of the run that is driven
	host      *Host
	cfg       config.Config
	face      Face
	repo      *worktree.Repo // that the run works in
	db        *memory.DB
	writer    *memory.Writer // of the run's journal
	mail      mailbox
	shell     *sandbox.Shell
	walls     *walls.Walls
	guard     *guard
	learn     *learning.Learning
	story     story // what of the run's journal was written elsewhere
	proof     *proof.Proof
	avoid     func(path string) bool // tells where programs of plan's own are not found
	index     *tools.Index           // of what files mention, for the tools of all phases
	toolbox   *toolbox.Toolbox
	about     string // the repository that is learned about
	secrets   *config.KnownSecrets
	redact    func(string) string // of secrets
	// redactRead is redact for what a model reads, without credentials in addresses.
	redactRead func(string) string
	servers    *provider.Set // of the models
	model      loop.Model    // the servers, or what stands before them
	// closeModel closes the recording of a model, if there is one, and its servers.
	closeModel func() error
	// cleanup is removals of copies that the run does not wait for.
	cleanup sync.WaitGroup
	// autoApprove says that no person is to be waited for.
	autoApprove bool
	force       bool // the rules are not asked
}

// openSession connects to the model and lays the tools out, to work in repo for
// the user's repository at learnAbout: what is learned is learned about that one.
// Nothing is written yet.
func (h *Host) openSession(
	ctx context.Context,
	cfg config.Config,
	opts Options,
	face Face,
	repo *worktree.Repo,
	learnAbout string,
	db *memory.DB,
	known []plan.Adjusted,
) (*session, error) {
	s := &session{
		host:        h,
		face:        face,
		repo:        repo,
		db:          db,
		avoid:       h.Avoid(ctx, learnAbout),
		autoApprove: opts.AutoApprove || cfg.AutoApprove,
		force:       opts.Force,
		secrets:     config.NewKnownSecrets(cfg.Secrets(h.environ)),
	}
	s.redact = s.secrets.Redact
	s.redactRead = func(text string) string { return userinfo.Redact(s.redact(text)) }
	if err := s.openModel(ctx, &cfg, opts, known); err != nil {
		return nil, err
	}
	s.cfg = cfg
	if err := s.openRooms(ctx, learnAbout); err != nil {
		return nil, errors.Join(err, s.closeModel())
	}
	return s, nil
}

// openRooms opens what stands beside the model: learning, shell, walls and rules.
func (s *session) openRooms(ctx context.Context, learnAbout string) error {
	h := s.host
	if err := connect.CheckBudget(s.cfg, s.servers); err != nil {
		return err
	}
	paths, err := h.Paths()
	if err != nil {
		return err
	}
	if s.learn, err = h.openLearning(ctx, s.cfg, s.db, learnAbout, s.redact); err != nil {
		return err
	}
	s.index = tools.NewIndex(wordsOf(paths.Home, learnAbout))
	if err := s.openWalls(ctx, paths, learnAbout); err != nil {
		return err
	}
	s.guard, err = s.newGuard()
	return err
}

// openWalls opens what commands run with, and the tools from outside, which are started
// like them.
func (s *session) openWalls(ctx context.Context, paths config.Paths, learnAbout string) (err error) {
	h := s.host
	env, set := walls.Environment(s.cfg, h.environ)
	s.shell, err = sandbox.New(sandbox.Config{
		Env:     env,
		Set:     set,
		Path:    h.searched(s.repo.Root(), s.avoid),
		Timeout: s.cfg.Timeouts.Bash.Duration,
		Now:     h.now,
	})
	if err != nil {
		return err
	}
	folders, err := s.shownFolders(ctx, paths, learnAbout)
	if err != nil {
		return err
	}
	s.walls, err = walls.New(ctx, walls.Config{
		Settings:   s.cfg,
		Repo:       func() *worktree.Repo { return s.repo },
		Shell:      s.shell,
		Env:        s.cfg.ForChildren(h.environ),
		Home:       paths.Home,
		Homes:      h.Homes(),
		Shown:      folders,
		Now:        h.now,
		Note:       h.note,
		CopyTree:   s.copyTree,
		Background: s.cleanup.Go,
	})
	if err != nil {
		return err
	}
	s.about = learnAbout
	s.toolbox = s.openToolbox(paths, learnAbout)
	return nil
}

// wordsOf is the file of a home with the words of a repository's source files: a cache.
func wordsOf(home, repo string) string {
	sum := sha256.Sum256([]byte(repo))
	return filepath.Join(home, "words", hex.EncodeToString(sum[:8])+".words")
}

// Learning is what earlier runs have taught about a repository, "" for what holds
// everywhere, under settings.
func (h *Host) Learning(ctx context.Context, cfg config.Config, repo string) (*learning.Learning, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	return h.openLearning(ctx, cfg, db, repo, h.Redactor(cfg))
}

func (h *Host) openLearning(
	ctx context.Context,
	cfg config.Config,
	db *memory.DB,
	repo string,
	redact func(string) string,
) (*learning.Learning, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	return learning.New(learning.Config{
		Settings:   cfg,
		DB:         db,
		Repository: repo,
		Home:       paths.Home,
		Trust:      h.trustStore(paths),
		Redact:     redact,
		Avoid:      h.Avoid(ctx),
		Now:        h.now,
	})
}

// openModel connects to the models, or to the recording of one.
func (s *session) openModel(ctx context.Context, cfg *config.Config, opts Options, known []plan.Adjusted) error {
	to := s.host.connector(s.repo.Root(), s.avoid)
	to.HTTP = s.face.Shared.http()
	if opts.Replay != "" {
		if cfg.Model == "" {
			return connect.ErrNoModelName
		}
		player, err := record.Open(opts.Replay, s.redact)
		if err != nil {
			return err
		}
		s.servers = to.Servers(*cfg, s.secrets, known)
		s.model = player
		s.closeModel = s.closeServers
		return nil
	}
	var err error
	if s.servers, err = to.Open(ctx, cfg, s.secrets, known); err != nil {
		return err
	}
	s.closeModel = s.closeServers
	s.model = s.face.Shared.limit(s.servers)
	if opts.Record == "" {
		return nil
	}
	recorder, err := record.New(s.servers, opts.Record, s.redact)
	if err != nil {
		return errors.Join(err, s.closeServers())
	}
	s.model = recorder
	s.closeModel = func() error { return errors.Join(recorder.Close(), s.closeServers()) }
	return nil
}

func (s *session) closeServers() error {
	s.servers.Close()
	return nil
}

// waitForCleanup waits up to a second for copies of the tree to be removed.
func (s *session) waitForCleanup() {
	done := make(chan struct{})
	go func() {
		s.cleanup.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// newKit is this version's prompts and tools, for a run with this request.
func (s *session) newKit(ctx context.Context, request string) (phases.Kit, error) {
	set, err := tools.New(tools.Config{Root: s.repo.Root(), Shell: s.shell})
	if err != nil {
		return phases.Kit{}, wrap("open the tools", err)
	}
	offered, err := set.Tools(tools.Names()...)
	if err := errors.Join(err, set.Close()); err != nil {
		return phases.Kit{}, wrap("open the tools", err)
	}
	kit, err := phases.NewKit(offered, s.looksWithCommands())
	if err == nil {
		kit, err = s.withOutside(ctx, kit, request)
	}
	if err == nil && isSet(s.cfg.SubAgents) {
		err = kit.AddTask()
	}
	if s.autoApprove {
		kit = kit.Unattended()
	}
	return kit, err
}

// looksWithCommands reports whether Explore and Plan run commands: as the settings say,
// or else where a wall can be built that keeps the tree as it is.
func (s *session) looksWithCommands() bool {
	if s.cfg.ExploreBash != nil {
		return *s.cfg.ExploreBash
	}
	return s.walls.Hold()
}

// newPhases brings model, tools and tree together.
func (s *session) newPhases(
	kit phases.Kit,
	base string,
	instructions []worktree.Instruction,
	planOnly bool,
) (*phases.Phases, error) {
	var words []phases.Instruction
	for _, in := range instructions {
		words = append(words, phases.Instruction{Path: in.Path, Text: s.redactRead(in.Text)})
	}
	route, why, err := connect.RouteOf(s.cfg)
	if err != nil {
		return nil, err
	}
	return phases.New(phases.Config{
		Model:          s.model,
		Models:         connect.PhaseModels(s.cfg),
		Settings:       connect.PhaseSettings(s.cfg),
		Kit:            kit,
		Root:           s.repo.Root(),
		Blob:           s.db.Blob,
		Hashes:         s.repo.Hashes,
		Base:           base,
		Room:           s.walls.PhaseRoom,
		Sandbox:        s.walls.Record,
		Checks:         s.knownChecks,
		Way:            s.cfg.Way,
		PlanSize:       s.cfg.PlanSize,
		Instructions:   words,
		Redact:         s.redact,
		RedactRead:     s.redactRead,
		Conversation:   s.conversation,
		Try:            s.tryCommand,
		StrictEvidence: s.cfg.Checks.Evidence == plan.EvidenceShown,
		Mail:           s.mail,
		PlanOnly:       planOnly,
		Unattended:     s.autoApprove,
		AutoApprove:    s.autoApprove,
		Watch:          s.guard.watch,
		Withheld:       s.guard.withheld,
		Denied:         s.guard.denied,
		Adviser:        s.learn,
		Remember:       s.learn.Remember,
		Recall:         s.learn.Recall,
		Index:          s.index,
		Avoid:          s.avoid,
		Servers:        s.cfg.Servers(),
		Outside:        s.outside(),
		Skill:          s.learn.LoadSkill,
		Window:         s.servers.Window,
		LearnWindow:    s.servers.Learn,
		MaxOutput:      s.servers.MaxOutput,
		Route:          route,
		Why:            why,
		SameServer:     s.servers.Same,
		Wire:           s.servers.Wire,
		Provider:       s.servers.Provider,
		Compaction:     loop.Level(s.cfg.Compact.Level),
		Count:          new(tokens.Counter).Count,
		Limits: plan.Limits{
			Turns:   s.cfg.MaxTurns,
			Tokens:  s.cfg.MaxTokens,
			CostUSD: s.cfg.MaxCost,
		},
		Own:      connect.PhaseLimits(s.cfg),
		Retry:    connect.Retry(s.cfg),
		Timeouts: connect.Timeouts(s.cfg),
		Strategy: connect.Strategy(s.cfg),

		SteerDelivery:    connect.Delivery(s.cfg.Letters.Steering),
		FollowUpDelivery: connect.Delivery(s.cfg.Letters.FollowUps),

		Price: s.servers.Price,
	})
}

// tryCommand makes a trial that weighs a verdict.
func (s *session) tryCommand(ctx context.Context, t plan.Trial) (plan.CheckResult, []plan.Blob, error) {
	return s.proof.Try(ctx, t)
}

// knownChecks are the checks that are known without a plan.
func (s *session) knownChecks() []plan.Unready { return s.proof.Known() }

// conversation reads what a conversation of a run has journalled.
func (s *session) conversation(ctx context.Context, run plan.RunID, conv string) ([]plan.Event, error) {
	return (&journal{
		db:    s.db,
		run:   run,
		story: s.story,
	}).Conversation(ctx, conv)
}

func isSet(flag *bool) bool { return flag != nil && *flag }

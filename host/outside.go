package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/host/toolbox"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/mcp"
	"github.com/plan-engine/plan/tools/outside"
	"github.com/plan-engine/plan/worktree/git"
)

// openToolbox opens what comes from outside, for a run about the repository at root.
// Nothing is started.
func (s *session) openToolbox(paths config.Paths, root string) *toolbox.Toolbox {
	h := s.host
	cfg := h.toolboxConfig(s.cfg, paths, root, s.avoid)
	cfg.Tree = func() string { return s.repo.Root() }
	cfg.Room = func(ctx context.Context, p plan.Phase) (phases.Room, error) { return s.walls.ToolRoom(ctx, p) }
	cfg.Secret = func(key string) { s.secrets.Add(config.Secret{Name: "KEY", Value: key}) }
	cfg.Used = func(ctx context.Context, p plan.Phase, tool string, duration time.Duration, failed bool) {
		use := memory.ToolUse{
			Tool:  tool,
			Repo:  s.about,
			Phase: p,
			Use:   memory.ToolCalled,
			Took:  duration,
		}
		if failed {
			use.Use = memory.ToolFailed
		}
		s.recordToolUse(ctx, use)
	}
	if s.face.Person != nil && !s.autoApprove {
		cfg.Ask = s.askForServer()
	}
	return toolbox.New(cfg)
}

// toolboxConfig is what tools from outside are opened with, in a run and in a command alike. Where
// avoid, which may be nil, says that a path leads, those outside of walls find no program.
func (h *Host) toolboxConfig(
	settings config.Config,
	paths config.Paths,
	root string,
	avoid func(path string) bool,
) toolbox.Config {
	to := h.connector(root, avoid)
	return toolbox.Config{
		Settings:   settings,
		Root:       root,
		Tree:       func() string { return root },
		Home:       paths.Home,
		UserHome:   h.Getenv("HOME"),
		Getenv:     h.Getenv,
		KeyCommand: to.KeyCommand,
		Secret:     func(string) {},
		Trusted:    h.trustedItems(paths, root),
		Searched:   h.Getenv("PATH"),
		Own: func() (*sandbox.Shell, error) {
			path := h.searched(root, avoid)
			return sandbox.New(sandbox.Config{
				Env:  git.Clear(settings.ForChildren(h.environ), root, avoid),
				Own:  true,
				Path: path,
				Set:  []string{"PATH=" + path}, // what it starts in turn is not found in the tree either
				Now:  h.now,
			})
		},
		Now: h.now,
	}
}

// recordToolUse remembers what became of a tool. It is no part of the run.
func (s *session) recordToolUse(ctx context.Context, uses ...memory.ToolUse) {
	for i := range uses {
		if s.writer != nil {
			uses[i].Run = s.writer.Run()
		}
	}
	if err := s.db.RecordToolUses(context.WithoutCancel(ctx), uses...); err != nil {
		s.host.note(fmt.Sprintf("the use of a tool was not remembered: %v", err))
	}
}

// similarRuns is how many runs are looked at for what requests of a kind need.
const similarRuns = 100

// withOutside adds to the kit of a new run the tools from outside that it is offered.
func (s *session) withOutside(ctx context.Context, kit phases.Kit, request string) (phases.Kit, error) {
	if s.toolbox.IsEmpty() {
		return kit, nil
	}
	needs, err := s.db.ToolNeeds(ctx, s.about, similarRuns)
	if err != nil {
		return kit, err
	}
	var window int64
	for _, model := range connect.PhaseModels(s.cfg) {
		if w := s.servers.Window(model); window == 0 || w > 0 && w < window {
			window = w
		}
	}
	offer, err := s.toolbox.Offer(ctx, request, window, needs)
	if err != nil {
		return kit, err
	}
	var uses []memory.ToolUse
	seen := map[string]bool{}
	for _, info := range slices.Concat(offer.For(true), offer.For(false)) {
		if !seen[info.Name] {
			uses = append(uses, memory.ToolUse{
				Tool: info.Name,
				Repo: s.about,
				Use:  memory.ToolOffered,
			})
		}
		seen[info.Name] = true
	}
	s.recordToolUse(ctx, uses...)
	return kit.WithOutside(offer), nil
}

// outside opens tools from outside for the phases; nil where there are none.
func (s *session) outside() func(plan.Phase) *outside.Set {
	if s.toolbox.IsEmpty() {
		return nil
	}
	return s.toolbox.Open
}

// askForServer puts what a server wants to know to the person, one question after the other.
func (s *session) askForServer() func(context.Context, mcp.Question) mcp.Answer {
	var asking sync.Mutex
	return func(ctx context.Context, q mcp.Question) mcp.Answer {
		asking.Lock()
		defer asking.Unlock()
		call := plan.WaitingCall{
			Call:     "server",
			Name:     "ask",
			Question: q.Text,
			Options:  q.Options,
		}
		end := engine.End{Parked: &plan.Parked{Reason: plan.ParkQuestion, Waiting: []plan.WaitingCall{call}}}
		letters, ok := s.face.Person.Decide(ctx, end, nil)
		if !ok || len(letters) == 0 || letters[0].Kind != Answer {
			return mcp.Answer{}
		}
		return mcp.Answer{Text: letters[0].Text, Given: true}
	}
}

// Toolbox is the tools from outside that the settings name for the repository at root, ""
// for none, for a person who looks at them.
func (h *Host) Toolbox(root string) (*toolbox.Toolbox, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	settings, err := h.Settings(root, config.Config{})
	if err != nil {
		return nil, err
	}
	return toolbox.New(h.toolboxConfig(settings, paths, root, nil)), nil
}

// toolClaims lists the tools from outside that wait for a person.
func (h *Host) toolClaims(root string) ([]trust.Item, error) {
	box, err := h.withNotes(func(string) {}).Toolbox(root)
	if err != nil {
		return nil, err
	}
	return box.Claims(), nil
}

// withTools has something done with the tools from outside that the settings name for the
// repository at dir, as a phase would use them: behind its walls.
func (h *Host) withTools(ctx context.Context, dir string, do func(box *toolbox.Toolbox) error) (err error) {
	repo, err := h.OpenRepo(ctx, dir)
	if err != nil {
		return err
	}
	paths, err := h.Paths()
	if err != nil {
		return err
	}
	settings, err := h.Settings(repo.Root(), config.Config{})
	if err != nil {
		return err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return err
	}
	s := &session{
		host:    h,
		cfg:     settings,
		repo:    repo,
		db:      db,
		secrets: config.NewKnownSecrets(settings.Secrets(h.environ)),
	}
	if err := s.openWalls(ctx, paths, repo.Root()); err != nil {
		return err
	}
	defer s.waitForCleanup()
	return do(s.toolbox)
}

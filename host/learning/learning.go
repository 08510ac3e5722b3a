// Package learning is what earlier runs have taught, and what a run adds to it:
// the facts and skills that its phases are told, what it remembers while it
// works, how the skills it used are credited when it ends, and the drafts of
// skills that rows of successes make. It also has what people do with these:
// reviewing, measuring and writing drafts, statistics, and facts.
//
// Learning advises. What goes wrong while a run is driven is said in the events
// that it returns and never stops the run. It knows nothing of commands and
// terminals, and opens neither databases nor models: they are passed in.
package learning

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// memoryOffAnswer is what the remember tool says where memory is off.
const memoryOffAnswer = "Nothing is remembered here: memory is off."

// Config is what [New] needs.
type Config struct {
	// Settings say what is switched on, and how long facts are kept.
	Settings config.Config
	// DB holds facts, records of skills, and decisions about drafts. Required.
	DB *memory.DB
	// Repository is the root of the repository that is learned about; "" for
	// none, which leaves the skills of the home and the built-in ones.
	Repository string
	// Home is the folder of the program's own files; skills/ is below it.
	// Required.
	Home string
	// Trust says which skills of the repository a person has allowed. Required
	// where there is a repository.
	Trust *trust.Store
	// Redact replaces secrets in what is kept and in what a model is told; nil
	// replaces nothing.
	Redact func(string) string
	// Avoid reports whether a path leads to programs that are not to be run; nil is for none.
	Avoid func(path string) bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Learning is what can be learned from, and added to, for one repository. It is
// safe for concurrent use once the run is set with [Learning.StartRun].
type Learning struct {
	settings config.Config
	db       *memory.DB
	home     string
	repo     string
	places   []skills.Place
	library  *auto.Library
	router   *skills.Router
	redact   func(string) string
	avoid    func(path string) bool
	now      func() time.Time

	mu      sync.Mutex
	catalog *skills.Catalog // nil until it is first asked for
	index   *skills.Index
	run     plan.RunID   // that is driven
	seen    []plan.Event // of its journal, those that matter when it ends
	style   style        // what was said to it
}

var _ phases.Adviser = (*Learning)(nil)

// New lays out what can be learned from and added to. It reads nothing yet:
// skills are read when they are first asked for, once.
func New(cfg Config) (*Learning, error) {
	switch {
	case cfg.DB == nil:
		return nil, errors.New("learning needs a database")
	case cfg.Home == "":
		return nil, errors.New("learning needs a home")
	case cfg.Repository != "" && cfg.Trust == nil:
		return nil, errors.New("learning about a repository needs to know what of it is trusted")
	}
	if cfg.Redact == nil {
		cfg.Redact = func(text string) string { return text }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	l := &Learning{
		settings: cfg.Settings,
		db:       cfg.DB,
		home:     cfg.Home,
		repo:     cfg.Repository,
		redact:   cfg.Redact,
		avoid:    cfg.Avoid,
		now:      cfg.Now,
	}
	l.library = &auto.Library{
		Dir:    filepath.Join(cfg.Home, "skills", "auto"),
		Grants: cfg.DB,
		Redact: cfg.Redact,
		Now:    cfg.Now,
	}
	l.router = &skills.Router{
		Records: cfg.DB,
		Now:     cfg.Now,
		Rand:    randomSource(cfg.Settings.Skills.Seed),
	}
	if cfg.Repository != "" {
		for _, folder := range trust.SkillFolders() {
			l.places = append(l.places, skills.Folder{
				Label: folder,
				Dir:   filepath.Join(cfg.Repository, filepath.FromSlash(folder)),
				Allow: allowTrusted(cfg.Trust, cfg.Repository),
			})
		}
	}
	l.places = append(l.places, l.library, skills.Folder{
		Label: "user",
		Dir:   filepath.Join(cfg.Home, "skills"),
	}, skills.BuiltIn())
	return l, nil
}

// allowTrusted says whether a skill of a repository may be used, as it is now.
func allowTrusted(store *trust.Store, root string) func(context.Context, skills.Skill) (string, bool, error) {
	return func(_ context.Context, s skills.Skill) (string, bool, error) {
		const why = "it is not trusted as it is now; see it and allow it with `plan trust`"
		name, err := filepath.Rel(root, s.Dir)
		if err != nil {
			return why, false, nil //nolint:nilerr // a skill outside the repository is none of its skills
		}
		name = filepath.ToSlash(name)
		digest, err := trust.Folder(root, name)
		if err != nil {
			return "it cannot be trusted: " + err.Error(), false, nil
		}
		ok, err := store.Trusted(root, "skill", name, digest)
		return why, ok, err
	}
}

// randomSource is a source of the given seed, or with 0 one that differs in
// every process.
func randomSource(seed int64) rand.Source {
	if seed != 0 {
		return rand.NewPCG(uint64(seed), 0)
	}
	var b [16]byte
	_, _ = crand.Read(b[:]) // it never fails
	return rand.NewPCG(binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:]))
}

// Catalog returns the skills that there are, which of them count, and what is
// wrong with the others. They are read once.
func (l *Learning) Catalog(ctx context.Context) (*skills.Catalog, error) {
	c, _, err := l.readSkills(ctx)
	return c, err
}

// Settings returns the settings that it was made with.
func (l *Learning) Settings() config.Config { return l.settings }

// Library returns the drafted skills, and what people do with them.
func (l *Learning) Library() *auto.Library { return l.library }

// readSkills reads the skills the first time it is called.
func (l *Learning) readSkills(ctx context.Context) (*skills.Catalog, *skills.Index, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog == nil {
		c, err := skills.Find(ctx, l.places...)
		if err != nil {
			return nil, nil, err
		}
		l.catalog, l.index = c, skills.NewIndex(c.Skills)
	}
	return l.catalog, l.index, nil
}

// OffersSkills are the phases in which a skill may be of use for a request, so that
// others do not carry the tool for them: all, where the request names one.
func (l *Learning) OffersSkills(ctx context.Context, request string) []plan.Phase {
	if l.settings.Skills.Off {
		return nil
	}
	c, ix, err := l.readSkills(ctx)
	if err != nil {
		return nil // the run goes on without skills
	}
	if name := skills.Override(request); name != "" {
		if _, ok := c.Get(name); ok {
			return plan.Phases()
		}
	}
	return slices.DeleteFunc(plan.Phases(), func(p plan.Phase) bool { return len(ix.Relevant(request, p, 1)) == 0 })
}

// Remember keeps a fact for later runs on the repository, and returns what the
// model that asked for it is told. It is what the tool of that name calls.
func (l *Learning) Remember(ctx context.Context, text string) (string, error) {
	if l.settings.Memory.Off {
		return memoryOffAnswer, nil
	}
	_, how, err := l.db.AddFact(ctx, plan.Fact{
		Text:    l.redact(text),
		Repo:    l.repo,
		Source:  plan.FactFromTool,
		Run:     l.run,
		Expires: l.now().Add(l.retention()),
	})
	switch {
	case err != nil:
		return "", err
	case how == memory.FactForgotten:
		return "A person has asked for this to be forgotten, so it is not kept.", nil
	case how == memory.FactMerged:
		return "That is remembered already.", nil
	}
	return "Remembered for later runs on this repository.", nil
}

// retention is how long a fact is kept that no run uses.
func (l *Learning) retention() time.Duration {
	if d := l.settings.Memory.Retention.Duration; d > 0 {
		return d
	}
	return config.UsualRetention
}

// LoadSkill returns the text of a skill, or of one of its files for
// "skill/file". It is what the skill tool calls.
func (l *Learning) LoadSkill(ctx context.Context, name string) (string, error) {
	c, _, err := l.readSkills(ctx)
	if err != nil {
		return "", err
	}
	name, file, inside := strings.Cut(name, "/")
	s, ok := c.Get(name)
	if !ok {
		return "", fmt.Errorf("there is no skill %q; the ones there are were listed at the start of this phase", name)
	}
	if inside {
		data, err := skills.LoadFile(s, file)
		return l.redact(string(data)), err
	}
	body, files, err := skills.Load(s)
	if err != nil {
		return "", err
	}
	if len(files) > 0 {
		body += "\n\nFiles beside it, which the skill tool loads by these names:"
		for _, f := range files {
			body += "\n- " + name + "/" + f
		}
	}
	return l.redact(body), nil
}

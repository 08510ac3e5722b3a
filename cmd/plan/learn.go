package main

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// What recall may tell a phase.
const (
	maxFacts       = 6
	maxFactBytes   = 2000 // about 500 tokens
	leastScore     = 2.5  // a fact below is about something else
	maxIndex       = 20   // skills listed to a phase
	keepLearned    = 180 * 24 * time.Hour
	noMemoryAnswer = "Nothing is remembered here: memory is off."
)

// generic words are in most requests and say nothing about what one is about.
const generic = ` add fix make change update use new file files code function support remove implement bug error issue ` +
	`need want test tests work run get set all some any when where which into out only also just now then than `

// learning is what earlier runs have taught, and what this one adds to it.
type learning struct {
	cfg     config.Config
	db      *memory.DB
	repo    string
	places  []skills.Place
	library *auto.Library
	router  *skills.Router
	redact  func(string) string
	now     func() time.Time

	mu      sync.Mutex
	catalog *skills.Catalog
	index   *skills.Index
	run     plan.RunID   // that is driven
	seen    []plan.Event // of its journal, those that matter when it ends
}

var _ phases.Adviser = (*learning)(nil)

// newLearning lays out what can be learned from and added to for a repository.
func (a *app) newLearning(
	cfg config.Config,
	db *memory.DB,
	repo string,
	redact func(string) string,
) (*learning, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, err
	}
	l := &learning{
		cfg:    cfg,
		db:     db,
		repo:   repo,
		redact: redact,
		now:    a.now,
	}
	l.library = &auto.Library{
		Dir:    filepath.Join(paths.Home, "skills", "auto"),
		Grants: db,
		Redact: redact,
		Now:    a.now,
	}
	l.router = &skills.Router{
		Records: db,
		Now:     a.now,
		Rand:    randomSource(cfg.Skills.Seed),
	}
	if repo != "" {
		for _, dir := range []string{".plan", ".agents", ".claude"} {
			l.places = append(l.places, skills.Folder{
				Label: dir + "/skills",
				Dir:   filepath.Join(repo, dir, "skills"),
				Allow: a.trusted(paths, repo),
			})
		}
	}
	l.places = append(l.places, l.library, skills.Folder{
		Label: "user",
		Dir:   filepath.Join(paths.Home, "skills"),
	}, skills.BuiltIn())
	return l, nil
}

// randomSource is a source of the given seed, or of one that nobody knows.
func randomSource(seed int64) rand.Source {
	if seed != 0 {
		return rand.NewPCG(uint64(seed), 0)
	}
	var b [16]byte
	_, _ = crand.Read(b[:]) // it never fails
	return rand.NewPCG(binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:]))
}

// find reads the skills once for each process.
func (l *learning) find(ctx context.Context) (*skills.Catalog, *skills.Index, error) {
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

// offers says whether any skill may be of use for a request, so that a run
// that has none does not carry the tool for them.
func (l *learning) offers(ctx context.Context, request string) bool {
	if l.cfg.Skills.Off {
		return false
	}
	_, ix, err := l.find(ctx)
	if err != nil {
		return false // an adviser fails open
	}
	for _, p := range plan.Phases() {
		if phases.TraitsOf(p).LoadsSkills && len(ix.Relevant(request, p, 1)) > 0 {
			return true
		}
	}
	_, named := l.catalogued(skills.Override(request))
	return named
}

func (l *learning) catalogued(name string) (skills.Skill, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog == nil || name == "" {
		return skills.Skill{}, false
	}
	return l.catalog.Get(name)
}

// Advise implements phases.Adviser.
func (l *learning) Advise(ctx context.Context, p plan.Phase, request string) []plan.Body {
	var out []plan.Body
	if r := l.recall(ctx, p, request); r != nil {
		out = append(out, *r)
	}
	if l.cfg.Skills.Off || phases.TraitsOf(p).Judges {
		return out
	}
	c, ix, err := l.find(ctx)
	if err != nil {
		return append(out, plan.SkillPick{Why: plan.PickFailed, Error: err.Error()})
	}
	pick := l.router.Choose(ctx, ix, p, request)
	pick.Hint = skills.Hint(pick, c)
	var index strings.Builder
	for _, m := range ix.Relevant(request, p, maxIndex) {
		fmt.Fprintf(&index, "- %s: %s\n", m.Skill.Name, m.Skill.Description)
	}
	pick.Index = index.String()
	if pick.Why == plan.PickIrrelevant {
		return out
	}
	return append(out, pick)
}

// recall finds what a phase is told, nil for a phase that is told nothing.
func (l *learning) recall(ctx context.Context, p plan.Phase, request string) *plan.Recall {
	asks := l.cfg.Memory.Recall
	if asks == nil {
		asks = []string{string(plan.Explore)}
	}
	var r plan.Recall
	switch {
	case l.cfg.Memory.Off:
		return nil
	case p == plan.Implement:
		if s, err := l.db.Style(ctx); err == nil {
			r.Style = s.Line()
		}
		if r.Style == "" && !slices.Contains(asks, string(p)) {
			return nil
		}
	}
	if slices.Contains(asks, string(p)) {
		l.facts(ctx, request, &r)
	}
	if len(r.Facts)+len(r.Withheld) == 0 && r.Style == "" && r.Error == "" {
		return nil
	}
	return &r
}

// facts fills in what is told and what is withheld.
func (l *learning) facts(ctx context.Context, request string, r *plan.Recall) {
	r.Facts = []plan.Recalled{}
	r.Terms = slices.DeleteFunc(
		skills.Words(request),
		func(w string) bool { return strings.Contains(generic, " "+w+" ") },
	)
	hits, err := l.db.SearchFacts(ctx, memory.FactQuery{
		Words: r.Terms,
		Repo:  l.repo,
		Now:   l.now(),
		Limit: 20,
	})
	if err != nil {
		r.Error = err.Error()
		return
	}
	size := 0
	var used []int64
	for _, h := range hits {
		why := ""
		switch {
		case h.Expired:
			why = "expired"
		case h.Score < leastScore:
			why = "score"
		case h.Matched == 0:
			why = "no shared word"
		case len(r.Facts) == maxFacts:
			why = "too many"
		case size+len(h.Text) > maxFactBytes:
			why = "too long"
		}
		if why != "" {
			r.Withheld = append(r.Withheld, plan.WithheldFact{
				ID:    h.ID,
				Score: h.Score,
				Why:   why,
			})
			continue
		}
		size += len(h.Text)
		used = append(used, h.ID)
		r.Facts = append(r.Facts, plan.Recalled{
			ID:    h.ID,
			Text:  h.Text,
			Score: h.Score,
		})
	}
	if err := l.db.UseFacts(ctx, used, l.now().Add(l.retention())); err != nil {
		r.Error = err.Error()
	}
}

func (l *learning) retention() time.Duration {
	if d := l.cfg.Memory.Retention.Duration; d > 0 {
		return d
	}
	return keepLearned
}

// remember is behind the tool of that name.
func (l *learning) remember(ctx context.Context, text string) (string, error) {
	if l.cfg.Memory.Off {
		return noMemoryAnswer, nil
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

// skill is behind the tool of that name.
func (l *learning) skill(ctx context.Context, name string) (string, error) {
	c, _, err := l.find(ctx)
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
		body += "\n\nFiles beside it, which the skill tool loads by these names:\n- " + name + "/" + strings.Join(
			files,
			"\n- "+name+"/",
		)
	}
	return l.redact(body), nil
}

// skillNamed is the skill that a call asks for, "" for arguments that name
// none.
func skillNamed(args json.RawMessage) string {
	var a struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	name, _, _ := strings.Cut(a.Name, "/")
	return name
}

// cutText shortens a text to about n bytes, at a rune.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

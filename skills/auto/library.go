package auto

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// Grants remembers what a person decided about drafts.
type Grants interface {
	// SkillGrants returns all decisions, the oldest first.
	SkillGrants(ctx context.Context) ([]plan.SkillGrant, error)
	// GrantSkill adds a decision.
	GrantSkill(ctx context.Context, g plan.SkillGrant) error
}

// Library holds the drafts of one home, each revision in a folder of its own:
// NAME, NAME.rev2, NAME.rev3, …
type Library struct {
	Dir    string // skills/auto of the home
	Grants Grants
	// Redact replaces secrets in what comes from runs.
	Redact func(string) string
	Now    func() time.Time
}

// Meta is the manifest of a draft.
type Meta struct {
	AutoDrafted bool         `json:"auto_drafted"`
	NeedsReview bool         `json:"needs_review"`
	Score       *float64     `json:"score"` // null until it was measured
	Signature   string       `json:"signature"`
	Revision    int          `json:"revision"`
	Runs        []plan.RunID `json:"runs"`
	Digest      string       `json:"digest"`
	DraftedAt   time.Time    `json:"drafted_at"`
	// Change names the skill that this draft proposes to change, "" for a new
	// one.
	Change string `json:"change,omitempty"`
}

// Status is where a draft stands.
type Status string

// What can be said of a draft.
const (
	Pending  Status = "pending"  // no person has decided
	Approved Status = "approved" // these bytes may be used
	Rejected Status = "rejected"
	Revoked  Status = "revoked" // approved before, taken back
	Changed  Status = "changed" // its bytes are not those that were decided about
)

// Draft is one revision of a drafted skill.
type Draft struct {
	Name     string
	Revision int
	Dir      string
	Meta     Meta
	Skill    skills.Skill
	Body     string
	Status   Status
	Why      string // of the decision
	// Active says that this is the revision that is used.
	Active bool
	Err    error // why it cannot be read
}

// Name implements [skills.Place].
func (l *Library) Name() string { return "approved drafts" }

// Skills implements [skills.Place]: the latest approved revision of each name.
func (l *Library) Skills(ctx context.Context) (skills.Contents, error) {
	var contents skills.Contents
	drafts, err := l.List(ctx)
	if err != nil {
		return contents, err
	}
	for _, d := range drafts {
		switch {
		case d.Err != nil:
			contents.Problems = append(contents.Problems, skills.Problem{Path: d.Dir, Err: d.Err})
		case d.Active:
			contents.Usable = append(contents.Usable, d.Skill)
		case d.Status != Approved:
			d.Skill.Source = string(d.Status) + " drafts"
			contents.Withheld = append(contents.Withheld, skills.Withheld{
				Skill: d.Skill,
				Why:   "the draft is " + string(d.Status),
			})
		}
	}
	return contents, nil
}

// List returns every revision of every draft, sorted by name and revision.
func (l *Library) List(ctx context.Context) ([]Draft, error) {
	entries, err := os.ReadDir(l.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the drafts: %w", err)
	}
	grants, err := l.Grants.SkillGrants(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what was decided about drafts: %w", err)
	}
	var out []Draft
	for _, e := range entries {
		name, rev, ok := revisionOf(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		out = append(out, l.read(e.Name(), name, rev, grants))
	}
	slices.SortFunc(out, func(a, b Draft) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.Revision-b.Revision) })
	for i := range out {
		later := slices.ContainsFunc(
			out[i+1:],
			func(d Draft) bool { return d.Name == out[i].Name && d.Status == Approved },
		)
		out[i].Active = out[i].Status == Approved && !later
	}
	return out, nil
}

// read reads one revision. What is wrong with it is said in Err.
func (l *Library) read(folder, name string, rev int, grants []plan.SkillGrant) Draft {
	d := Draft{
		Name:     name,
		Revision: rev,
		Dir:      filepath.Join(l.Dir, folder),
		Status:   Pending,
	}
	data, err := os.ReadFile(filepath.Join(d.Dir, skills.Manifest))
	if err == nil {
		err = json.Unmarshal(data, &d.Meta)
	}
	if err != nil {
		d.Err = fmt.Errorf("read its manifest: %w", err)
		return d
	}
	if d.Skill, d.Body, d.Err = skills.Read(os.DirFS(d.Dir), name); d.Err != nil {
		return d
	}
	d.Skill.Dir, d.Skill.Score = d.Dir, d.Meta.Score
	decided := false
	for _, g := range grants {
		if g.Name != name {
			continue
		}
		if g.Digest == d.Skill.Digest {
			d.Status, d.Why = Status(g.Decision), g.Why
		}
		decided = decided || g.Digest == d.Meta.Digest
	}
	if d.Status == Pending && decided && d.Skill.Digest != d.Meta.Digest {
		d.Status = Changed
	}
	return d
}

// Get finds a draft by name: the given revision, or with 0 the one that waits
// for a decision, else the latest.
func (l *Library) Get(ctx context.Context, name string, rev int) (Draft, error) {
	drafts, err := l.List(ctx)
	if err != nil {
		return Draft{}, err
	}
	var latest *Draft
	for i := range drafts {
		d := &drafts[i]
		if d.Name != name || rev > 0 && d.Revision != rev {
			continue
		}
		if latest == nil || d.needsDecision() || !latest.needsDecision() {
			latest = d
		}
	}
	if latest == nil {
		return Draft{}, fmt.Errorf(
			"there is no draft %s; `plan skills review` shows those there are",
			strings.TrimSpace(name+" "+revText(rev)),
		)
	}
	return *latest, latest.Err
}

// needsDecision reports whether a person has to look at the draft.
func (d Draft) needsDecision() bool { return d.Status == Pending || d.Status == Changed }

// Waiting lists the drafts that a person has to look at.
func (l *Library) Waiting(ctx context.Context) ([]Draft, error) {
	drafts, err := l.List(ctx)
	return slices.DeleteFunc(drafts, func(d Draft) bool { return !d.needsDecision() || d.Err != nil }), err
}

func revText(rev int) string {
	if rev == 0 {
		return ""
	}
	return fmt.Sprintf("revision %d", rev)
}

const revMark = ".rev"

// revisionOf reads the name of a draft's folder.
func revisionOf(folder string) (name string, rev int, ok bool) {
	name, number, marked := strings.Cut(folder, revMark)
	if !skills.ValidName(name) {
		return "", 0, false
	}
	if !marked {
		return name, 1, true
	}
	rev, err := strconv.Atoi(number)
	return name, rev, err == nil && rev > 1
}

// folderOf is the name of the folder of a revision.
func folderOf(name string, rev int) string {
	if rev == 1 {
		return name
	}
	return name + revMark + strconv.Itoa(rev)
}

package auto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/holder"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/skills"
)

// sameTopicShare is from which share of common words on a draft is about the same thing
// as a skill that is there.
const sameTopicShare = 0.5

// claimPoll is how often a process looks whether another has written its draft.
const claimPoll = 20 * time.Millisecond

// Draft writes a draft of what the runs had in common. It returns nil when
// there is nothing to draft: a person has rejected drafts of this signature, or has
// not yet decided about one, or the same draft is there already. A draft that is much
// like one of the existing skills becomes a proposed change to that one.
//
// One process of the home looks and writes at a time, so that runs of the same kind
// that end together make one draft.
func (l *Library) Draft(
	ctx context.Context,
	signature string,
	evidence []Evidence,
	existing []skills.Skill,
) (draft *plan.SkillDraft, err error) {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of drafts: %w", err)
	}
	claim, taken, err := holder.Take(ctx, filepath.Join(l.Dir, claimFile), claimPoll)
	if err != nil || !taken {
		return nil, errors.Join(fmt.Errorf("wait for another process that writes a draft: %w", err), claim.Close())
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	return l.draft(ctx, signature, evidence, existing)
}

// claimFile is locked by the process that writes a draft.
const claimFile = ".lock"

// draft is Draft for the process that has the claim.
func (l *Library) draft(
	ctx context.Context,
	signature string,
	evidence []Evidence,
	existing []skills.Skill,
) (*plan.SkillDraft, error) {
	grants, err := l.Grants.SkillGrants(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what was decided about drafts: %w", err)
	}
	if isRejected(grants, signature) {
		return nil, nil
	}
	drafts, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range drafts {
		if d.Err == nil && d.Meta.Signature == signature && d.needsDecision() {
			return nil, nil
		}
	}
	c := Compare(evidence)
	meta := Meta{
		AutoDrafted: true,
		NeedsReview: true,
		Signature:   signature,
		DraftedAt:   l.Now().UTC(),
	}
	for _, e := range evidence {
		meta.Runs = append(meta.Runs, e.Run)
	}
	name, data, err := l.compose(signature, c, len(evidence), existing, &meta)
	if err != nil || data == nil {
		return nil, err
	}
	for _, d := range drafts {
		if d.Name != name {
			continue
		}
		meta.Revision = max(meta.Revision, d.Revision)
		if d.Err == nil && sameText(d, data) {
			return nil, nil
		}
	}
	meta.Revision++
	if meta.Digest, err = l.publish(name, data, meta); err != nil {
		return nil, err
	}
	return &plan.SkillDraft{
		Name:      name,
		Signature: signature,
		Revision:  meta.Revision,
		Digest:    meta.Digest,
		Runs:      meta.Runs,
		Change:    meta.Change,
	}, nil
}

// compose writes the draft, or the change to a skill that is there already. No
// text means that there is nothing to add to that skill.
func (l *Library) compose(
	signature string,
	c Common,
	runs int,
	existing []skills.Skill,
	meta *Meta,
) (string, []byte, error) {
	name := skills.FolderName(signature)
	data, err := compose(name, c, runs, l.Redact)
	if err != nil {
		return "", nil, err
	}
	if err := checkSkill(data, name); err != nil {
		return "", nil, err
	}
	old, ok := closest(name, c, existing)
	if !ok {
		return name, data, nil
	}
	text, err := skills.Text(old)
	if err != nil {
		return "", nil, fmt.Errorf("read the skill %s, which the draft would change: %w", old.Name, err)
	}
	meta.Change = old.Name
	if data = composeChange(text, c, runs, l.Redact); data == nil {
		return "", nil, nil
	}
	return old.Name, data, checkSkill(data, old.Name)
}

// closest is the skill that is about the same thing as the draft, if there is
// one: by name, or by the words that say when to use it.
func closest(name string, c Common, existing []skills.Skill) (skills.Skill, bool) {
	var best skills.Skill
	score := 0.0
	about := ""
	for _, w := range c.Words {
		about += w + " "
	}
	for _, s := range existing {
		if s.Name == name {
			return s, true
		}
		if x := similarity(about, s.Name+" "+s.Description); x > score {
			best, score = s, x
		}
	}
	return best, score >= sameTopicShare
}

// isRejected reports whether a person has said no to drafts of this signature,
// and not yes since.
func isRejected(grants []plan.SkillGrant, signature string) bool {
	dead := false
	for _, g := range grants {
		if g.Signature == signature {
			dead = g.Decision == plan.GrantRejected
		}
	}
	return dead
}

func sameText(d Draft, data []byte) bool {
	old, err := os.ReadFile(filepath.Join(d.Dir, skills.File))
	return err == nil && string(old) == string(data)
}

// publish puts a revision where it belongs: written beside it, synced, renamed.
// A folder that is there already is never written to.
func (l *Library) publish(name string, data []byte, meta Meta) (digest string, err error) {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of drafts: %w", err)
	}
	room, err := scratch.New(l.Dir, scratch.Draft)
	if err != nil {
		return "", fmt.Errorf("stage the draft: %w", err)
	}
	stage := room.Dir
	defer func() {
		if err != nil {
			err = errors.Join(err, room.Close())
			return
		}
		err = room.Release()
	}()
	if err := writeSynced(filepath.Join(stage, skills.File), data); err != nil {
		return "", err
	}
	if meta.Digest, err = skills.Digest(os.DirFS(stage)); err != nil {
		return "", fmt.Errorf("stage the draft: %w", err)
	}
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the manifest: %w", err)
	}
	if err := writeSynced(filepath.Join(stage, skills.Manifest), append(text, '\n')); err != nil {
		return "", err
	}
	target := filepath.Join(l.Dir, folderOf(name, meta.Revision))
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is there already; it is not overwritten", target)
	}
	if err := durable.SyncDir(stage); err != nil {
		return "", err
	}
	if err := os.Rename(stage, target); err != nil {
		return "", fmt.Errorf("put the draft in its place: %w", err)
	}
	return meta.Digest, durable.SyncDir(l.Dir)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the draft: %w", err)
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the draft: %w", err)
	}
	return nil
}

// Rewrite puts another body under the frontmatter of a draft, as a new revision
// that waits for a decision like any other.
func (l *Library) Rewrite(ctx context.Context, d Draft, body string) (*plan.SkillDraft, error) {
	old, err := skills.Text(d.Skill)
	if err != nil {
		return nil, err
	}
	head, err := skills.Frontmatter(old)
	if err != nil {
		return nil, fmt.Errorf("read the draft %s: %w", d.Name, err)
	}
	data := []byte(head + l.Redact(body) + "\n")
	if err := checkSkill(data, d.Name); err != nil {
		return nil, err
	}
	drafts, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	meta := d.Meta
	meta.NeedsReview, meta.Score, meta.DraftedAt = true, nil, l.Now().UTC()
	for _, other := range drafts {
		if other.Name == d.Name {
			meta.Revision = max(meta.Revision, other.Revision)
		}
	}
	meta.Revision++
	if meta.Digest, err = l.publish(d.Name, data, meta); err != nil {
		return nil, err
	}
	return &plan.SkillDraft{
		Name:      d.Name,
		Signature: meta.Signature,
		Revision:  meta.Revision,
		Digest:    meta.Digest,
		Runs:      meta.Runs,
		Change:    meta.Change,
	}, nil
}

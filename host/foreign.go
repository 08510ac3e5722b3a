package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// kindRun is what a run is called among the things that need a yes.
const kindRun = "run"

// Truster is a [Person] who can be asked whether a run that was begun elsewhere may
// go on here. Without one, `plan trust RUN` is the way to say yes.
type Truster interface {
	Trust(ctx context.Context, item trust.Item) bool
}

// UntrustedRunError says that a run was begun elsewhere, under other settings, and
// that the user has not yet said that it may go on under those of this machine.
type UntrustedRunError struct {
	Run  plan.RunID
	Item trust.Item
}

// Error implements error.
func (e *UntrustedRunError) Error() string { return fmt.Sprintf("run %s %s", e.Run, e.Item.Detail) }

// Hint says what to do.
func (e *UntrustedRunError) Hint() string {
	return fmt.Sprintf("If it may go on so, say `plan trust %s`, then resume it.", e.Run)
}

// hasOwnSettings reports whether a run has gone on here, under settings of this
// machine, since it was taken in.
func hasOwnSettings(past []plan.Event, upTo int64) bool {
	for _, ev := range past {
		if ev.Type() == plan.TypeSettings && ev.Seq > upTo {
			return true
		}
	}
	return false
}

// foreignSettings are those under which a run goes on here that was begun elsewhere:
// those of this machine, whatever its journal says. Changed is what is different, nil
// for nothing.
func (h *Host) foreignSettings(
	run *engine.Run,
	files config.Config,
	o Options,
) (previous stored, cfg config.Config, changed *plan.SettingsChanged, err error) {
	if previous, err = storedSettings(run); err != nil {
		return previous, cfg, nil, err
	}
	cfg = o.applyTo(files)
	if cfg.Hooks, err = pinHooks(cmp.Or(run.Start.Worktree, run.Start.Repo), h.Getenv("PATH"), cfg.Hooks); err != nil {
		return previous, cfg, nil, err
	}
	now := stored{
		Config:       cfg,
		PlanOnly:     previous.PlanOnly,
		ChecksByFlag: len(o.Settings.Checks.Required) > 0,
	}
	changed, err = compareSettings(previous, now)
	previous.ChecksByFlag = now.ChecksByFlag
	return previous, cfg, changed, err
}

// runClaim is a run that was begun elsewhere as something to be trusted.
func runClaim(run *engine.Run, changed *plan.SettingsChanged) trust.Item {
	lines := []string{"was begun elsewhere, and goes on in " + run.Start.Repo + " with the settings of this machine."}
	if changed != nil {
		lines[0] += " It had others:"
		for _, text := range changed.Changed {
			lines = append(lines, "  "+text)
		}
	}
	return trust.Item{
		Kind:   kindRun,
		Path:   string(run.ID),
		Digest: trust.Text(strings.Join([]string{string(run.ID), run.Start.Repo, string(settingsData(run))}, "\n")),
		Detail: strings.Join(lines, "\n"),
	}
}

// requireTrustIn is requireTrust where a run that was begun elsewhere had other settings, or is
// to go on where the person does not stand. Until then nothing but the ids of what it left is
// looked for in the repository that it names.
func (h *Host) requireTrustIn(
	ctx context.Context,
	repo *worktree.Repo,
	run *engine.Run,
	changed *plan.SettingsChanged,
	face Face,
) error {
	stray, err := h.isStray(ctx, run)
	if err != nil || changed == nil && !stray {
		return err
	}
	if err := requireSnapshots(ctx, repo, run); err != nil {
		return err
	}
	return h.requireTrust(ctx, run, changed, face)
}

// requireTrust asks once whether a run that was begun elsewhere may go on.
func (h *Host) requireTrust(ctx context.Context, run *engine.Run, changed *plan.SettingsChanged, face Face) error {
	store, err := h.TrustStore()
	if err != nil {
		return err
	}
	item := runClaim(run, changed)
	if ok, err := store.Trusted(run.Start.Repo, item.Kind, item.Path, item.Digest); err != nil || ok {
		return err
	}
	if person, ok := face.Person.(Truster); ok && person.Trust(ctx, item) {
		return store.Trust(ctx, run.Start.Repo, item)
	}
	return &UntrustedRunError{Run: run.ID, Item: item}
}

// runClaims lists what of a run needs a yes before it goes on here: nothing of one
// that was begun here, or has ended.
func (h *Host) runClaims(ctx context.Context, db *memory.DB, run *engine.Run) ([]trust.Item, error) {
	if run.State.Final() {
		return nil, nil
	}
	past, err := db.ReadAll(ctx, run.ID)
	if err != nil {
		return nil, wrap("read the journal", err)
	}
	from, err := readStory(ctx, db, run.ID, past)
	if err != nil || !from.isForeign() || hasOwnSettings(past, from.upTo) {
		return nil, err
	}
	files, err := h.Settings(run.Start.Repo, config.Config{})
	if err != nil {
		return nil, err
	}
	_, _, changed, err := h.foreignSettings(run, files, Options{})
	if err != nil {
		return nil, err
	}
	if stray, err := h.isStray(ctx, run); err != nil || changed == nil && !stray {
		return nil, err
	}
	return []trust.Item{runClaim(run, changed)}, nil
}

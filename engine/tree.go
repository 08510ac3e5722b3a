package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// trackTree follows what is known of the tree, and of who changed it: without
// that, what a killed run left behind would look like the work of others.
func (r *Run) trackTree(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.Snapshot:
		r.ownFiles, r.ranCommand = nil, false
	case plan.ToolStart:
		if ev.Phase == plan.Implement && b.Effect == plan.EffectUnknown {
			r.ranCommand = true
		}
	case plan.CheckEnd:
		r.ranCommand = r.ranCommand || b.Source == plan.CheckSetup // it works in the tree itself
	case plan.ToolEnd:
		if ev.Phase == plan.Implement && len(b.Files) > 0 {
			if r.ownFiles == nil {
				r.ownFiles = map[string]string{}
			}
			maps.Copy(r.ownFiles, b.Files)
		}
	case plan.MessageEnd:
		if b.Origin == plan.OriginDrift {
			r.unreportedDrift = nil
		}
	case plan.Drift:
		r.Drifts = append(r.Drifts, b)
		if b.Choice != plan.DriftReplanned { // a new plan is told why
			r.unreportedDrift = &b
		}
		if r.State == plan.Reviewing {
			r.Checks = nil // they were about another tree
		}
	case plan.SettingsChanged:
		r.Settings = &b
		if b.Machine != "" { // the tree there is that of the last snapshot, and nothing is set up
			r.fromElsewhere, r.setUps, r.toolsFrom = true, nil, len(r.Snapshots)
			r.ownFiles, r.ranCommand = nil, false
		}
	}
}

// settingUp reports whether a process died in a setup, which may have changed anything.
func (r *Run) settingUp() bool {
	return slices.ContainsFunc(r.open, func(ev plan.Event) bool {
		c, ok := ev.Body.(plan.CheckStart)
		return ok && c.Source == plan.CheckSetup
	})
}

// foreignPaths leaves of changed paths those that the run did not change.
func (r *Run) foreignPaths(paths []string, now map[string]File) []string {
	changing, temps, anywhere := r.inFlight()
	if anywhere || r.settingUp() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		f := now[p]
		hash, known := r.ownFiles[p]
		switch {
		case known && hash == f.Hash, changing[p], temps[path.Base(p)]:
			return true
		case r.ranCommand:
			// A command of the run may have done it, unless it was done after
			// the last sign of life of the run.
			return !f.Written.After(r.Last)
		}
		return false
	})
}

// inFlight names the files that calls may be halfway through changing, as they
// were running when a process died, and the names that their temporary files
// have wherever they are.
func (r *Run) inFlight() (paths, temps map[string]bool, anywhere bool) {
	paths, temps = map[string]bool{}, map[string]bool{}
	for _, ev := range r.open {
		b, ok := ev.Body.(plan.ToolStart)
		if !ok || ev.Phase != plan.Implement || b.Effect == plan.EffectReplay {
			continue
		}
		var args struct{ Path string }
		switch {
		case b.Effect != plan.EffectUnknown && b.Intent != nil:
			for _, f := range b.Intent.Files {
				for _, name := range f.Names() {
					paths[name] = true
				}
			}
			temps[plan.TempName(b.Intent.Key)] = true
		case b.Effect == plan.EffectUnknown || json.Unmarshal(b.Args, &args) != nil || args.Path == "":
			return nil, nil, true
		default: // begun by a version that kept no intents
			paths[args.Path] = true
		}
	}
	return paths, temps, false
}

// drift describes changes that are not the run's.
func (r *Run) drift(paths []string, from, tree, head string) *plan.Drift {
	d := &plan.Drift{
		Files: paths[:min(len(paths), plan.MostDriftFiles)],
		Total: len(paths),
		From:  from,
		Tree:  tree,
	}
	if doc := r.Plan(); doc != nil {
		d.Plan = doc.Version
		for _, p := range d.Files {
			if _, named := doc.Files[p]; named {
				d.Planned = append(d.Planned, p)
			}
		}
		if doc.Base != "" && head != doc.Base {
			d.Base, d.Head = doc.Base, head
		}
	}
	return d
}

// driftDecided says whether it was decided before to go on with this version of the
// plan on another tree than it was made for.
func (r *Run) driftDecided(version int) bool {
	return slices.ContainsFunc(r.Drifts, func(d plan.Drift) bool { return d.Plan == version })
}

// countMoves counts the moves by an event.
func (r *Run) countMoves(event string) int {
	n := 0
	for _, m := range r.Moves {
		if m.Event == event {
			n++
		}
	}
	return n
}

// replanned is why the latest plan was given up, "" where none was.
func (r *Run) replanned() string {
	for _, m := range slices.Backward(r.Moves) {
		if m.Event == evReplan {
			return m.Why
		}
	}
	return ""
}

// givenUp is the plan that was given up last, nil for none.
func (r *Run) givenUp() *plan.PlanDoc {
	if r.leftPlan == 0 {
		return nil
	}
	return &r.Plans[r.leftPlan-1]
}

// notice is what the model has to be told of changes in the tree.
func (r *Run) notice() string {
	if r.unreportedDrift == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("Files of the work tree have changed, and not by you:\n\n")
	for _, f := range r.unreportedDrift.Files {
		named := ""
		if slices.Contains(r.unreportedDrift.Planned, f) {
			named = " (the plan names it)"
		}
		fmt.Fprintf(&b, "- %q%s\n", f, named)
	}
	if more := r.unreportedDrift.Total - len(r.unreportedDrift.Files); more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	b.WriteString(
		"\nWhat you read of them before may be out of date: look again before you rely on it. These changes are " +
			"somebody else's; keep them, unless your task says otherwise.",
	)
	return b.String()
}

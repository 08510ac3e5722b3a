package phases

import (
	"context"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/tools"
)

// description is everything in which one phase differs from another, apart from
// when it comes: that is the engine's table.
type description struct {
	phase plan.Phase
	Traits
	// prompts are the files in prompts/ that the phase sends, beside the system
	// prompt that all share.
	prompts []string
	// offers is what its tools are for. That is enforced when tools are offered
	// and again when they are called.
	offers []tools.Purpose
	// refusal is what a model reads when it calls a tool that the phase does not
	// offer; %tool% is its name, %phase% the phase,
	// %look% what it can look with.
	refusal string
	// modelOf is the phase whose model it has where none is set for it, and
	// maxTurns bounds it below what is set; "" and 0: nothing does.
	modelOf  plan.Phase
	maxTurns int
	// unfinishedCounts says that what it came to still counts where the model
	// makes no progress any more. What is handed over in words must be whole.
	unfinishedCounts bool
	// work holds the conversation; what it returns is the phase's exit.
	work func(ph *Phases, ctx context.Context, b plan.Brief, s *session) (plan.Outcome, error)
}

// Traits are what the surroundings of a phase depend on.
type Traits struct {
	// Writes says that the phase may change the tree, and hears what people ask
	// for beyond the request. What commands of other phases change is thrown away.
	Writes bool
	// Judges says that the phase judges a change: its commands see the change as
	// a commit, and its last message is a verdict.
	Judges bool
	// RunsCommands says that the phase has commands in every run, and
	// MayRunCommands that it has them where the settings say so.
	RunsCommands   bool
	MayRunCommands bool
	// LoadsSkills says that the phase can load skills in runs that have any.
	LoadsSkills bool
	// UsesOutside says that the phase has tools from outside in runs that have any: those that
	// only read, unless it writes.
	UsesOutside bool
}

// lookOn is the refusal of phases that only read.
const lookOn = "%tool% is not offered in %phase%, which only reads. Look with %look%; " +
	"what should be changed or run belongs into what you hand over, and Implement does it."

// descriptions are the phases, those of the workflow first.
func descriptions() []description {
	return []description{
		{
			phase:   plan.Explore,
			Traits:  Traits{MayRunCommands: true, LoadsSkills: true, UsesOutside: true},
			prompts: []string{"explore", "report", "short", "either", "form", "brief", "ask"},
			offers:  []tools.Purpose{tools.Inspect, tools.Recall, tools.Ask, tools.Prune},
			refusal: lookOn,
			work:    (*Phases).explore,
		},
		{
			phase:   plan.Plan,
			Traits:  Traits{MayRunCommands: true, LoadsSkills: true, UsesOutside: true},
			prompts: []string{"plan"},
			offers:  []tools.Purpose{tools.Inspect, tools.Recall, tools.Ask, tools.Prune},
			refusal: lookOn,
			work:    (*Phases).plan,
		},
		{
			phase:   plan.Implement,
			Traits:  Traits{Writes: true, LoadsSkills: true, UsesOutside: true},
			prompts: []string{"implement", "retry"},
			offers: []tools.Purpose{
				tools.Inspect, tools.Modify, tools.Execute, tools.Remember, tools.Recall, tools.Ask,
				tools.Prune, tools.Replan,
			},
			refusal:          "%tool% is not offered in this run.",
			unfinishedCounts: true,
			work:             (*Phases).implement,
		},
		{
			phase:   plan.Review,
			Traits:  Traits{Judges: true, UsesOutside: true},
			prompts: []string{"review", workPrompt},
			offers:  []tools.Purpose{tools.Inspect, tools.Execute, tools.Recall, tools.Prune},
			refusal: "%tool% is not offered in Review: a reviewer changes nothing. If something must change, " +
				"say so as a gap in `missing`. To try something out, use bash; your copy of the tree is thrown away.",
			unfinishedCounts: true,
			work:             (*Phases).review,
		},
		{
			phase:    plan.Critique,
			prompts:  []string{"critique"},
			offers:   []tools.Purpose{tools.Inspect},
			refusal:  lookOn,
			modelOf:  plan.Plan,
			maxTurns: critiqueTurns,
			work:     (*Phases).critique,
		},
	}
}

// explore is the simplest conversation: one prompt, and a report that is whole is
// its exit. Those of the other phases stand in steps.go.
func (ph *Phases) explore(ctx context.Context, b plan.Brief, s *session) (out plan.Outcome, err error) {
	if b.Aim == plan.AimAsk {
		return ph.answer(ctx, b, s)
	}
	own := ph.products()
	own["CHECKS"] = ph.knownChecks()
	prompt := ph.opening(b, "explore", own)
	product := ph.report(b, s)
	if ph.cfg.Way == plan.WayShort {
		product = ph.planText(b, s)
	}
	text, err := s.handOver(ctx, product, append(slices.Clone(b.Context), prompt)...)
	if err != nil {
		return out, err
	}
	if ph.cfg.Way == plan.WayShort || ph.cfg.Way == plan.WayAuto && isPlan(text) {
		out.Plan, err = ph.document(ctx, text)
		return out, err
	}
	return plan.Outcome{Report: text, Open: stillOpen(text)}, nil
}

// tools are the names of the phase's tools, with those for more purposes beside
// those that it always has.
func (d description) tools(more ...tools.Purpose) []string {
	return tools.Names(append(slices.Clone(d.offers), more...)...)
}

// asks reports whether the phase may put questions to a person.
func (d description) asks() bool { return slices.Contains(d.offers, tools.Ask) }

// describe finds a phase; false if there is none of that name.
func describe(p plan.Phase) (description, bool) {
	rows := descriptions()
	i := slices.IndexFunc(rows, func(d description) bool { return d.phase == p })
	if i < 0 {
		return description{phase: p}, false
	}
	return rows[i], true
}

// TraitsOf are the traits of a phase; of one that is not known, the tightest.
func TraitsOf(p plan.Phase) Traits {
	d, _ := describe(p)
	d.RunsCommands = slices.Contains(d.offers, tools.Execute)
	return d.Traits
}

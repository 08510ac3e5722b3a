package host

import (
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
)

// Request is what a new run is asked to do.
type Request struct {
	// Dir is the repository, or a folder in it. Default: ".".
	Dir string

	// Text is the request.
	Text string

	// Aim is what the run is for. Default: a change.
	Aim plan.Aim

	// Continues is the final run whose conversation this one goes on with, as
	// [Host.ContinueAnswer] fills it in.
	Continues plan.RunID

	// Review is what a run of plan.AimReview looks at.
	Review Review

	// Title is what the run is called in lists. Default: the request's first line.
	Title string

	// ID is that of the run. Default: a new one.
	ID plan.RunID

	// PlanOnly stops once there is a plan.
	PlanOnly bool

	// Plan is the text of a plan that is carried out without Explore and Plan.
	Plan string

	// Auto leaves Explore and Plan out where the words of the request are certain
	// and no plan is asked for. A note says which way it takes, and why.
	Auto bool

	// Context is the conversation that Explore starts from, as ReadContext reads it.
	Context []plan.Message

	Options
}

// Options say how a run is driven, also one that goes on. The zero value is what
// the settings say.
type Options struct {
	// Settings are laid over those of the files and the environment.
	Settings config.Config

	// NoTimeout, NoTokens and NoCost lift a limit that was set elsewhere.
	NoTimeout, NoTokens, NoCost bool

	// AutoApprove waits for no person: what would be asked is allowed. It is never
	// taken from an earlier process.
	AutoApprove bool

	// Force asks and denies nothing that a tool does. It is never taken from an
	// earlier process.
	Force bool

	// OnDrift is what to do where the work tree changed under the run. Default:
	// park.
	OnDrift engine.OnDrift

	// Replan gives the plan up, for this reason.
	Replan string

	// FreshBaseline runs every check before the work, also where an earlier run
	// knows the result.
	FreshBaseline bool

	// Record is a file that keeps what is said to and by the model; Replay is one
	// that answers in its place.
	Record, Replay string

	// Mirror keeps the journal of the run in another place, too. Default: none.
	Mirror Mirror
}

// applyTo lays the options over other settings.
func (o Options) applyTo(cfg config.Config) config.Config {
	cfg = cfg.With(o.Settings)
	if o.NoTimeout {
		cfg.Timeout = config.Of(0)
	}
	if o.NoTokens {
		cfg.MaxTokens = 0
	}
	if o.NoCost {
		cfg.MaxCost = 0
	}
	return cfg
}

// End is how a run stands when this process is done with it.
type End struct {
	engine.End
	Run plan.RunID

	// Drafts is how many drafted skills wait for a person.
	Drafts int
}

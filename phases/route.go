package phases

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
)

// Route says which models do what by a hint. A name is one that the settings
// know; "" leaves the work with the model of the phase.
type Route struct {
	Cheap, Strong string // what @cheap and @strong stand for
	Summary       string // writes the summaries of long conversations
	SubAgent      string // does what the tool task hands out
	// Escalate is the model that a phase goes on with where its own has failed:
	// after an attempt that made no progress, and from the third attempt on.
	Escalate map[plan.Phase]string
}

// hint is the name under which a model was asked for, with a comma, or "".
func (r Route) hint(model string) string {
	switch model {
	case r.Cheap:
		return "@cheap, "
	case r.Strong:
		return "@strong, "
	}
	return ""
}

// longFrom is the attempt from which a phase goes on with a stronger model.
const longFrom = 3

// keepsProvider is why a conversation does not change to another server.
const keepsProvider = "it counts from the next phase, for a conversation keeps its provider"

// choice is the model of a conversation. Route is what is to be recorded of it;
// without a reason in it, nothing.
type choice struct {
	model string
	wire  string
	route plan.Route
}

// choose finds the model that a conversation is held with. One that has begun
// stays where it is: what came with its answers is for one server only.
func (ph *Phases) choose(b plan.Brief) choice {
	wanted, why := ph.model(b.Phase), ph.modelReason(b.Phase)
	if strong := ph.cfg.Route.Escalate[b.Phase]; strong != "" && strong != wanted {
		if cause := failing(b); cause != "" {
			wanted, why = strong, ph.cfg.Route.hint(strong)+"as [route] escalate asks: "+cause
		}
	}
	route := plan.Route{
		For:   string(b.Phase),
		Model: wanted,
		Why:   why,
	}
	if held := heldWith(b.Past); held != "" && !ph.sameServer(held, wanted) {
		route = plan.Route{
			For:   string(b.Phase),
			Model: held,
			Asked: wanted,
			Why:   keepsProvider,
		}
	}
	return choice{
		model: route.Model,
		wire:  ph.wire(b.Past, route.Model),
		route: route,
	}
}

// firstWire is how all models were spoken to before a request said it.
const firstWire = "chat"

// wire is how a conversation is held: as it was begun, and else as is usual for
// its model.
func (ph *Phases) wire(past []plan.Event, model string) string {
	if ph.cfg.Wire == nil {
		return ""
	}
	for _, ev := range slices.Backward(past) {
		if req, ok := ev.Body.(plan.Request); ok {
			return cmp.Or(req.Wire, firstWire)
		}
	}
	return ph.cfg.Wire(model)
}

// record puts a reason into the journal, unless it stands there already.
func (c choice) record(ctx context.Context, b plan.Brief, emit plan.Emit) error {
	if c.route.Why == "" {
		return nil
	}
	for _, ev := range slices.Backward(b.Past) {
		recorded, ok := ev.Body.(plan.Route)
		if !ok || recorded.For != c.route.For {
			continue
		}
		if recorded == c.route {
			return nil
		}
		break
	}
	if err := emit(ctx, plan.Event{Conv: b.Conv, Body: c.route}); err != nil {
		return fmt.Errorf("record the model of %s: %w", b.Phase, err)
	}
	return nil
}

// modelReason is why a phase has its model.
func (ph *Phases) modelReason(p plan.Phase) string { return ph.cfg.Why[ph.modelledAs(p)] }

func (ph *Phases) sameServer(a, b string) bool {
	return a == b || ph.cfg.SameServer == nil || ph.cfg.SameServer(a, b)
}

// heldWith is the model of the latest request of a conversation, "" before the
// first.
func heldWith(past []plan.Event) string {
	for _, ev := range slices.Backward(past) {
		if req, ok := ev.Body.(plan.Request); ok {
			return req.Model
		}
	}
	return ""
}

// failing says what speaks for a stronger model, "" for nothing.
func failing(b plan.Brief) string {
	if b.Attempt >= longFrom {
		return fmt.Sprintf("this is attempt %d", b.Attempt)
	}
	stuck := false
	for _, ev := range b.Past {
		if ev.Attempt != b.Attempt-1 {
			continue
		}
		switch body := ev.Body.(type) {
		case plan.StormBroken:
			stuck = stuck || body.Notice != ""
		case plan.MessageEnd:
			// It is told so and goes on, unless these were its last words.
			stuck = stuck && (body.Role != plan.RoleAssistant || body.Discarded)
		}
	}
	if stuck {
		return fmt.Sprintf("attempt %d made no progress", b.Attempt-1)
	}
	return ""
}

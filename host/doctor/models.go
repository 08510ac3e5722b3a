package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/record"
	"github.com/plan-engine/plan/worktree"
)

// Probe says which models are asked, and how. The zero value asks those of all
// phases.
type Probe struct {
	Provider string // only the models of this one
	Model    string // only this one
	Record   string // the file that keeps what was said; "" for none
}

// probeTimeout bounds what one model is given.
const probeTimeout = 2 * time.Minute

// Models asks the model of each phase, or of a provider, to call a tool and
// then to answer.
func (d Doctor) Models(ctx context.Context, p Probe) []Finding {
	root := ""
	if repo, err := worktree.Open(ctx, d.Dir, d.Host.Avoid(ctx)); err == nil {
		root = repo.Root()
	}
	cfg, err := d.Host.Settings(root, config.Config{})
	if err != nil {
		return []Finding{{
			Name:   "config",
			Needed: true,
			Detail: err.Error(),
			Do:     hint.Of(err),
		}}
	}
	secrets := config.NewKnownSecrets(cfg.Secrets(d.environ))
	if p.Model != "" && p.Provider == "" {
		cfg.Model, cfg.Phase = p.Model, nil
	}
	servers := d.Host.Connector(ctx, d.Dir).Servers(cfg, secrets, nil)
	if p.Provider == "" {
		servers.Close()
		if servers, err = d.Host.Connector(ctx, d.Dir).Open(ctx, &cfg, secrets, nil); err != nil {
			return []Finding{d.noModel(ctx, cfg, err)}
		}
	}
	defer servers.Close()
	names, err := modelsToProbe(ctx, cfg, servers, p)
	if err != nil {
		return []Finding{{
			Name:   "model",
			Needed: true,
			Detail: err.Error(),
			Do:     hint.Of(err),
		}}
	}
	var model loop.Model = servers
	if p.Record != "" {
		recorder, err := record.New(servers, p.Record, secrets.Redact)
		if err != nil {
			return []Finding{{Name: "record", Needed: true, Detail: err.Error()}}
		}
		defer recorder.Close() //nolint:errcheck // each call is on disk when it has ended
		model = recorder
	}
	var out []Finding
	for _, name := range names {
		out = append(out, d.tryModel(ctx, model, servers, name))
	}
	return out
}

// noModel says why there is no model, and what the server offers where only the
// name is missing.
func (d Doctor) noModel(ctx context.Context, cfg config.Config, err error) Finding {
	f := Finding{
		Name:   "model",
		Needed: true,
		Detail: err.Error(),
		Do:     hint.Of(err),
	}
	if !errors.Is(err, connect.ErrNoModelName) {
		return f
	}
	servers := d.Host.Connector(ctx, d.Dir).Servers(cfg, nil, nil)
	defer servers.Close()
	if offers := offeredNames(ctx, servers, ""); offers != "" {
		f.Do += " It offers: " + offers
	}
	return f
}

// modelsToProbe are the models to ask.
func modelsToProbe(ctx context.Context, cfg config.Config, servers *provider.Set, p Probe) ([]string, error) {
	var names []string
	for _, phase := range plan.Phases() {
		name := connect.PhaseModels(cfg)[phase]
		if p.Provider != "" && (name == "" || servers.Provider(name) != p.Provider) {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case p.Provider == "":
		return names, nil
	case p.Model != "":
		return []string{p.Provider + "/" + strings.TrimPrefix(p.Model, p.Provider+"/")}, nil
	case len(names) > 0:
		return names, nil
	}
	offers, err := servers.Offers(ctx, p.Provider)
	if err != nil {
		return nil, err
	}
	for _, o := range offers {
		if o.Chat == nil || *o.Chat {
			return []string{p.Provider + "/" + o.Name}, nil
		}
	}
	return nil, hint.New(p.Provider+" lists no model", "Name one with --model.")
}

// offeredNames lists some of what a provider offers, "" where it does not say.
func offeredNames(ctx context.Context, servers *provider.Set, name string) string {
	offers, err := servers.Offers(ctx, name)
	if err != nil {
		return ""
	}
	var names []string
	for _, o := range offers[:min(len(offers), 12)] {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}

// probeTool is what a model is asked to call.
func probeTool() loop.Spec {
	return loop.Spec{
		Name:        "lookup",
		Description: "Look up the value of a key.",
		Schema: json.RawMessage(`{"type":"object","properties":{"key":{"type":"string","description":"the key"}},` +
			`"required":["key"],"additionalProperties":false}`),
	}
}

// tryModel has a model call a tool, hands it the result, and waits for its answer:
// what has to go back to the server with a second request is what fails most.
func (d Doctor) tryModel(ctx context.Context, model loop.Model, servers *provider.Set, name string) Finding {
	f := Finding{Name: "model", Needed: true}
	place, err := servers.Place(name)
	if err != nil {
		f.Detail, f.Do = err.Error(), hint.Of(err)
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	began := d.now()
	answer, err := converse(ctx, model, name)
	if me, ok := loop.AsModelError(err); ok {
		f.Detail, f.Do = fmt.Sprintf("%s: %v", nameAt(name, place), me), serverAdvice(place)
		if me.Kind == loop.ErrNotFound {
			if offers := offeredNames(ctx, servers, servers.Provider(name)); offers != "" {
				f.Do = "The server offers: " + offers
			}
		}
		return f
	}
	if err != nil {
		f.Detail = fmt.Sprintf("%s: %v", nameAt(name, place), err)
		f.Do = "Check that the server is up and not too slow."
		return f
	}
	f.OK = true
	f.Detail = fmt.Sprintf("%s: %s over the wire %s in %s; %s", nameAt(name, place), answer.subject, place.Wire,
		d.now().Sub(began).Round(time.Millisecond), priceText(servers, name))
	if !answer.called {
		f.OK, f.Needed = false, false
		f.Do = "plan needs a model that calls tools; name another one."
	}
	for _, adjusted := range answer.adjusted {
		f.Detail += "; " + adjusted.String()
	}
	return f
}

// conversation is what came of asking a model.
type conversation struct {
	called   bool
	subject  string
	adjusted []plan.Adjusted
}

// converse asks for a call, and then for words about its result.
func converse(ctx context.Context, model loop.Model, name string) (conversation, error) {
	call := loop.Call{
		Model:    name,
		System:   "You help to test a connection. Be brief.",
		Tools:    []loop.Spec{probeTool()},
		Messages: []plan.Message{plan.UserText("Look up the key \"colour\" with the tool, then say its value.")},
		Headers:  map[string]string{"X-Plan-Run": "doctor", "X-Plan-Phase": "doctor", "X-Plan-Attempt": "1"},
		Settings: loop.Settings{MaxOutputTokens: 2048},
	}
	first, err := model.Generate(ctx, call, nil)
	if err != nil {
		return conversation{}, err
	}
	out := conversation{adjusted: first.Adjusted, subject: "answered without calling the tool"}
	calls := first.Message.Calls()
	if len(calls) == 0 {
		return out, nil
	}
	results := plan.Message{Role: plan.RoleTool}
	for _, c := range calls {
		results.Blocks = append(results.Blocks, plan.Block{
			Type: plan.BlockToolResult,
			Call: c.Call,
			Name: c.Name,
			Text: "green",
		})
	}
	call.Messages = append(call.Messages, first.Message, results)
	second, err := model.Generate(ctx, call, nil)
	if err != nil {
		return out, fmt.Errorf("at the second request: %w", err)
	}
	out.called, out.subject = true, "called a tool and answered"
	out.adjusted = append(out.adjusted, second.Adjusted...)
	return out, nil
}

// nameAt is a model's name, with its provider where the name does not say it.
func nameAt(name string, place provider.Place) string {
	if place.Provider == provider.Default || strings.HasPrefix(name, place.Provider+"/") {
		return name
	}
	return name + " at " + place.Provider
}

// priceText says what is known of a model's window and prices.
func priceText(servers *provider.Set, name string) string {
	window := "its window is not known yet"
	if n := servers.Window(name); n > 0 {
		window = "window " + amount.Tokens(n)
	}
	entry, ok := servers.Entry(name)
	if !ok || !entry.Priced {
		return window + ", no price is known (--max-cost needs one: [models])"
	}
	return fmt.Sprintf("%s, $%g in and $%g out per million tokens", window, entry.InputUSD, entry.OutputUSD)
}

// serverAdvice says in a few words what to set for models of a provider.
func serverAdvice(place provider.Place) string {
	base := strings.TrimSuffix(place.BaseURL, "/")
	switch {
	case place.KeyFrom == "command":
		return fmt.Sprintf("Check the key_command of [providers.%s].", place.Provider)
	case place.KeyFrom != "":
		return fmt.Sprintf("Check %s, the base URL %s and the model's name.", place.KeyFrom, base)
	}
	return fmt.Sprintf("Check the base URL %s and the model's name.", base)
}

package main

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
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/record"
	"github.com/plan-engine/plan/worktree"
)

// probe says which models doctor looks at.
type probe struct {
	provider string // "" for those of all phases
	model    string
	record   string // the file that keeps what was said
}

// probeTime bounds what doctor gives one model.
const probeTime = 2 * time.Minute

// checkModels asks the model of each phase, or of a provider, to call a tool and
// then to answer.
func (a *app) checkModels(ctx context.Context, p probe) []finding {
	root := ""
	if repo, err := worktree.Open(ctx, a.dir); err == nil {
		root = repo.Root()
	}
	cfg, err := a.settings(root, config.Config{})
	if err != nil {
		return []finding{{Name: "config", Needed: true, Detail: err.Error(), Do: hintOf(err)}}
	}
	secrets := config.NewKnownSecrets(cfg.Secrets(a.environ))
	if p.model != "" && p.provider == "" {
		cfg.Model, cfg.Phase = p.model, nil
	}
	servers := a.servers(cfg, secrets, nil)
	if p.provider == "" {
		servers.Close()
		if servers, err = a.connect(ctx, &cfg, secrets, nil); err != nil {
			return []finding{a.noModel(ctx, cfg, err)}
		}
	}
	defer servers.Close()
	names, err := probed(ctx, cfg, servers, p)
	if err != nil {
		return []finding{{Name: "model", Needed: true, Detail: err.Error(), Do: hintOf(err)}}
	}
	var model loop.Model = servers
	if p.record != "" {
		recorder, err := record.New(servers, p.record, secrets.Redact)
		if err != nil {
			return []finding{{Name: "record", Needed: true, Detail: err.Error()}}
		}
		defer recorder.Close() //nolint:errcheck // each call is on disk when it has ended
		model = recorder
	}
	var out []finding
	for _, name := range names {
		out = append(out, tryModel(ctx, model, servers, name))
	}
	return out
}

// noModel says why there is no model, and what the server offers where only the
// name is missing.
func (a *app) noModel(ctx context.Context, cfg config.Config, err error) finding {
	f := finding{
		Name:   "model",
		Needed: true,
		Detail: err.Error(),
		Do:     hintOf(err),
	}
	if !errors.Is(err, errNoModelName) {
		return f
	}
	servers := a.servers(cfg, nil, nil)
	defer servers.Close()
	if offers := offered(ctx, servers, ""); offers != "" {
		f.Do += " It offers: " + offers
	}
	return f
}

// probed are the models to ask.
func probed(ctx context.Context, cfg config.Config, servers *provider.Set, p probe) ([]string, error) {
	var names []string
	for _, phase := range plan.Phases() {
		name := modelsOf(cfg)[phase]
		if p.provider != "" && (name == "" || servers.Provider(name) != p.provider) {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case p.provider == "":
		return names, nil
	case p.model != "":
		return []string{p.provider + "/" + strings.TrimPrefix(p.model, p.provider+"/")}, nil
	case len(names) > 0:
		return names, nil
	}
	offers, err := servers.Offers(ctx, p.provider)
	if err != nil {
		return nil, err
	}
	for _, o := range offers {
		if o.Chat == nil || *o.Chat {
			return []string{p.provider + "/" + o.Name}, nil
		}
	}
	return nil, &advice{p.provider + " lists no model", "Name one with --model."}
}

// offered lists some of what a provider offers, "" where it does not say.
func offered(ctx context.Context, servers *provider.Set, name string) string {
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
func tryModel(ctx context.Context, model loop.Model, servers *provider.Set, name string) finding {
	f := finding{Name: "model", Needed: true}
	place, err := servers.Place(name)
	if err != nil {
		f.Detail, f.Do = err.Error(), hintOf(err)
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	began := time.Now()
	said, err := converse(ctx, model, name)
	if me, ok := loop.AsModelError(err); ok {
		f.Detail, f.Do = fmt.Sprintf("%s: %v", placed(name, place), me), providerKeys(place)
		if me.Kind == loop.ErrNotFound {
			if offers := offered(ctx, servers, servers.Provider(name)); offers != "" {
				f.Do = "The server offers: " + offers
			}
		}
		return f
	}
	if err != nil {
		f.Detail = fmt.Sprintf("%s: %v", placed(name, place), err)
		f.Do = "Check that the server is up and not too slow."
		return f
	}
	f.OK = true
	f.Detail = fmt.Sprintf("%s: %s over the wire %s in %s; %s", placed(name, place), said.what, place.Wire,
		time.Since(began).Round(time.Millisecond), pricing(servers, name))
	if !said.called {
		f.OK, f.Needed = false, false
		f.Do = "plan needs a model that calls tools; name another one."
	}
	for _, adjusted := range said.adjusted {
		f.Detail += "; " + adjusted.String()
	}
	return f
}

// conversation is what came of asking a model.
type conversation struct {
	called   bool
	what     string
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
	out := conversation{adjusted: first.Adjusted, what: "answered without calling the tool"}
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
	out.called, out.what = true, "called a tool and answered"
	out.adjusted = append(out.adjusted, second.Adjusted...)
	return out, nil
}

// placed is a model's name, with its provider where the name does not say it.
func placed(name string, place provider.Place) string {
	if place.Provider == provider.Default || strings.HasPrefix(name, place.Provider+"/") {
		return name
	}
	return name + " at " + place.Provider
}

// pricing says what is known of a model's window and prices.
func pricing(servers *provider.Set, name string) string {
	window := "its window is not known yet"
	if n := servers.Window(name); n > 0 {
		window = "window " + render.Tokens(n)
	}
	entry, ok := servers.Entry(name)
	if !ok || !entry.Priced {
		return window + ", no price is known (--max-cost needs one: [models])"
	}
	return fmt.Sprintf("%s, $%g in and $%g out per million tokens", window, entry.InputUSD, entry.OutputUSD)
}

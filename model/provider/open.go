package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wires"
)

// open makes the client of a place.
func (s *Set) open(p Place) (*wire.Client, error) {
	base, err := s.wireConfig(p)
	if err != nil {
		return nil, err
	}
	kind, ok := wires.Find(p.Wire)
	if !ok {
		return nil, fmt.Errorf("the wire %q is unknown: use %s", p.Wire, wire.Alternatives(wires.Names()))
	}
	return kind.Open(base, func(model string) wire.Model {
		entry := s.entry(p, model)
		return wire.Model{
			StructuredOutput: entry.StructuredOutput,
			SendReasoning:    s.sendsReasoning(p, model),
			Plain:            entry.Window > 0 && !entry.Reasoning,
			MaxOutput:        int64(entry.MaxOutput),
			TakesFound:       entry.TakesFound,
		}
	})
}

// entry is what is known of a model of a place.
func (s *Set) entry(p Place, model string) catalog.Entry {
	entry, _ := s.cfg.Catalog.LookupAt(p.Provider, model, p.BaseURL)
	return entry
}

// sendsReasoning reports whether the settings want all reasoning of a model sent
// back.
func (s *Set) sendsReasoning(p Place, model string) bool {
	return s.cfg.Settings.Models[model].SendReasoning || s.cfg.Settings.Models[p.Provider+"/"+model].SendReasoning
}

// wireConfig is what all wires need.
func (s *Set) wireConfig(p Place) (wire.Config, error) {
	body := map[string]json.RawMessage{}
	for name, value := range p.own.Body {
		data, err := plan.MarshalCompact(value)
		if err != nil {
			return wire.Config{}, fmt.Errorf("encode providers.%s.body.%s: %w", p.Provider, name, err)
		}
		body[name] = data
	}
	var secrets []string
	headers := map[string]string{}
	for name, value := range p.own.Headers {
		if variable, ok := strings.CutPrefix(value, "$"); ok {
			value = trimmed(s.cfg.Getenv(variable))
			s.secret(value)
			secrets = append(secrets, value)
		}
		headers[name] = value
	}
	var known []plan.Adjusted
	for _, a := range s.cfg.Known {
		if at, err := s.Place(a.Model); err == nil && at.Provider == p.Provider && at.Wire == p.Wire {
			a.Model = at.Model
			known = append(known, a)
		}
	}
	timeouts := s.cfg.Settings.Timeouts
	return wire.Config{
		Provider:   p.Provider,
		BaseURL:    p.BaseURL,
		Auth:       p.Auth,
		Structured: p.own.Structured,
		NoCache:    p.own.Cache == "off",
		Headers:    headers,
		Secrets:    secrets,
		Query:      p.own.Query,
		Body:       body,
		HTTP:       s.cfg.HTTP,
		FirstByte:  timeouts.First(p.BaseURL),
		Idle:       timeouts.Idle.Duration,
		Whole:      timeouts.Whole(p.BaseURL),
		Known:      known,
		Now:        s.cfg.Now,
		Key:        func(ctx context.Context) (string, error) { return s.key(ctx, p) },
	}, nil
}

// key is the key of a place. A command is asked once.
func (s *Set) key(ctx context.Context, p Place) (string, error) {
	if p.own.KeyCommand == "" {
		if p.KeyFrom == "" {
			return "", nil
		}
		key := trimmed(s.cfg.Getenv(p.KeyFrom))
		if key == "" && !p.NoKey {
			return "", fmt.Errorf("the provider %s has no key: set %s", p.Provider, p.KeyFrom)
		}
		return key, nil
	}
	select {
	case s.commands <- struct{}{}: // a command may ask a person, so one runs at a time
		defer func() { <-s.commands }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if key := s.printed(p); key != "" {
		return key, nil
	}
	if s.cfg.Command == nil {
		return "", fmt.Errorf("the key of %s comes from a command, which cannot be run here", p.Provider)
	}
	out, err := s.cfg.Command(ctx, p.own.KeyCommand)
	if err != nil {
		return "", fmt.Errorf("run the key_command of %s: %w", p.Provider, err)
	}
	key := trimmed(out)
	if key == "" {
		return "", fmt.Errorf("the key_command of %s printed nothing", p.Provider)
	}
	s.secret(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[p.Provider] = key
	return key, nil
}

// printed is what the key command of a place printed, "" while it was not run.
func (s *Set) printed(p Place) string {
	if p.own.KeyCommand == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[p.Provider]
}

// forget forgets the key that a command printed for an earlier call, where the
// server does not take it any more: there are keys that hold for an hour. It
// reports whether the command is worth running again.
func (s *Set) forget(p Place, had string, err error) bool {
	failed, ok := loop.AsModelError(err)
	if !ok || had == "" || failed.Kind != loop.ErrAuth || failed.Status != http.StatusUnauthorized {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys[p.Provider] == had {
		delete(s.keys, p.Provider)
	}
	return true
}

// secret makes a key known as one, so that it stays out of the journal.
func (s *Set) secret(key string) {
	if s.cfg.Secret != nil && key != "" {
		s.cfg.Secret(key)
	}
}

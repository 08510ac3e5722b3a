package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
)

// LimitPhase takes a limit of one phase as a line has it, such as plan.max_turns=20.
func (c *Config) LimitPhase(line string) error {
	key, value, ok := strings.Cut(line, "=")
	name, limit, both := strings.Cut(strings.TrimSpace(key), ".")
	if !ok || !both {
		return errors.New("write PHASE.LIMIT=N, such as plan.max_turns=20")
	}
	phase := plan.Phase(name)
	if phase != plan.Critique && !slices.Contains(plan.Phases(), phase) {
		return fmt.Errorf("there is no phase %q: there are explore, plan, critique, implement and review", name)
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	switch {
	case err != nil || !(number >= 0 && number <= 1e12):
		return fmt.Errorf("%q is no number from 0 on", value)
	case limit != "max_cost" && number != float64(int64(number)):
		return fmt.Errorf("%s is a whole number", limit)
	}
	own := c.Phase[phase]
	switch limit {
	case "max_turns":
		own.MaxTurns = new(int(number))
	case "max_tokens":
		own.MaxTokens = new(int64(number))
	case "max_cost":
		own.MaxCost = &number
	default:
		return fmt.Errorf("%q is no limit of a phase: there are max_turns, max_tokens and max_cost", limit)
	}
	c.Phase = maps.Clone(c.Phase)
	if c.Phase == nil {
		c.Phase = map[plan.Phase]PhaseConfig{}
	}
	c.Phase[phase] = own
	return nil
}

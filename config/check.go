package config

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
)

// longest is the longest span that a setting may name whose tag says no other.
const longest = 30 * 24 * time.Hour

// fault is a value that cannot be meant.
type fault struct {
	key, text string
	nth       int // of several tables of this name, from 1; 0 for a key
}

func (f fault) Error() string { return f.key + " " + f.text }

func asErrors(faults []fault) []error {
	var out []error
	for _, f := range faults {
		out = append(out, f)
	}
	return out
}

// faults checks every set value against the bounds that its field names, and the
// names of wires where any are known.
func faults(c Config, wires []wire.Kind) []fault {
	var out []fault
	leaves(reflect.ValueOf(c), "", func(key string, value reflect.Value, tag reflect.StructTag) {
		if text := wrong(value, tag, wires); text != "" {
			out = append(out, fault{key: key, text: text})
		}
	})
	out = append(out, phaseFaults(c.Phase)...)
	if c.BaseURL != "" && !webAddress(c.BaseURL) {
		out = append(out, fault{key: "base_url", text: `must be an address like "https://host/v1"`})
	}
	if i := slices.IndexFunc(c.Checks.Required, isBlank); i >= 0 {
		out = append(out, fault{
			key:  "checks.required",
			text: fmt.Sprintf("has a blank command as entry %d: name a command or remove the entry", i+1),
		})
	}
	for i, p := range c.Redact.Patterns {
		if _, err := compileRule(p); err != nil {
			out = append(out, fault{key: "redact.patterns", text: fmt.Sprintf("entry %d %v", i+1, err)})
		}
	}
	out = append(out, wallFaults(c.Walls)...)
	out = append(out, languageFaults(c.LSP)...)
	out = append(out, mcpFaults(c.MCP)...)
	out = append(out, openAPIFaults(c.OpenAPI)...)
	for i, c := range c.Checks.Run {
		if text := wrongCheck(c); text != "" {
			out = append(out, fault{
				key:  "checks.run",
				text: fmt.Sprintf("has as entry %d a check whose %s", i+1, text),
			})
		}
	}
	out = append(out, providerFaults(c, wires)...)
	return append(out, ruleFaults(c)...)
}

// phaseFaults checks what is set for single phases.
func phaseFaults(phases map[plan.Phase]PhaseConfig) []fault {
	var out []fault
	for _, phase := range sortedKeys(reflect.ValueOf(phases)) {
		if name := plan.Phase(phase.String()); name != plan.Critique && !slices.Contains(plan.Phases(), name) {
			out = append(out, fault{
				key:  "phase." + phase.String(),
				text: "is not a phase: there are explore, plan, critique, implement and review",
			})
		}
	}
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		if phases[phase].Carry == plan.CarryConversation && phase != plan.Plan && phase != plan.Implement {
			out = append(out, fault{
				key: fmt.Sprintf("phase.%s.carry", phase),
				text: `= "conversation" is for plan and implement: Explore is the first, and who judges ` +
					"never sees how the work came about",
			})
		}
	}
	return out
}

// languageFaults checks that servers are named for languages that are known.
func languageFaults(servers map[string]LSPConfig) []fault {
	var out []fault
	for _, language := range sortedKeys(reflect.ValueOf(servers)) {
		if !slices.Contains(lspLanguages(), language.String()) {
			out = append(out, fault{
				key:  "lsp." + language.String(),
				text: "is not a language that symbols knows: there are " + strings.Join(lspLanguages(), ", "),
			})
		}
	}
	return out
}

// wallFaults checks what commands are to see.
func wallFaults(c WallsConfig) []fault {
	var out []fault
	for i, path := range c.Show {
		if !filepath.IsAbs(path) && path != "~" && !strings.HasPrefix(path, "~/") {
			out = append(out, fault{
				key:  "walls.show",
				text: fmt.Sprintf("entry %d = %q must be absolute or begin with ~/", i+1, path),
			})
		}
	}
	for i, name := range c.AllowEnv {
		if !isVariable(strings.ReplaceAll(name, "*", "")) {
			out = append(out, fault{
				key: "walls.allow_env",
				text: fmt.Sprintf(
					"entry %d = %q must be the name of a variable, or a pattern like \"APP_*\"",
					i+1,
					name,
				),
			})
		}
	}
	return out
}

// wrongCheck says what is wrong with a check, "" for nothing.
func wrongCheck(c CheckConfig) string {
	if isBlank(c.Command) {
		return "command is blank: name a command or remove the entry"
	}
	for name, text := range map[string]string{"command": c.Command, "name": c.Name} {
		if text := wrongText(text); text != "" {
			return name + " " + text
		}
	}
	if text := wrong(reflect.ValueOf(c.Timeout), "", nil); text != "" {
		return "timeout " + text
	}
	for _, glob := range c.Paths {
		if !doublestar.ValidatePattern(glob) {
			return fmt.Sprintf("path %q is not a glob, such as \"src/**/*.go\"", glob)
		}
	}
	return ""
}

// wrongSpan is wrong for a time span.
func wrongSpan(d Duration, tag reflect.StructTag) string {
	most := longest
	if limit, err := time.ParseDuration(tag.Get("longest")); err == nil {
		most = limit
	}
	if d.Duration < 0 || d.Duration > most {
		return fmt.Sprintf("= %q must be between 0s and %s", d, Of(most))
	}
	return ""
}

// wrong says what is wrong with a value, "" for nothing.
func wrong(value reflect.Value, tag reflect.StructTag, wires []wire.Kind) string {
	switch v := value.Interface().(type) {
	case Duration:
		return wrongSpan(v, tag)
	case string:
		if allowed := choices(tag, wires); allowed != nil && !slices.Contains(allowed, v) {
			return fmt.Sprintf("= %q must be one of %s", v, strings.Join(allowed, ", "))
		}
		return wrongText(v)
	case []string:
		for _, s := range v {
			if allowed := choices(tag, wires); allowed != nil && !slices.Contains(allowed, s) {
				return fmt.Sprintf("entry %q must be one of %s", s, strings.Join(allowed, ", "))
			}
			if text := wrongText(s); text != "" {
				return text
			}
		}
	}
	if limit := tag.Get("max"); limit != "" {
		number := value.Convert(reflect.TypeFor[float64]()).Float()
		most, err := strconv.ParseFloat(limit, 64)
		if err != nil || math.IsNaN(number) || number < 0 || number > most {
			return fmt.Sprintf("= %v must be between 0 and %s", value, limit)
		}
	}
	return ""
}

// choices are the texts that a field may hold, nil where it may hold any. The tag
// oneof has them itself; known names a list that stands elsewhere.
func choices(tag reflect.StructTag, wires []wire.Kind) []string {
	switch tag.Get("known") {
	case "wire":
		var names []string
		for _, kind := range wires {
			names = append(names, kind.Name)
		}
		return names
	case "auth":
		return wire.Auths()
	case "structured":
		return wire.StructuredModes()
	}
	if list := tag.Get("oneof"); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

// wrongText refuses what no name or command holds and what a terminal or a
// header would choke on.
func wrongText(s string) string {
	if !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return fmt.Sprintf("= %q must not hold control characters", s)
	}
	return ""
}

func webAddress(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

package config_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/config"
)

// tightens are the keys that an untrusted repository may say, each with a value that is
// no tighter than the user's own: it does not count. Every other key is not taken at all.
var tightens = map[string]string{
	"max_review_cycles": "1000",
	"max_turns":         "999999",
	"max_tokens":        "1000000000",
	"max_cost":          "999999.0",
	"timeout":           `"2h"`,
	"max_memory":        `"512GiB"`,
	"max_processes":     "4194304",
	"approve_plan":      "false",
	"checks.evidence":   `"unbroken"`,
}

// judgedElsewhere are the keys of lists, whose entries other tests look at one by one:
// rules only tighten, hooks wait for trust, checks join those that run without them.
var judgedElsewhere = []string{"permission", "hooks", "checks.required", "checks.run"}

// TestEveryKeyOfAnUntrustedRepository sets each key of the settings, as the struct has
// them, so that a new one is not taken unless it is among those above.
func TestEveryKeyOfAnUntrustedRepository(t *testing.T) {
	t.Parallel()
	const own = `max_tokens = 100
max_cost = 1.0
timeout = "1h"
max_memory = "1GiB"
max_processes = 10
approve_plan = true
[checks]
evidence = "shown"
`
	want, _, err := config.Load(place(t, own, ""))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for key, values := range keysOf(reflect.TypeFor[config.Config](), "") {
		if slices.Contains(judgedElsewhere, key) {
			continue
		}
		seen++
		if value, ok := tightens[key]; ok {
			values = []string{value}
		}
		taken := false
		for _, value := range values {
			got, warnings, err := config.Load(place(t, own, key+" = "+value+"\n"))
			if err != nil {
				continue // no such value: another one is tried
			}
			taken = true
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s = %s of a repository that is not trusted counts (-without +with):\n%s", key, value, diff)
			}
			if _, ok := tightens[key]; !ok && len(warnings) == 0 {
				t.Errorf("%s = %s is ignored without a word", key, value)
			}
		}
		if !taken {
			t.Errorf("%s: there is no value to try among %s", key, values)
		}
	}
	if seen < 70 {
		t.Errorf("only %d keys", seen)
	}
}

// keysOf are the dotted keys of a group of settings, with values to try.
func keysOf(group reflect.Type, prefix string) map[string][]string {
	out := map[string][]string{}
	for i := range group.NumField() {
		field := group.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		key := prefix + name
		switch {
		case name == "" || name == "-":
		case kind == reflect.TypeFor[config.Duration]():
			out[key] = []string{fmt.Sprintf("%q", 7*time.Minute)}
		case kind == reflect.TypeFor[config.Size]():
			out[key] = []string{`"512MiB"`}
		case kind.Kind() == reflect.Struct:
			maps.Copy(out, keysOf(kind, key+"."))
		case kind.Kind() == reflect.Map && kind.Elem().Kind() == reflect.Struct:
			maps.Copy(out, keysOf(kind.Elem(), key+".review."))
		case kind.Kind() == reflect.Map:
			out[key+".x"] = []string{`"y"`, "1"}
		case kind.Kind() == reflect.Bool:
			out[key] = []string{"true", "false"}
		case kind.Kind() == reflect.Slice:
			choice, _, _ := strings.Cut(field.Tag.Get("oneof"), ",")
			out[key] = []string{`["x"]`, `["explore"]`, `["~/x"]`, fmt.Sprintf("[%q]", choice)}
		case kind.Kind() == reflect.String:
			for _, value := range append(strings.Split(field.Tag.Get("oneof"), ","), "x", "https://a.example", "json") {
				out[key] = append(out[key], fmt.Sprintf("%q", value))
			}
		default:
			out[key] = []string{"1", "1.0"}
		}
	}
	return out
}

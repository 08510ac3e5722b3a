package main

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/internal/sampling"
)

// sampledScripts are the scripts that a sample plays: one of each command that a
// script is named by, as batch_stop is by batch, and a quarter of those that are named
// by what goes through several. Where one is asked for by its name (go test -run
// TestScripts/batch_stop), nothing is left out.
func sampledScripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return all
	}
	var commands []string
	for _, c := range (&app{}).commands() {
		commands = append(commands, c.Name)
	}
	command := func(file string) string {
		words := strings.Split(strings.TrimSuffix(filepath.Base(file), ".txtar"), "_")
		if at := slices.IndexFunc(words, func(w string) bool { return slices.Contains(commands, w) }); at >= 0 {
			return words[at]
		}
		return ""
	}
	var named, others []string
	for _, file := range all {
		if command(file) != "" {
			named = append(named, file)
		} else {
			others = append(others, file)
		}
	}
	random := sampling.New(t)
	return append(sampling.PickEach(random, 1, named, command), sampling.Pick(random, len(others)/4, others)...)
}

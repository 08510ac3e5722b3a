package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// played is what no command makes: what whole changes took beside a single loop.
//
//go:embed played.md
var played string

const intro = `# Tokens

What plan sends to a model, from ` + "`make bench-tokens`" + `: one small change on one repository (that of ` + "`plan demo`" + `), by
each way. The model is scripted and the same for all: it looks at the same files, makes the same edits and runs the same
commands, but it does not read what its phase's first message already shows, and in Implement it has its summary beside its
last calls, and once more where that is not taken. Tokens are counted with OpenAI's current vocabulary over the requests as
they are sent. How many turns a real model takes is not measured here.

*New* is what no earlier request of the run began with, tools first, then the system prompt, then the messages, to the
token. The first messages of all phases begin with the same head (instructions and request), which is new only once where
their tools are the same too: Explore's, Plan's and Review's are where nobody can be asked (*alone*). *Weighted* is new and a
tenth of the rest, as a provider bills that keeps prompts. A server that reads the schema of an answer before all else, as
OpenAI's does, has nothing kept for a review. *Read again* is what results showed although the run had been shown it before,
in any phase.
`

// report writes the tallies as Markdown.
func report(tallies []*tally) string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("\n## Whole runs\n\n")
	rows := [][]string{{"way", "program", "requests", "input", "new", "weighted", "results", "read again"}}
	for _, t := range tallies {
		var results int64
		for _, n := range t.results {
			results += n
		}
		rows = append(rows, cells(t.way, t.program, t.requests, t.input, t.fresh, weighted(t.input, t.fresh),
			results, t.again))
	}
	table(&b, rows)

	b.WriteString("\n## Phases\n\nThe first request of each, and all of them.\n\n")
	rows = [][]string{{
		"way", "program", "phase", "schemas", "system", "first message", "requests", "input", "new", "weighted",
	}}
	for _, t := range tallies {
		for _, p := range t.phases {
			rows = append(rows, cells(t.way, t.program, p.name, p.schemas, p.system, p.first, p.requests,
				p.input, p.fresh, weighted(p.input, p.fresh)))
		}
	}
	table(&b, rows)

	b.WriteString("\n## Results by tool\n\nEach counted once, when it is new.\n\n")
	names := map[string]bool{}
	for _, t := range tallies {
		for name := range t.results {
			names[name] = true
		}
	}
	tools := slices.Sorted(maps.Keys(names))
	rows = [][]string{append([]string{"way", "program"}, tools...)}
	for _, t := range tallies {
		row := []string{t.way, t.program}
		for _, name := range tools {
			row = append(row, fmt.Sprint(t.results[name]))
		}
		rows = append(rows, row)
	}
	table(&b, rows)
	b.WriteString(played)
	return b.String()
}

func cells(values ...any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// table writes rows, the first as the head.
func table(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

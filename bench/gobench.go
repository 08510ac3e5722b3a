package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// benchResults are the metrics of Go benchmarks: by name, then by unit, of each run.
type benchResults map[string]map[string][]float64

// parse reads what `go test -bench` prints.
func parse(text string) benchResults {
	out := benchResults{}
	threads := regexp.MustCompile(`-\d+$`)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(threads.ReplaceAllString(fields[0], ""), "Benchmark")
		if out[name] == nil {
			out[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				out[name][fields[i+1]] = append(out[name][fields[i+1]], v)
			}
		}
	}
	return out
}

// find finds a benchmark, also one whose name goes on with its size, as in
// /facts=1000.
func (r benchResults) find(name string) (metrics map[string][]float64, size string) {
	for full, metrics := range r {
		if rest, ok := strings.CutPrefix(full, name+"/"); ok && strings.Contains(rest, "=") {
			return metrics, rest
		}
	}
	return r[name], ""
}

// comparison is a row of the report: a Go benchmark beside one that is its baseline.
type comparison struct {
	figure
	ours, base, metric string  // the names of both, and the unit that is compared
	scale              float64 // from that unit to the figure's
	baseMetric         string  // the baseline's unit, "" for the same
}

// goFigures picks those Go benchmarks that have a baseline of their own.
func (b *bench) goFigures(context.Context) ([]figure, error) {
	if b.goBench == "" {
		return nil, nil
	}
	data, err := os.ReadFile(b.goBench)
	if err != nil {
		return nil, fmt.Errorf("read the Go benchmarks: %w", err)
	}
	results := parse(string(data))
	var out []figure
	for _, f := range slices.Concat(journalComparisons(), loopComparisons(), routerComparisons()) {
		mine, size := results.find(f.ours)
		theirs, _ := results.find(f.base)
		ours, base := median(mine[f.metric]), median(theirs[cmp.Or(f.baseMetric, f.metric)])
		if ours == 0 || base == 0 {
			return nil, fmt.Errorf(
				"%s does not hold %s of Benchmark%s and Benchmark%s",
				b.goBench,
				f.metric,
				f.ours,
				f.base,
			)
		}
		if size != "" {
			f.what += " (" + size + ")"
		}
		f.figure.ours, f.figure.base = ours*f.scale, base*f.scale
		out = append(out, f.figure)
	}
	return out, nil
}

// journalComparisons are those of what is stored and found again.
func journalComparisons() []comparison {
	return []comparison{
		{figure{
			what:       "appends a second, 64 runs at once",
			unit:       "/s",
			baseline:   "one run",
			leastRatio: 10,
			bound: "processor time, some 20 µs of SQLite and encoding for an append: what a group saves is the " +
				"sync, and the shorter that takes on a disk the less there is to save",
		}, "Runs/64", "Runs/1", "appends/s", 1, ""},
		{figure{
			what:     "durable append of a turn's three events",
			unit:     "µs",
			baseline: "bare SQLite, the same rows",
		}, "Append", "BareInsert", "p50-µs", 1, ""},
		{figure{
			what:     "recall, median",
			unit:     "ms",
			baseline: "all words with OR",
		}, "Recall/recall", "Recall/baseline-or", "p50-ms", 1, ""},
		{figure{
			what:     "recall, 99th percentile",
			unit:     "ms",
			baseline: "all words with OR",
			mostOurs: 30,
		}, "Recall/recall", "Recall/baseline-or", "p99-ms", 1, ""},
		{figure{
			what:     "reading and folding 10,000 events",
			unit:     "ms",
			baseline: "1,000 events",
			mostOurs: 150,
		}, "Resume/10000", "Resume/1000", "ns/op", 1e-6, ""},
	}
}

// loopComparisons are those of a turn: its request, and a command behind a wall.
func loopComparisons() []comparison {
	return []comparison{
		{figure{
			what:     "a turn of the loop, without a journal",
			unit:     "µs",
			baseline: "the client alone",
		}, "Turn/loop", "Turn/client", "µs/turn", 1, ""},
		{figure{
			what:      "building a request, 200 turns of history",
			unit:      "µs",
			baseline:  "20 turns",
			mostRatio: 2,
			bound: "the comparison of each message with what was sent of it, 0.05 µs, so that one that was " +
				"changed in place is noticed; nothing is encoded or copied again. The goal was set when tools and " +
				"system prompt were encoded for each request, which was most of what 20 turns took (54 µs); without " +
				"that the ratio says little. That nothing grows but this is what the next row says",
		}, "Request/200", "Request/20", "ns/op", 1e-3, ""},
		{figure{
			what:      "building a request, 200 turns of history",
			unit:      "µs",
			baseline:  "encoding all of it",
			mostRatio: 0.1,
		}, "Request/200", "Request/200-anew", "ns/op", 1e-3, ""},
		{figure{
			what:     "a command in Review",
			unit:     "ms",
			baseline: "exec of bash",
			mostMore: 5,
		}, "Command/namespaces", "Command/exec", "p50-ms", 1, ""},
	}
}

// routerComparisons are those of choosing a skill.
func routerComparisons() []comparison {
	return []comparison{
		{figure{
			what:     "choosing a skill, median",
			unit:     "µs",
			baseline: "bare draws",
		}, "Choose/choose", "Choose/bare-draws", "p50-µs", 1, ""},
		{figure{
			what:     "choosing a skill, 99th percentile",
			unit:     "µs",
			baseline: "bare draws",
		}, "Choose/choose", "Choose/bare-draws", "p99-µs", 1, ""},
		{figure{
			what:      "regret of the router, 10 skills",
			unit:      "lost successes",
			baseline:  "the bound of Lai and Robbins",
			mostRatio: 1.5,
		}, "Regret/skills=10", "Regret/skills=10", "thompson-regret", 1, "bound-regret"},
		{figure{
			what:      "regret of the router, 10 skills",
			unit:      "lost successes",
			baseline:  "UCB1",
			mostRatio: 1,
		}, "Regret/skills=10", "Regret/skills=10", "thompson-regret", 1, "ucb1-regret"},
		{figure{
			what:      "regret of the router, 100 skills",
			unit:      "lost successes",
			baseline:  "UCB1",
			mostRatio: 1,
		}, "Regret/skills=100", "Regret/skills=100", "thompson-regret", 1, "ucb1-regret"},
		{figure{
			what:      "regret of the router, 1,000 skills",
			unit:      "lost successes",
			baseline:  "UCB1",
			mostRatio: 1,
		}, "Regret/skills=1000", "Regret/skills=1000", "thompson-regret", 1, "ucb1-regret"},
		{figure{
			what:     "regret of always the best so far, 1,000 skills",
			about:    "greedy",
			unit:     "lost successes",
			baseline: "the router",
		}, "Regret/skills=1000", "Regret/skills=1000", "greedy-regret", 1, "thompson-regret"},
	}
}

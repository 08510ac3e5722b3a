package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// results are the metrics of Go benchmarks: by name, then by unit, of each run.
type results map[string]map[string][]float64

// parse reads what `go test -bench` prints.
func parse(text string) results {
	out := results{}
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

// goFigures picks those Go benchmarks that have a baseline of their own.
func (b *bench) goFigures(context.Context) ([]figure, error) {
	if b.goBench == "" {
		return nil, nil
	}
	data, err := os.ReadFile(b.goBench)
	if err != nil {
		return nil, fmt.Errorf("read the Go benchmarks: %w", err)
	}
	all := parse(string(data))
	var out []figure
	for _, f := range []struct {
		figure
		ours, base, metric string
		scale              float64
	}{
		{figure{what: "appends a second, 64 runs at once", unit: "/s", baseline: "one run", leastRatio: 10}, "Runs/64", "Runs/1", "appends/s", 1},
		{figure{what: "durable append of a turn's three events", unit: "µs", baseline: "bare SQLite, the same rows"}, "Append", "BareInsert", "p50-µs", 1},
		{figure{what: "a turn of the loop, without a journal", unit: "µs", baseline: "the client alone"}, "Turn/loop", "Turn/client", "µs/turn", 1},
		{figure{what: "building a request, 200 turns of history", unit: "µs", baseline: "20 turns", mostRatio: 2}, "Request/200", "Request/20", "ns/op", 1e-3},
		{figure{what: "a command in Review", unit: "ms", baseline: "exec of bash", mostMore: 5}, "Command/namespaces", "Command/exec", "p50-ms", 1},
		{figure{what: "reading and folding 10,000 events", unit: "ms", baseline: "1,000 events", mostOurs: 150}, "Resume/10000", "Resume/1000", "ns/op", 1e-6},
	} {
		ours, base := median(all[f.ours][f.metric]), median(all[f.base][f.metric])
		if ours == 0 || base == 0 {
			return nil, fmt.Errorf("%s does not hold %s of Benchmark%s and Benchmark%s", b.goBench, f.metric, f.ours, f.base)
		}
		f.figure.ours, f.figure.base = ours*f.scale, base*f.scale
		out = append(out, f.figure)
	}
	return out, nil
}

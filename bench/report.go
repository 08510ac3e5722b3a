package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figure is one measure of ours beside its baseline, both medians in unit.
type figure struct {
	what, unit string
	about      string // what "ours" is, where it is not plan
	ours, base float64
	baseline   string
	// The goal: at most, or at least, so many times the baseline; at most so
	// much by itself; at most so much more than the baseline. 0 is no goal.
	mostRatio, leastRatio, mostOurs, mostMore float64
	bound                                     string // what keeps it from its goal, if it misses it
}

// goal says what is aimed at and whether it is reached.
func (f figure) goal() (text string, met bool) {
	ratio := f.ours / f.base
	switch {
	case f.mostRatio > 0:
		return fmt.Sprintf("≤ %g ×", f.mostRatio), ratio <= f.mostRatio
	case f.leastRatio > 0:
		return fmt.Sprintf("≥ %g ×", f.leastRatio), ratio >= f.leastRatio
	case f.mostOurs > 0:
		return fmt.Sprintf("≤ %g %s", f.mostOurs, f.unit), f.ours <= f.mostOurs
	case f.mostMore > 0:
		return fmt.Sprintf("≤ +%g %s", f.mostMore, f.unit), f.ours-f.base <= f.mostMore
	}
	return "", true
}

// line is a row of the table.
func (f figure) line() string {
	text, met := f.goal()
	switch {
	case text == "":
		text = "–"
	case met:
		text += " reached"
	default:
		text += " **missed**"
	}
	ours := ""
	if f.about != "" {
		ours = f.about + ": "
	}
	return fmt.Sprintf(
		"| %s | %s%s %s | %s: %s %s | %.2f | %s |",
		f.what,
		ours,
		number(f.ours),
		f.unit,
		f.baseline,
		number(f.base),
		f.unit,
		f.ours/f.base,
		text,
	)
}

// number writes three digits that matter.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// median is the middle one; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}

// report writes the figures as Markdown.
func report(
	ctx context.Context,
	to io.Writer,
	rounds int,
	began time.Time,
	duration time.Duration,
	figures []figure,
) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"# Results\n\nWritten by `make bench`; do not edit. Medians of %d runs (Go benchmarks: of their own), "+
			"programs run by turns.\n\n",
		rounds,
	)
	fmt.Fprintf(
		&b,
		"- %s, %d processors used, %s/%s; load when it began: %s\n",
		processor(),
		runtime.GOMAXPROCS(0),
		runtime.GOOS,
		runtime.GOARCH,
		load(),
	)
	fmt.Fprintf(
		&b,
		"- %s; %s; %s\n",
		runtime.Version(),
		version(ctx, "git", "--version"),
		version(ctx, "rg", "--version"),
	)
	fmt.Fprintf(
		&b,
		"- plan at %s, %s, in %s\n\n",
		version(ctx, "git", "describe", "--always"),
		began.UTC().Format(time.DateOnly),
		duration.Round(time.Second),
	)
	b.WriteString(
		"Programs are read from the disk anew before they are measured: one that was just linked lies in memory in " +
			"larger pieces, and all of a piece counts as used.\n\n",
	)
	b.WriteString("| what | plan | baseline in the same run | ratio | goal |\n|---|---|---|---|---|\n")
	for _, f := range figures {
		b.WriteString(f.line() + "\n")
	}
	first := "\nWhat bounds those that miss their goal:\n\n"
	for _, f := range figures {
		if _, met := f.goal(); !met && f.bound != "" {
			b.WriteString(first + "- " + f.what + ": " + f.bound + ".\n")
			first = ""
		}
	}
	if _, err := io.WriteString(to, b.String()); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// version is the first line that a program says about itself.
func version(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "no " + name
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

// processor names the processor, where the system tells.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "an unknown processor"
}

// load is how busy the machine was with other things.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

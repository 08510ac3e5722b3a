// Command bench measures plan beside its floor: bench/floor, bare SQLite, git
// and ripgrep, on the same machine, in the same run, one after the other and
// from the beginning again. It writes what it found as Markdown; `make bench`
// puts that into bench/RESULTS.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "__launch" {
		exit(launch(os.Args[2:]))
	}
	var b bench
	flag.IntVar(&b.rounds, "n", 9, "how often each program is run; figures are medians")
	flag.StringVar(&b.plan, "plan", "bin/plan", "measure the plan in `FILE`")
	flag.StringVar(&b.floor, "floor", "bin/floor", "measure it beside the floor in `FILE`")
	flag.StringVar(&b.goBench, "go", "", "take in the output of Go benchmarks in `FILE`")
	flag.IntVar(&b.files, "files", 50_000, "how many files are searched")
	flag.StringVar(
		&b.only,
		"only",
		"",
		"measure only `NAMES`, with commas: starts, turns, history, resume, trees, searches, go",
	)
	out := flag.String("o", "", "write to `FILE` (default: standard output)")
	flag.Parse()
	exit(b.measureAll(context.Background(), *out, time.Now))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// bench is a whole measurement.
type bench struct {
	rounds, files int
	plan, floor   string
	goBench, only string

	self string
	work string // a directory of its own
	env  []string
}

// measureAll measures everything and writes the report.
func (b *bench) measureAll(ctx context.Context, out string, now func() time.Time) (err error) {
	for _, file := range []*string{&b.plan, &b.floor} {
		if *file, err = filepath.Abs(*file); err != nil {
			return fmt.Errorf("find a program: %w", err)
		}
	}
	for _, file := range []string{b.plan, b.floor} {
		if err := dropFromCache(file); err != nil {
			return fmt.Errorf("have %s read anew: %w", file, err)
		}
	}
	if b.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if b.work, err = os.MkdirTemp("", "plan-bench-"); err != nil {
		return fmt.Errorf("make a place to measure in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(b.work, "home"), "PLAN_MODEL=scripted", "LANG=C.UTF-8",
		"OPENAI_ORG_ID=", "NO_COLOR=1",
	}
	began := now()
	var figures []figure
	for _, m := range []struct {
		name    string
		measure func(context.Context) ([]figure, error)
	}{
		{"starts", b.starts},
		{"turns", b.turnCost},
		{"history", b.history},
		{"resume", b.resumed},
		{"trees", b.trees},
		{"searches", b.searches},
		{"go", b.goFigures},
	} {
		if b.only != "" && !slices.Contains(strings.Split(b.only, ","), m.name) {
			continue
		}
		measured, err := m.measure(ctx)
		if err != nil {
			return err
		}
		for _, f := range measured {
			fmt.Fprintln(os.Stderr, f.line())
		}
		figures = append(figures, measured...)
	}
	var to io.Writer = os.Stdout
	if out != "" {
		file, err := os.Create(out)
		if err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		to = file
	}
	return report(ctx, to, b.rounds, began, now().Sub(began), figures)
}

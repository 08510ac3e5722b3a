// Command batch measures batches of plan: throughput, time per job, memory and
// size on disk at several widths, the memory of jobs that wait for the model,
// and the same jobs as processes of their own beside it. Only the model is
// scripted; it answers over loopback, from this process. What was found is
// written as Markdown; `make bench-batch` puts it into bench/BATCH.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan/model/scripted"
)

func main() {
	var b bench
	flag.StringVar(&b.plan, "plan", "bin/plan", "measure the plan in `FILE`")
	flag.IntVar(
		&b.jobs,
		"jobs",
		1000,
		"`N` jobs in the large batch; the others have a tenth, and at least as many as run at a time",
	)
	flag.IntVar(&b.width, "width", 4, "run `N` jobs of the large batch at a time, and as many processes beside it")
	widths := flag.String(
		"widths",
		"1,4,16,64,256,512",
		"`LIST` of how many jobs run at a time in the small batches, and wait for the model",
	)
	machines := flag.String("machines", "", "measure `LIST` of workers of a queue, such as 1,2,4, in place of batches")
	answers := flag.String("answers", "0s,2s", "with -machines: `LIST` of how long a model takes for an answer")
	out := flag.String("o", "", "write to `FILE` (default: standard output)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *machines != "" {
		*widths = *machines
		b.measure = b.machines
	}
	err := b.readAnswers(*answers)
	if err == nil {
		err = b.measureAll(ctx, *widths, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// bench is a whole measurement.
type bench struct {
	plan        string
	jobs, width int
	widths      []int
	answers     []time.Duration                             // how long a model takes for one
	measure     func(ctx context.Context, out string) error // in place of batches; nil for these

	work  string // a directory of its own
	repos []string
	env   []string
}

// measureAll measures everything and writes the report.
func (b *bench) measureAll(ctx context.Context, widths, out string) (err error) {
	if err := b.read(widths); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp("", "plan-bench-"); err != nil {
		return fmt.Errorf("make a place to measure in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	repos := max(b.jobs, slices.Max(b.widths))
	if b.measure != nil {
		repos = max(b.jobs, b.width*slices.Max(b.widths))
	}
	if err := b.plant(ctx, repos); err != nil {
		return err
	}
	if b.measure != nil {
		return b.measure(ctx, out)
	}
	began := time.Now()
	var rows []row
	err = b.serving(ctx, work(), func(s *scripted.Server) error {
		rows, err = b.rows(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	var waits []waiting
	for _, w := range b.widths {
		wait, err := b.waiting(ctx, w)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, wait.line())
		waits = append(waits, wait)
	}
	return b.write(out, rows, waits, time.Since(began))
}

// readAnswers reads how long a model takes.
func (b *bench) readAnswers(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return fmt.Errorf("-answers: %q is no time, such as 2s", text)
		}
		b.answers = append(b.answers, d)
	}
	return nil
}

// read checks what the flags say.
func (b *bench) read(widths string) (err error) {
	for w := range strings.SplitSeq(widths, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < 1 || n > 1024 {
			return fmt.Errorf("-widths: %q is not a number from 1 to 1024", w)
		}
		b.widths = append(b.widths, n)
	}
	if b.jobs < 1 || b.width < 1 {
		return errors.New("-jobs and -width must be at least 1")
	}
	if b.plan, err = filepath.Abs(b.plan); err != nil {
		return fmt.Errorf("find plan: %w", err)
	}
	return nil
}

// rows measures the work.
func (b *bench) rows(ctx context.Context, s *scripted.Server) (out []row, err error) {
	note := func(r row, err error) error {
		if err == nil {
			fmt.Fprintln(os.Stderr, r.line())
			out = append(out, r)
		}
		return err
	}
	for _, w := range b.widths {
		if err := note(b.batch(ctx, s, b.small(w), w)); err != nil {
			return out, err
		}
	}
	if err := note(b.processes(ctx, s, b.small(b.width), b.width)); err != nil {
		return out, err
	}
	return out, note(b.batch(ctx, s, b.jobs, b.width))
}

// small is how many jobs a batch has that is measured at a width.
func (b *bench) small(width int) int { return max(b.jobs/10, width) }

// serving starts a model for as long as do takes.
func (b *bench) serving(ctx context.Context, s *scripted.Scenario, do func(*scripted.Server) error) (err error) {
	server, err := scripted.Start(ctx, s, scripted.Config{})
	if err != nil {
		return fmt.Errorf("start the model: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	return do(server)
}

func (b *bench) write(out string, rows []row, waits []waiting, duration time.Duration) (err error) {
	var to io.Writer = os.Stdout
	if out != "" {
		f, err := os.Create(out)
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		to = f
	}
	fmt.Fprintf(to, `# Batches, measured

%d cores, %s/%s, %s; it took %s. Every job is a run of four phases over the real wire, in a repository of its own, with
a check before and after, behind walls. Only the model is scripted; its server has the same cores. `+"`make bench-batch`"+`
writes this; `+"`JOBS=50`"+` makes it shorter.

| what | jobs | at a time | jobs/s | p50 s | p99 s | CPU s/job | peak MiB | database KiB/job |
|---|---|---|---|---|---|---|---|---|
`, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), duration.Round(time.Second))
	for _, r := range rows {
		fmt.Fprintln(to, r.markdown())
	}
	fmt.Fprint(to, `
Times are from a job's start to its end. CPU is that of plan and of all that it starts: git, checks, walls. The peak is
resident memory of the process; of processes it is that of the largest, times how many run at a time.

## Jobs that wait for the model

Each job has sent its first request, and has no answer. Resident memory of the process then:

| jobs | MiB | MiB for each beyond the first |
|---|---|---|
`)
	for _, w := range waits {
		_, err = fmt.Fprintln(to, w.markdown(waits[0]))
	}
	return err
}

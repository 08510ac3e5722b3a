package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan/model/scripted"
)

// row is what was measured of some jobs.
type row struct {
	what        string
	jobs, width int
	duration    time.Duration
	each        []time.Duration // in order
	cpu         time.Duration   // of plan and its children, all jobs
	peak        int64           // KiB
	database    int64           // bytes
}

func (r row) percentile(p int) float64 {
	return r.each[min(len(r.each)*p/100, len(r.each)-1)].Seconds()
}

func (r row) line() string {
	return fmt.Sprintf(
		"%s: %d jobs, %d at a time: %.2f jobs/s, p50 %.2f s, p99 %.2f s, %.2f CPU s/job, peak %d MiB, %d KiB/job",
		r.cells()...,
	)
}

func (r row) markdown() string {
	return fmt.Sprintf("| %s | %d | %d | %.2f | %.2f | %.2f | %.2f | %d | %d |", r.cells()...)
}

// cells are what is told of a row, in the order of the report's columns.
func (r row) cells() []any {
	return []any{
		r.what,
		r.jobs,
		r.width,
		float64(r.jobs) / r.duration.Seconds(),
		r.percentile(50),
		r.percentile(99),
		r.cpu.Seconds() / float64(r.jobs),
		r.peak >> 10,
		r.database >> 10 / int64(r.jobs),
	}
}

// run runs a command that must succeed. It returns the peak of its resident
// memory in KiB, which the kernel counts anew from the moment the program
// begins, and its CPU time with that of its children.
func run(cmd *exec.Cmd) (peak int64, cpu time.Duration, err error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return 0, 0, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if now, err := memoryOf(cmd.Process.Pid, "VmHWM"); err == nil {
				peak = now
			}
			continue
		case err = <-done:
		}
		break
	}
	if err != nil {
		return 0, 0, fmt.Errorf(
			"%s: %w: %s",
			strings.Join(cmd.Args[1:], " "),
			err,
			output.Bytes()[max(0, output.Len()-2000):],
		)
	}
	return peak, cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime(), nil
}

// memoryOf reads a line of a process's status, in KiB.
func memoryOf(pid int, field string) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err //nolint:wrapcheck // names the file
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read %s of process %d: %w", field, pid, err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("process %d says nothing of %s", pid, field)
}

// sizeOf is the size of a home's database, in bytes.
func sizeOf(home string) (n int64) {
	for _, name := range []string{"plan.db", "plan.db-wal"} {
		if info, err := os.Stat(filepath.Join(home, name)); err == nil {
			n += info.Size()
		}
	}
	return n
}

// batch measures n jobs in one process.
func (b *bench) batch(ctx context.Context, server *scripted.Server, n, width int) (row, error) {
	r := row{
		what:  "plan batch run",
		jobs:  n,
		width: width,
	}
	home, list, err := b.home(n)
	if err != nil {
		return r, err
	}
	began := time.Now()
	cmd := b.command(ctx, home, server, "batch", "run", list, "--concurrency", strconv.Itoa(width))
	if r.peak, r.cpu, err = run(cmd); err != nil {
		report, _ := b.command(ctx, home, nil, "batch", "report").Output() // what is known of it is better than nothing
		return r, fmt.Errorf("%w\n%s", err, report[min(len(report), max(0, len(report)-4000)):])
	}
	r.duration = time.Since(began)
	r.database = sizeOf(home)
	out, err := b.command(ctx, home, nil, "batch", "show", "--json").Output()
	var progress struct {
		Jobs []struct{ Started, Ended time.Time }
	}
	if err == nil {
		err = json.Unmarshal(out, &progress)
	}
	if err != nil || len(progress.Jobs) != n {
		return r, fmt.Errorf("read what came of %d of %d jobs: %w", len(progress.Jobs), n, err)
	}
	for _, j := range progress.Jobs {
		r.each = append(r.each, j.Ended.Sub(j.Started))
	}
	slices.Sort(r.each)
	return r, b.forget(home)
}

// processes measures n jobs as runs of their own.
func (b *bench) processes(ctx context.Context, server *scripted.Server, n, width int) (row, error) {
	r := row{
		what:  "as many `plan run --worktree`",
		jobs:  n,
		width: width,
		each:  make([]time.Duration, n),
	}
	home, _, err := b.home(0)
	if err != nil {
		return r, err
	}
	began := time.Now()
	peaks, cpus := make([]int64, n), make([]time.Duration, n)
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(width)
	for i := range n {
		group.Go(func() (err error) {
			begun := time.Now()
			peaks[i], cpus[i], err = run(
				b.command(gctx, home, server, "-C", b.repos[i], "run", "--worktree", "--check", check, request),
			)
			r.each[i] = time.Since(begun)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return r, err //nolint:wrapcheck // run says what failed
	}
	r.duration = time.Since(began)
	for _, cpu := range cpus {
		r.cpu += cpu
	}
	r.peak, r.database = slices.Max(peaks)*int64(width), sizeOf(home)
	slices.Sort(r.each)
	return r, b.forget(home)
}

// forget makes room. Repositories forget the work trees that are gone.
func (b *bench) forget(home string) error {
	err := os.RemoveAll(home)
	for _, repo := range b.repos {
		err = errors.Join(err, os.RemoveAll(filepath.Join(repo, ".git", "worktrees")))
	}
	return err
}

// waiting is the memory of a process whose jobs all wait for the model.
type waiting struct {
	jobs int
	kib  int64
}

func (w waiting) line() string {
	return fmt.Sprintf("waiting: %d jobs: %.1f MiB", w.jobs, float64(w.kib)/1024)
}

func (w waiting) markdown(first waiting) string {
	more := "-"
	if w.jobs > first.jobs {
		more = fmt.Sprintf("%.2f", float64(w.kib-first.kib)/1024/float64(w.jobs-first.jobs))
	}
	return fmt.Sprintf("| %d | %.1f | %s |", w.jobs, float64(w.kib)/1024, more)
}

// waiting measures it: once as many requests have come as there are jobs, and
// the memory has come to rest.
func (b *bench) waiting(ctx context.Context, n int) (w waiting, err error) {
	w.jobs = n
	home, list, err := b.home(n)
	if err != nil {
		return w, err
	}
	return w, b.serving(ctx, silence(), func(server *scripted.Server) error {
		cmd := b.command(ctx, home, server, "batch", "run", list, "--concurrency", strconv.Itoa(n))
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start %s: %w", cmd.Path, err)
		}
		defer func() {
			_ = cmd.Process.Signal(syscall.SIGKILL) // what it knows is thrown away
			_ = cmd.Wait()
		}()
		limit := time.After(5 * time.Minute)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for rest := 0; rest < 5; {
			select {
			case <-limit:
				return fmt.Errorf("after 5 minutes only %d of %d jobs wait for the model", chats(server), n)
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-tick.C:
			}
			if chats(server) >= n {
				rest++
			}
		}
		if w.kib, err = memoryOf(cmd.Process.Pid, "VmRSS"); err != nil {
			return err
		}
		return nil
	})
}

// chats counts the requests for an answer.
func chats(server *scripted.Server) int {
	n := 0
	for _, r := range server.Requests() {
		if r.Method == "POST" {
			n++
		}
	}
	return n
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan/model/scripted"
)

// machinesRow is what was measured of jobs over some workers.
type machinesRow struct {
	workers  int // 0: one process with SQLite
	jobs     int
	answer   time.Duration
	duration time.Duration
	cpu      time.Duration // of the workers and their children, all jobs
	queue    int64         // bytes on disk of what serves the queue
}

func (r machinesRow) label() string {
	switch r.workers {
	case 0:
		return "one process, SQLite"
	case 1:
		return "1 worker, queue"
	}
	return fmt.Sprintf("%d workers, queue", r.workers)
}

func (r machinesRow) markdown() string {
	queue := "-"
	if r.workers > 0 {
		queue = fmt.Sprint(r.queue >> 10 / int64(r.jobs))
	}
	return fmt.Sprintf("| %s | %.0f s | %d | %.2f | %.2f | %s |", r.label(), r.answer.Seconds(), r.jobs,
		float64(r.jobs)/r.duration.Seconds(), r.cpu.Seconds()/float64(r.jobs), queue)
}

// machines measures jobs over workers of a queue beside one process with SQLite, on models
// that answer at once and slowly.
func (b *bench) machines(ctx context.Context, out string) error {
	began := time.Now()
	var rows []machinesRow
	err := b.serving(ctx, work(), func(s *scripted.Server) error {
		for _, answer := range b.answers {
			model, stop, err := delayed(s, answer)
			if err != nil {
				return err
			}
			defer stop()
			for _, workers := range append([]int{0}, b.widths...) {
				r := machinesRow{workers: workers, jobs: b.jobs, answer: answer}
				if answer > 0 {
					r.jobs = b.width * max(workers, 1) // each worker is full once
				}
				if err := b.measureMachines(ctx, s, model, &r); err != nil {
					return err
				}
				fmt.Fprintln(os.Stderr, r.markdown())
				rows = append(rows, r)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.writeMachines(out, rows, time.Since(began))
}

// delayed is where a model answers after a while.
func delayed(s *scripted.Server, answer time.Duration) (at string, stop func(), err error) {
	to, err := url.Parse(s.URL())
	if err != nil {
		return "", nil, fmt.Errorf("find the model: %w", err)
	}
	if answer == 0 {
		return s.URL(), func() {}, nil
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	proxy.FlushInterval = -1
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(answer)
		defer timer.Stop()
		select {
		case <-timer.C:
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	return front.URL + to.Path, front.Close, nil
}

// measureMachines has jobs done in homes of their own.
func (b *bench) measureMachines(ctx context.Context, s *scripted.Server, model string, r *machinesRow) (err error) {
	home, list, err := b.home(r.jobs)
	if err != nil {
		return err
	}
	plan := func(home string, args ...string) (time.Duration, error) {
		cmd := b.command(ctx, home, s, args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+model,
			"PLAN_QUEUE_TOKEN_FILE="+filepath.Join(b.work, "token")) // one for all queues
		_, cpu, err := run(cmd)
		return cpu, err
	}
	if r.workers == 0 {
		began := time.Now()
		r.cpu, err = plan(home, "batch", "run", list, "--concurrency", fmt.Sprint(b.width))
		r.duration = time.Since(began)
		return err
	}
	token := filepath.Join(b.work, "token")
	if err := os.WriteFile(token, []byte("measured\n"), 0o600); err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	queue, stop, err := b.queue(ctx, home, token)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if _, err := plan(home, "batch", "run", list, "--queue", queue); err != nil {
		return err
	}
	began := time.Now()
	var group errgroup.Group
	used := make([]time.Duration, r.workers)
	for i := range r.workers {
		own := filepath.Join(home, fmt.Sprint("worker-", i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return fmt.Errorf("make a home: %w", err)
		}
		group.Go(func() (err error) {
			used[i], err = plan(own, "worker", "--drain", "--repo", "file://", "--queue", queue,
				"--concurrency", fmt.Sprint(b.width))
			return err
		})
	}
	err = group.Wait()
	r.duration = time.Since(began)
	for _, cpu := range used {
		r.cpu += cpu
	}
	if err == nil {
		r.queue, err = folderSize(filepath.Join(home, "queue"))
	}
	return err
}

// folderSize adds up the files of a folder.
func folderSize(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err //nolint:wrapcheck // folderSize says what was done
		}
		total += info.Size()
		return nil
	})
	if err != nil {
		err = fmt.Errorf("size %s: %w", dir, err)
	}
	return total, err
}

// queue serves one from a home.
func (b *bench) queue(ctx context.Context, home, token string) (at string, stop func() error, err error) {
	cmd := b.command(ctx, home, nil, "queue", "serve", "--listen", "127.0.0.1:0", "--json")
	cmd.Env = append(cmd.Env, "PLAN_QUEUE_TOKEN_FILE="+token)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("serve a queue: %w", err)
	}
	stop = func() error { return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()) }
	var served struct{ URL string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &served)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("serve a queue: it says %q: %w", line, err), stop())
	}
	return served.URL, stop, nil
}

// busy says how much else the machine had to do, where the system tells.
func busy() string {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	now, _, _ := strings.Cut(string(load), " ")
	return ", with a load of " + now + " at its end"
}

func (b *bench) writeMachines(out string, rows []machinesRow, duration time.Duration) error {
	var text strings.Builder
	fmt.Fprintf(&text, `# Many machines, measured

%d cores, %s/%s, %s; it took %s%s.
Workers are processes with homes of their own on this one machine, %d jobs at a time each, beside the queue and the scripted
model, which share its cores: of answers that come at once it is what a queue costs that is measured, and not
what more machines give. Every job is a run of four phases in a repository that its worker
clones. `+"`make bench-machines`"+` writes this, `+"`make show-machines`"+` shows it small.

| what | an answer takes | jobs | jobs/s | CPU s/job | KiB/job in the queue |
|---|---|---|---|---|---|
`, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), duration.Round(time.Second), busy(), b.width)
	for _, r := range rows {
		fmt.Fprintln(&text, r.markdown())
	}
	text.WriteString(`
Time is from the start of the workers, or of plan batch run, to their end. A job has nine answers. CPU is that of the
workers and of all that they start. What is in the queue is its folder, with journals, records, results, changes and what
JetStream keeps beside them. How long it takes from the kill of a worker to the first event of the next one is measured by
TestARunOutlivesItsMachine, and stands in docs/scale.md.
`)
	if out == "" {
		_, err := os.Stdout.WriteString(text.String())
		return err //nolint:wrapcheck // says that standard output is closed
	}
	if err := os.WriteFile(out, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

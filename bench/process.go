package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plan-engine/plan/model/scripted"
)

// launchResult is what the launcher says about a process that it ran.
type launchResult struct {
	Start time.Time     `json:"start"`
	Wall  time.Duration `json:"wall"`
	Peak  int64         `json:"peak"` // KiB, of the process or the largest child it waited for
	// KiB, the most that was seen of it that is no page of a file; 0 where /proc does not tell.
	Own  int64 `json:"own"`
	Exit int   `json:"exit"`
}

// launch runs one command and tells descriptor 3 about it. It is a process of
// its own because Linux counts the memory of the process that starts another as a peak
// of that process, so the one that measures has to be small.
func launch(args []string) error {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...) //nolint:gosec // running it is the purpose
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	launched := launchResult{Start: time.Now()}
	err := cmd.Start()
	if err == nil {
		watched := watch(cmd.Process.Pid)
		err = cmd.Wait()
		launched.Own = watched()
	}
	launched.Wall = time.Since(launched.Start)
	if cmd.ProcessState == nil {
		return fmt.Errorf("start %s: %w", args[0], err)
	}
	launched.Exit = cmd.ProcessState.ExitCode()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		launched.Peak = usage.Maxrss
	}
	if err := json.NewEncoder(os.NewFile(3, "report")).Encode(launched); err != nil {
		return fmt.Errorf("report on %s: %w", args[0], err)
	}
	return nil
}

// watch looks every now and then at how much memory of a process is its own,
// until what it returns is called, which says the most that there was.
func watch(pid int) func() int64 {
	var most int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most = max(most, anonymousMemory(pid))
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		return most
	}
}

// anonymousMemory is the memory of a process that is no page of a file, in KiB.
func anonymousMemory(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) //nolint:gosec // a number
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "RssAnon:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel's number
			return kib
		}
	}
	return 0
}

// player runs programs, each against a server that has just been started.
type player struct {
	self     string // this program, as the launcher
	scenario *scripted.Scenario
	env      []string
}

// play runs a command to its end. Its exit code has to be one of want.
func (p *player) play(ctx context.Context, dir string, env, argv []string, want ...int) (sample, error) {
	var out sample
	server, err := scripted.Start(ctx, p.scenario, scripted.Config{Now: time.Now})
	if err != nil {
		return out, err
	}
	launched, err := p.launch(
		ctx,
		dir,
		append(env, "OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY="+server.Key()),
		argv,
	)
	requests := server.Requests()
	if err := errors.Join(err, server.Close()); err != nil {
		return out, err
	}
	for _, code := range want {
		if launched.Exit == code {
			out.wall, out.peak, out.own = launched.Wall, launched.Peak, launched.Own
			out.requests(launched.Start, requests)
			return out, nil
		}
	}
	return out, fmt.Errorf("%s ended with exit code %d, not one of %v", strings.Join(argv, " "), launched.Exit, want)
}

// launch runs a command through the launcher.
func (p *player) launch(ctx context.Context, dir string, env, argv []string) (launchResult, error) {
	var launched launchResult
	read, write, err := os.Pipe()
	if err != nil {
		return launched, fmt.Errorf("open a pipe: %w", err)
	}
	defer read.Close() //nolint:errcheck // only read from
	cmd := exec.CommandContext(ctx, p.self, append([]string{"__launch"}, argv...)...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, append(append([]string{}, p.env...), env...), []*os.File{write}
	output, err := cmd.CombinedOutput()
	_ = write.Close()
	if err != nil {
		return launched, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, output)
	}
	if err := json.NewDecoder(read).Decode(&launched); err != nil {
		return launched, fmt.Errorf("read the report on %s: %w", argv[0], err)
	}
	if launched.Exit != 0 && launched.Exit != 5 {
		return launched, fmt.Errorf(
			"%s ended with exit code %d:\n%s",
			strings.Join(argv, " "),
			launched.Exit,
			output[max(0, len(output)-2000):],
		)
	}
	return launched, nil
}

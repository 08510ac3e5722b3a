// Command home makes homes of many runs, and measures what plan takes to list, show,
// prove, copy and clean them, for bench/HOME.md:
//
//	home -make 2000 DIR
//	home -plan bin/plan DIR
//
// It is built of the commit that is measured, so that a home is as that commit leaves it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	runs := flag.Int("make", 0, "make a home of `N` runs, and measure nothing")
	program := flag.String("plan", "bin/plan", "measure the plan in `FILE`")
	flag.Parse()
	err := fmt.Errorf("name the directory of a home")
	switch {
	case flag.NArg() != 1:
	case *runs > 0:
		err = makeHome(context.Background(), flag.Arg(0), *runs)
	default:
		err = measure(context.Background(), os.Stdout, *program, flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "home:", err)
		os.Exit(1)
	}
}

// measure runs one command after the other and writes a row for each. The last one
// removes runs: a home is measured once.
func measure(ctx context.Context, to io.Writer, program, home string) error {
	out, err := os.MkdirTemp("", "plan-bench-home-")
	if err != nil {
		return fmt.Errorf("make a place to write to: %w", err)
	}
	defer os.RemoveAll(out) //nolint:errcheck // what is left is small
	long := string(runID(0))
	for _, c := range []struct {
		name string
		args []string
	}{
		{"version", []string{"version"}},
		{"list", []string{"list"}},
		{"show", []string{"show", long}},
		{"events (all of a journal, as resume reads it)", []string{"events", long}},
		{"export (a long run)", []string{"export", long, "-o", filepath.Join(out, "run.jsonl")}},
		{"doctor --db", []string{"doctor", "--db"}},
		{"backup", []string{"backup", filepath.Join(out, "plan.db")}},
		{"gc --keep 1000", []string{"gc", "--keep", "1000"}},
	} {
		if err := run(ctx, to, c.name, home, program, c.args); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, to io.Writer, name, home, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "PLAN_HOME="+home, "PLAN_MODEL=scripted")
	cmd.Stderr = io.Discard
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	wall, state := time.Since(began), cmd.ProcessState
	size := int64(0)
	if info, err := os.Stat(filepath.Join(home, "plan.db")); err == nil {
		size = info.Size()
	}
	_, err := fmt.Fprintf(to, "| %s | %s | %s | %s MB |\n", name, seconds(wall),
		seconds(state.UserTime()+state.SystemTime()), strconv.FormatInt(size/1e6, 10))
	if err != nil {
		return fmt.Errorf("write a row: %w", err)
	}
	return nil
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s" }

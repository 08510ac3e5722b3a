// Command tokens counts what plan sends to models in fixed conversations, beside
// an earlier version of it: the same repository, the same request, and a model that
// reads only what it was not shown. `make bench-tokens` puts it into bench/TOKENS.md.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/cmd/plan/demo"
	"github.com/plan-engine/plan/model/scripted"
)

//go:embed scenario.toml
var scenario []byte

func main() {
	now := flag.String("now", "bin/plan", "count what the plan in `FILE` sends")
	before := flag.String("before", "", "count the plan in `FILE` beside it, of before texts were handed over")
	name := flag.String("before-name", "before", "call that one `NAME`")
	out := flag.String("o", "", "write to `FILE` (default: standard output)")
	flag.Parse()
	programs := []program{{
		name: "now",
		path: *now,
		ways: []way{
			{"full", []string{"--way", "full"}},
			{"short", []string{"--way", "short"}},
			{"full, alone", []string{"--way", "full", "--auto-approve"}},
			{"short, alone", []string{"--way", "short", "--auto-approve"}},
			{"direct", []string{"--way", "direct"}},
		},
	}}
	if *before != "" {
		programs = append([]program{{
			name: *name,
			path: *before,
			ways: []way{{"full", nil}, {"direct", []string{"--auto"}}},
		}}, programs...)
	}
	if err := measureAll(context.Background(), programs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

// program is a version of plan, and what makes it go each way.
type program struct {
	name, path string
	ways       []way
}

type way struct {
	name string
	args []string
}

// measureAll plays each way with each program, and writes what was counted.
func measureAll(ctx context.Context, programs []program, out string) error {
	var tallies []*tally
	for _, p := range programs {
		path, err := filepath.Abs(p.path)
		if err != nil {
			return fmt.Errorf("find a program: %w", err)
		}
		for _, w := range p.ways {
			fmt.Fprintln(os.Stderr, p.name, w.name)
			requests, err := play(ctx, path, w.args)
			if err != nil {
				return fmt.Errorf("play the way %s with %s: %w", w.name, p.name, err)
			}
			t, err := count(requests)
			if err != nil {
				return fmt.Errorf("count the way %s of %s: %w", w.name, p.name, err)
			}
			t.program, t.way = p.name, w.name
			tallies = append(tallies, t)
		}
	}
	text := report(tallies)
	if out == "" {
		fmt.Print(text)
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644) //nolint:wrapcheck // names the file
}

// play makes one run in a repository and a home of its own, and returns what the
// model was sent.
func play(ctx context.Context, path string, args []string) (requests []scripted.Seen, err error) {
	work, err := os.MkdirTemp("", "plan-tokens-")
	if err != nil {
		return nil, fmt.Errorf("make a place to run in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	repo := filepath.Join(work, "repo")
	if err := demo.Unpack(ctx, repo); err != nil {
		return nil, err
	}
	s, err := scripted.Parse(scenario)
	if err != nil {
		return nil, fmt.Errorf("read the scenario: %w", err)
	}
	server, err := scripted.Start(ctx, s, scripted.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	args = slices.Concat([]string{"run"}, args, []string{demo.Request})
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = repo
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + os.Getenv("HOME"),
		"PLAN_HOME=" + filepath.Join(work, "home"),
		"PLAN_MODEL=scripted",
		"OPENAI_BASE_URL=" + server.URL(),
		"OPENAI_API_KEY=" + server.Key(),
		"LANG=C.UTF-8",
		"NO_COLOR=1",
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		return nil, fmt.Errorf("%w:\n%s", err, strings.Join(lines[max(len(lines)-20, 0):], "\n"))
	}
	return server.Requests(), nil
}

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
	"strings"
	"time"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
)

// events counts the events of the newest run of a home.
func (b *bench) events(ctx context.Context, home string) (int, error) {
	ask := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, b.plan, args...)
		cmd.Env, cmd.Dir = append(append([]string{}, b.env...), "PLAN_HOME="+home), b.work
		return cmd.Output()
	}
	listed, err := ask("list", "--json")
	var runs []struct{ ID string }
	if err == nil {
		err = json.Unmarshal(listed, &runs)
	}
	if err != nil || len(runs) == 0 {
		return 0, fmt.Errorf("find the run: %w", err)
	}
	out, err := ask("events", "--json", runs[0].ID)
	if err != nil {
		return 0, fmt.Errorf("count the events: %w", err)
	}
	return bytes.Count(out, []byte("\n")), nil
}

// trees is what a tree of its own costs a run.
func (b *bench) trees(ctx context.Context) ([]figure, error) {
	repo, err := b.repo(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(b.work, "old")
	got, err := b.play(ctx, 0, b.planned(repo, home), b.planned(repo, home, "--worktree"))
	if err != nil {
		return nil, err
	}
	var times []float64
	for i := range b.rounds {
		start := time.Now()
		dir := filepath.Join(b.work, fmt.Sprint("wt", i))
		if out, err := git(ctx, repo, "worktree", "add", "-q", "--detach", dir); err != nil {
			return nil, fmt.Errorf("git worktree add: %w\n%s", err, out)
		}
		times = append(times, milliseconds(time.Since(start)))
	}
	return []figure{{
		what:     "a tree of its own: what --worktree adds before the first request",
		unit:     "ms",
		ours:     medianOf(got[1], sample.started) - medianOf(got[0], sample.started),
		base:     median(times),
		baseline: "git worktree add",
	}}, nil
}

// searches are grep and glob over a large tree, beside programs that search.
func (b *bench) searches(ctx context.Context) (_ []figure, err error) {
	dir := filepath.Join(b.work, "large")
	if err := b.large(ctx, dir); err != nil {
		return nil, err
	}
	set, err := tools.New(tools.Config{Root: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	var out []figure
	for _, c := range []struct {
		what, tool, arg string
		programs        [][]string
	}{
		{"grep for a word", "grep", "needle42", [][]string{{"rg", "-n", "needle42"}, {
			"git", "grep", "-n",
			"--untracked", "needle42",
		}}},
		{"grep for a class", "grep", `[m-z]eedle\d+`, [][]string{{"rg", "-n", `[m-z]eedle\d+`}, {
			"git",
			"grep", "-nP", "--untracked", `[m-z]eedle\d+`,
		}}},
		{"glob", "glob", "**/*77.go", [][]string{{"rg", "--files", "-g", "*77.go"}, {
			"git", "ls-files",
			"--cached", "--others", "--exclude-standard", "*77.go",
		}}},
	} {
		for _, argv := range c.programs {
			if _, err := exec.LookPath(argv[0]); err != nil {
				continue // the report names it as missing
			}
			f, err := b.search(ctx, set, dir, c.tool, c.arg, argv)
			if err != nil {
				return nil, err
			}
			f.what = fmt.Sprintf("%s over %d files", c.what, b.files)
			out = append(out, f)
		}
	}
	return out, nil
}

// search runs a tool and a program by turns.
func (b *bench) search(
	ctx context.Context,
	set *tools.Set,
	dir, tool, pattern string,
	argv []string,
) (figure, error) {
	offered, err := set.Tools(tool)
	if err != nil {
		return figure{}, err
	}
	args, err := json.Marshal(map[string]string{"pattern": pattern})
	if err != nil {
		return figure{}, fmt.Errorf("call %s: %w", tool, err)
	}
	var ours, base []float64
	for round := range b.rounds + 1 {
		start := time.Now()
		res, err := offered[0].Run(ctx, loop.Input{Args: args, Update: func(string) {}})
		mine := time.Since(start)
		if err != nil || res.Error {
			return figure{}, fmt.Errorf("%s: %s: %w", tool, res.Output, err)
		}
		start = time.Now()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = dir
		if _, err := cmd.Output(); err != nil {
			return figure{}, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
		}
		if round > 0 {
			ours, base = append(ours, milliseconds(mine)), append(base, milliseconds(time.Since(start)))
		}
	}
	f := figure{
		unit:     "ms",
		ours:     median(ours),
		base:     median(base),
		baseline: argv[0],
	}
	if argv[0] == "rg" {
		f.mostRatio = 2
		if tool == "glob" {
			f.bound = "git, which reads its index twice at the same time, 15 to 20 ms of processor time each, where " +
				"ripgrep only reads directories; what is ignored stays git's word"
		}
	}
	return f, nil
}

// large makes the tree that is searched.
func (b *bench) large(ctx context.Context, dir string) error {
	for i := range b.files {
		sub := filepath.Join(dir, fmt.Sprintf("d%03d", i%500))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return fmt.Errorf("make a large tree: %w", err)
		}
		text := strings.Repeat(fmt.Sprintf("\tif err := do(%d); err != nil { return err }\n", i), 20)
		if i%1000 == 0 {
			text += "needle42\n"
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644); err != nil {
			return fmt.Errorf("make a large tree: %w", err)
		}
	}
	return commit(ctx, dir)
}

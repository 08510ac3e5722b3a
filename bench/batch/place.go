package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

const (
	request  = "Greet in a.txt"
	check    = "grep -q hello a.txt"
	planText = "# Plan: greet\n\n## Why\nNobody is greeted.\n\n## Files\n- a.txt — modified: a greeting\n\n## " +
		"Steps\n1. In `a.txt`, write hello for hi.\n\n## Verify\n~~~\n" + check + "\n~~~\n"
	verdict = `{"verdict": "DONE", "checklist": [{"item": "hello", "met": true, "evidence": "a.txt:1"}], "missing": [], "commands": []}`
)

// work is a model that does a job: it looks, plans, edits, runs a command, and
// approves.
func work() *scripted.Scenario {
	reply := func(phase plan.Phase, turn int, text string, calls ...scripted.Call) scripted.Reply {
		return scripted.Reply{
			Phase: string(phase),
			Turn:  new(turn),
			Text:  text,
			Calls: calls,
		}
	}
	call := func(name string, args map[string]any) scripted.Call { return scripted.Call{Name: name, Args: args} }
	return &scripted.Scenario{
		Name: "work",
		Replies: []scripted.Reply{
			reply(
				plan.Explore,
				0,
				"",
				call("read", map[string]any{"path": "a.txt"}),
				call("grep", map[string]any{"pattern": "hi"}),
			),
			reply(plan.Explore, 1, "The greeting is at a.txt:1."),
			reply(plan.Plan, 0, planText),
			reply(plan.Implement, 0, "", call("read", map[string]any{"path": "a.txt"})),
			reply(
				plan.Implement,
				1,
				"",
				call("edit", map[string]any{"path": "a.txt", "old_string": "hi", "new_string": "hello"}),
			),
			reply(plan.Implement, 2, "", call("bash", map[string]any{"command": check})),
			reply(plan.Implement, 3, "It greets."),
			reply(plan.Review, 0, "", call("bash", map[string]any{"command": check})),
			reply(plan.Review, 1, verdict),
		},
	}
}

// silence is a model that never answers.
func silence() *scripted.Scenario {
	return &scripted.Scenario{
		Name: "silence",
		Replies: []scripted.Reply{
			{
				Text: "Never said.",
				Fault: &scripted.Fault{
					Kind:        scripted.FaultHang,
					Times:       new(0),
					AfterChunks: new(0),
				},
			},
		},
	}
}

// plant makes n repositories, each a copy of one with a few files.
func (b *bench) plant(ctx context.Context, n int) error {
	b.env = []string{
		"PATH=" + os.Getenv(
			"PATH",
		), "HOME=" + filepath.Join(b.work, "user"), "LANG=C.UTF-8", "NO_COLOR=1", "PLAN_MODEL=" + scripted.Model,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	}
	first := filepath.Join(b.work, "repos", "r0")
	if err := os.MkdirAll(first, 0o755); err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	files := map[string]string{"a.txt": "hi\n"}
	for i := range 20 {
		files[fmt.Sprintf("f%02d.txt", i)] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(first, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("make a repository: %w", err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "--template="},
		{"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-q", "-m", "start"},
	} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", first}, args...)...)
		cmd.Env = b.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make a repository: git %s: %w: %s", args[0], err, out)
		}
	}
	b.repos = []string{first}
	for i := 1; i < n; i++ {
		dir := filepath.Join(b.work, "repos", fmt.Sprint("r", i))
		if err := os.CopyFS(dir, os.DirFS(first)); err != nil {
			return fmt.Errorf("make a repository: %w", err)
		}
		b.repos = append(b.repos, dir)
	}
	return nil
}

// url is where a job finds its repository: workers of a queue take URLs alone.
func (b *bench) url(i int) string {
	if b.measure != nil {
		return "file://" + b.repos[i]
	}
	return b.repos[i]
}

// home makes a home for one measurement, with a list of n jobs, one for each
// repository.
func (b *bench) home(n int) (home, list string, err error) {
	if home, err = os.MkdirTemp(b.work, "home-"); err != nil {
		return "", "", fmt.Errorf("make a home: %w", err)
	}
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(
			&text,
			"{\"id\":\"j%d\",\"repo\":%q,\"request\":%q,\"checks\":[%q]}\n",
			i,
			b.url(i),
			request,
			check,
		)
	}
	list = filepath.Join(home, "jobs.jsonl")
	if err := os.WriteFile(list, []byte(text.String()), 0o600); err != nil {
		return "", "", fmt.Errorf("write the jobs: %w", err)
	}
	return home, list, nil
}

// command is plan in a home, with a model.
func (b *bench) command(ctx context.Context, home string, server *scripted.Server, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.plan, args...)
	cmd.Dir = home
	cmd.Env = append(append([]string{}, b.env...), "PLAN_HOME="+home)
	if server != nil {
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY="+server.Key())
	}
	return cmd
}

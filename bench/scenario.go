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

// explorationScript is a model that explores with turns turns of each reads, of another file
// every time, and then plans in one answer.
func explorationScript(turns, each int) *scripted.Scenario {
	s := &scripted.Scenario{Name: fmt.Sprint(turns, " reads")}
	for i := range turns {
		reply := scripted.Reply{Phase: string(plan.Explore), Turn: new(i)}
		for j := range each {
			reply.Calls = append(reply.Calls, scripted.Call{
				Name: "read",
				Args: map[string]any{"path": fileName(i*each + j)},
			})
		}
		s.Replies = append(s.Replies, reply)
	}
	s.Replies = append(s.Replies,
		scripted.Reply{
			Phase: string(plan.Explore),
			Text:  "**What is asked.** A header for every file. **Where.** `f000.txt:1` and its like.",
		},
		scripted.Reply{Phase: string(plan.Plan), Text: planText},
	)
	return s
}

const planText = `# Plan: a header for f000.txt

## Why
The file has no header. Afterwards it has one.

## Files
- f000.txt — modified: a header as its first line

## Steps
1. In ` + "`f000.txt`" + `, put the line "header" before line 1. Risk: none; nothing reads the file.

## Verify
~~~
head -1 f000.txt
~~~
`

func fileName(i int) string { return fmt.Sprintf("f%03d.txt", i) }

// makeRepo makes a committed repository of n small files.
func makeRepo(ctx context.Context, dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	for i := range n {
		text := strings.Repeat(fmt.Sprintf("this is a line of file %d\n", i), 12)
		if err := os.WriteFile(filepath.Join(dir, fileName(i)), []byte(text), 0o644); err != nil {
			return fmt.Errorf("make a repository: %w", err)
		}
	}
	return commit(ctx, dir)
}

// commit makes a repository of what is in dir.
func commit(ctx context.Context, dir string) error {
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-q", "-m", "files"},
	} {
		if out, err := git(ctx, dir, args...); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	return cmd.CombinedOutput() //nolint:wrapcheck // the caller says what it was for
}

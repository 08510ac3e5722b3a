package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// finding is one thing that doctor looked at.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"` // what to do about it
	// Needed says that plan cannot run without it.
	Needed bool `json:"needed"`
}

func (a *app) doctorCommand() *cobra.Command {
	var onlyDB bool
	var probe probe
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what plan needs, and say what to do about what is missing",
		Long: `Doctor checks git, the shell, what the kernel offers for walls, the database, the
configuration and the models: the model of each phase is asked to call a tool and
then to answer, as a run does, which costs a few hundred tokens. It exits with 1
if something that plan needs is missing.

With --provider it looks at that provider alone, and asks the model that a phase
uses there, the one that --model names, or the first that the server offers. With
--record it keeps what was said, without keys, in a file that can be sent with a
bug report and played again.

With --db it looks at the database alone, and reads all of it: the structure of
the file, the hash chain of every journal, and every blob.`,
		Example: `  plan doctor
  plan doctor --db
  plan doctor --provider deepseek --record deepseek.jsonl
  plan -C ../other doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onlyDB {
				return a.diagnosis(a.auditDB(cmd.Context()))
			}
			if probe.provider != "" {
				return a.diagnosis(a.checkModels(cmd.Context(), probe))
			}
			return a.doctor(cmd.Context(), probe)
		},
	}
	cmd.Flags().BoolVar(&onlyDB, "db", false, "only the database, and all of it")
	cmd.Flags().StringVar(&probe.provider, "provider", "", "only the provider `NAME`")
	cmd.Flags().StringVar(&probe.model, "model", "", "`NAME` of the model to ask")
	cmd.Flags().StringVar(&probe.record, "record", "", "keep what was said in `FILE`")
	cmd.MarkFlagsMutuallyExclusive("db", "provider")
	cmd.MarkFlagsMutuallyExclusive("db", "record")
	return cmd
}

func (a *app) doctor(ctx context.Context, p probe) error {
	var found []finding
	found = append(found, a.checkGit(ctx), a.checkShell(), a.checkRepo(ctx))
	found = append(found, a.checkWalls(ctx)...)
	found = append(found, a.checkDB(ctx)...)
	found = append(found, a.checkModels(ctx, p)...)
	return a.diagnosis(found)
}

// diagnosis reports findings, and fails if something that is needed is missing.
func (a *app) diagnosis(found []finding) error {
	healthy := true
	for _, f := range found {
		healthy = healthy && (f.OK || !f.Needed)
	}
	if err := a.report(found, healthy); err != nil {
		return err
	}
	if !healthy {
		return &exit{code: plan.ExitFailed}
	}
	return nil
}

func (a *app) report(found []finding, healthy bool) error {
	if a.json {
		return a.document(map[string]any{"ok": healthy, "findings": found})
	}
	for _, f := range found {
		word := "ok     "
		switch {
		case !f.OK && f.Needed:
			word = "MISSING"
		case !f.OK:
			word = "note   "
		}
		fmt.Fprintf(a.out, "%s  %-10s %s\n", word, f.Name, render.SafeLine(f.Detail))
		if f.Do != "" && !f.OK {
			fmt.Fprintf(a.out, "%20s %s\n", "→", render.SafeLine(f.Do))
		}
	}
	return nil
}

func (a *app) checkGit(ctx context.Context) finding {
	f := finding{Name: "git", Needed: true}
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		f.Detail, f.Do = "git does not run: "+err.Error(), "Install git and put it on the PATH."
		return f
	}
	f.OK, f.Detail = true, strings.TrimSpace(string(out))
	return f
}

func (a *app) checkShell() finding {
	f := finding{Name: "shell", Needed: true}
	shell, err := sandbox.New(sandbox.Config{Env: a.environ, Path: os.Getenv("PATH")})
	if err != nil {
		f.Detail, f.Do = err.Error(), "Install bash."
		return f
	}
	f.OK, f.Detail = true, shell.Path()
	if !strings.HasSuffix(f.Detail, "bash") {
		f.OK, f.Needed = false, false
		f.Detail += ": without bash the status of a pipe is that of its last command"
		f.Do = "Install bash, so that `make test | tee log` fails when make does."
	}
	return f
}

func (a *app) checkRepo(ctx context.Context) finding {
	f := finding{Name: "repository"}
	repo, err := worktree.Open(ctx, a.dir)
	if err != nil {
		f.Detail, f.Do = err.Error(), "`plan run` needs a git repository with a commit; name one with -C."
		return f
	}
	f.OK, f.Detail = true, repo.Root()
	return f
}

// checkWalls says what the kernel offers for keeping a phase read-only.
func (a *app) checkWalls(ctx context.Context) []finding {
	var out []finding
	for _, feature := range sandbox.Features(ctx) {
		out = append(out, finding{
			Name:   feature.Name,
			OK:     feature.OK,
			Detail: feature.Detail,
		})
	}
	return append(out, a.wallsFinding(ctx))
}

func (a *app) checkDB(ctx context.Context) []finding {
	f := finding{Name: "database", Needed: true}
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		f.Detail, f.Do = err.Error(), "Set PLAN_HOME or HOME."
		return []finding{f}
	}
	db, err := memory.Open(ctx, memory.Config{
		Path:  paths.DB,
		Locks: paths.Locks,
		Now:   a.now,
	})
	if err != nil {
		f.Detail, f.Do = err.Error(), doForDB(err)
		return []finding{f}
	}
	place := onFileSystem(db)
	err = errors.Join(db.Check(ctx), db.Close())
	if err != nil {
		f.Detail, f.Do = err.Error(), doForDB(err)
		return []finding{f}
	}
	f.OK, f.Detail = true, paths.DB
	return []finding{f, place}
}

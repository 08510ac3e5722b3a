// Package doctor looks at what plan needs (git, a shell, a repository, walls, the
// database, models), and says what to do about what is missing. It changes nothing
// but what opening a home changes.
//
// It must not know who asks, or how what it found is shown.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
	"github.com/plan-engine/plan/worktree/git"
)

// Finding is one thing that was looked at.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"` // what to do about it
	// Needed says that plan cannot run without it.
	Needed bool `json:"needed"`
}

// Healthy reports whether nothing is missing that plan needs.
func Healthy(findings []Finding) bool {
	for _, f := range findings {
		if !f.OK && f.Needed {
			return false
		}
	}
	return true
}

// Doctor looks at a home and what is around it.
type Doctor struct {
	Host *host.Host
	Dir  string // where the repository is looked for

	environ []string
	now     func() time.Time
}

// New makes a doctor for a home, and the repository at dir.
func New(ctx context.Context, h *host.Host, dir string) Doctor {
	c := h.Connector(ctx, dir)
	return Doctor{
		Host:    h,
		Dir:     dir,
		environ: c.Environ,
		now:     c.Now,
	}
}

// All looks at everything.
func (d Doctor) All(ctx context.Context, p Probe) []Finding {
	findings := []Finding{d.checkGit(ctx), d.checkShell(ctx), d.checkRepo(ctx)}
	findings = append(findings, d.checkWalls(ctx)...)
	findings = append(findings, d.checkReach(ctx)...)
	findings = append(findings, d.checkDB(ctx)...)
	findings = append(findings, d.checkLeft(ctx)...)
	return append(findings, d.Models(ctx, p)...)
}

// checkLeft says what killed processes have left, one finding each. Without a database
// that opens there is nothing to compare with, and another finding says so.
func (d Doctor) checkLeft(ctx context.Context) []Finding {
	left, err := d.Host.Leftovers(ctx, true)
	if err != nil {
		return []Finding{{Name: "left behind", Detail: err.Error()}}
	}
	var out []Finding
	for _, l := range host.Remarkable(left) {
		f := Finding{
			Name:   "left behind",
			Detail: fmt.Sprintf("%s %s, %s", l.Kind, l.Name, amount.Bytes(l.Bytes)),
			Do:     "`plan journal gc` removes it.",
		}
		if l.Of != "" {
			f.Detail += ", of " + l.Of
		}
		if l.Stays != "" {
			f.Do = l.Stays
		}
		out = append(out, f)
	}
	return out
}

func (d Doctor) checkGit(ctx context.Context) Finding {
	f := Finding{Name: "git", Needed: true}
	program, ok := git.Find("", d.Host.Avoid(ctx))
	if !ok {
		f.Detail, f.Do = "git does not run: "+worktree.ErrNoGit.Error(), "Install git and put it on the PATH."
		return f
	}
	version, err := program.Version(ctx)
	if err != nil {
		f.Detail, f.Do = "git does not run: "+err.Error(), "Install git and put it on the PATH."
		return f
	}
	f.OK, f.Detail = true, version
	if err := git.Confined(); err != nil {
		f.Detail += "; the kernel does not keep it from the network and from keys: " + err.Error()
	}
	return f
}

func (d Doctor) checkShell(ctx context.Context) Finding {
	f := Finding{Name: "shell", Needed: true}
	shell, err := sandbox.New(sandbox.Config{Env: d.environ, Path: d.Host.Searched(ctx, d.Dir)})
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

func (d Doctor) checkRepo(ctx context.Context) Finding {
	f := Finding{Name: "repository"}
	repo, err := worktree.Open(ctx, d.Dir, d.Host.Avoid(ctx))
	if err != nil {
		f.Detail, f.Do = err.Error(), "`plan run` needs a git repository with a commit; name one with -C."
		return f
	}
	f.OK, f.Detail = true, repo.Root()
	if paths, err := d.Host.Paths(); err == nil && repo.Unfinished(paths.Locks) {
		f.OK = false
		f.Detail += ": a command is changing its files, or died while it did"
		f.Do = "If none is at work, the next `plan apply`, `restore`, `run` or `resume` there finishes the change."
	}
	return f
}

// checkWalls says what the kernel offers for keeping a phase read-only.
func (d Doctor) checkWalls(ctx context.Context) []Finding {
	var out []Finding
	for _, feature := range sandbox.Features(ctx) {
		out = append(out, Finding{
			Name:   feature.Name,
			OK:     feature.OK,
			Detail: feature.Detail,
		})
	}
	return append(out, d.wallsFinding(ctx))
}

// wallsFinding says what commands run behind.
func (d Doctor) wallsFinding(ctx context.Context) Finding {
	f := Finding{Name: "walls"}
	shell, err := sandbox.New(sandbox.Config{Env: d.environ, Path: d.Host.Searched(ctx, d.Dir)})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	level, why := sandbox.Strongest(ctx, shell, d.environ)
	f.OK = level != sandbox.LevelNone
	switch level {
	case sandbox.LevelNamespaces:
		f.Detail = "namespaces: commands run behind namespaces, an overlay, Landlock and seccomp; " +
			"a write was tried and did not get out"
	case sandbox.LevelBubblewrap:
		f.Detail = "bubblewrap: commands of reviews and checks run in a copy of the tree " +
			"behind bwrap, Landlock and seccomp"
	case sandbox.LevelLandlock:
		f.Detail = "landlock: commands of reviews and checks run in a copy of the tree behind Landlock and seccomp; " +
			"chmod and touch on your own files are only noticed; " +
			"Implement can write .git, unless it has a tree of its own (--worktree): " +
			"hooks and settings are put back at its end"
	case sandbox.LevelSeatbelt:
		f.Detail = "sandbox-exec: commands of reviews and checks run in a copy of the tree under a profile; " +
			"a write was tried and did not get out; what leaves its process group lives on " +
			"(nobody has tried this level on a Mac beyond that)"
	case sandbox.LevelNone:
		f.Detail = "none: reviews and checks run in a copy of the tree, and commands can reach what you can reach"
		f.Do = (&sandbox.Refusal{}).Hint()
	}
	if len(why) > 0 {
		f.Detail += "; not used: " + strings.Join(why, "; ")
	}
	return f
}

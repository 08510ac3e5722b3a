package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
	"github.com/plan-engine/plan/worktree/git"
)

// mostNamed bounds how many names a finding lists.
const mostNamed = 20

// checkReach says which programs of the checks are not reached behind a wall although
// they are outside of it, and which variables commands do not get.
func (d Doctor) checkReach(ctx context.Context) []Finding {
	repo, err := worktree.Open(ctx, d.Dir, d.Host.Avoid(ctx))
	if err != nil {
		return nil // checkRepo says why
	}
	settings, err := d.Host.Settings(repo.Root(), config.Config{})
	if err != nil {
		return nil // Models says why
	}
	env, set := walls.Environment(settings, d.environ)
	shell, err := sandbox.New(sandbox.Config{
		Env:  env,
		Set:  set,
		Path: d.Host.Searched(ctx, d.Dir),
	})
	if err != nil {
		return nil // checkShell says why
	}
	out := []Finding{environmentFinding(settings, d.environ, shell.Env())}
	programs := checkPrograms(settings, repo.Root())
	if len(programs) == 0 || settings.Sandbox == "off" {
		return out
	}
	f := Finding{Name: "programs"}
	missing, err := d.unreached(ctx, repo, settings, shell, programs)
	switch {
	case err != nil:
		f.Detail = fmt.Sprintf("could not be tried behind a wall: %v", err)
	case len(missing) > 0:
		f.Detail = "they run, but not behind a wall: " + strings.Join(missing, "; ")
		f.Do = `Show what they are made of: in config.toml, [walls] show = ["~/…"].`
	default:
		f.OK, f.Detail = true, strings.Join(programs, ", ")+": what the checks name is reached behind a wall as without"
	}
	return append(out, f)
}

// environmentFinding says which environment commands get.
func environmentFinding(settings config.Config, environ, env []string) Finding {
	f := Finding{
		Name:   "environment",
		OK:     true,
		Detail: "minimal",
	}
	if settings.Walls.Inherits() {
		f.Detail = "inherited"
	}
	names := sandbox.WithheldEnv(environ, env)
	if len(names) == 0 {
		return f
	}
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	f.Detail += ": commands do not get " + strings.Join(names, ", ") + more +
		"; name in [walls] allow_env what they need"
	return f
}

// checkPrograms lists the programs that the checks of a repository name.
func checkPrograms(settings config.Config, root string) []string {
	lines := append([]string{settings.Checks.Setup}, settings.Checks.Required...)
	for _, c := range settings.Checks.Run {
		lines = append(lines, c.Command)
	}
	if detect := settings.Checks.Detect; len(settings.Checks.Required) == 0 && (detect == nil || *detect) {
		for _, c := range checks.Detect(root) {
			lines = append(lines, c.Command)
		}
	}
	var out []string
	for _, line := range lines {
		for _, name := range checks.Programs(line) {
			if mayBeTried(name, root) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// mayBeTried reports whether a program is one of the machine, by its name alone or where
// it lies: one of the tree may do anything when it is called.
func mayBeTried(name, root string) bool {
	return !strings.Contains(name, "/") || filepath.IsAbs(name) && !git.Inside(name, root)
}

// tryProgram tries one program in a room: it fails with 126 or 127 where a shell, or a
// program that stands in for another, does not find what is to be run.
const tryProgram = `p=%s
case $(command -v -- "$p") in "") exit 127;; /*) ;; *) exit 0;; esac
"$p" --version </dev/null
case $? in 126) exit 126;; 127) exit 127;; *) exit 0;; esac`

// unreached lists the programs that are found with the home in sight, and not behind the
// wall that commands run behind. Both rooms are those of reviews: what is tried changes
// nothing, and has no network.
func (d Doctor) unreached(
	ctx context.Context,
	repo *worktree.Repo,
	settings config.Config,
	shell *sandbox.Shell,
	programs []string,
) (missing []string, err error) {
	paths, err := d.Host.Paths()
	if err != nil {
		return nil, err
	}
	var background sync.WaitGroup
	defer background.Wait()
	w, err := walls.New(ctx, walls.Config{
		Settings: settings,
		Repo:     func() *worktree.Repo { return repo },
		Shell:    shell,
		Env:      settings.ForChildren(d.environ),
		Home:     paths.Home,
		Homes:    d.Host.Homes(),
		Now:      d.now,
		Note:     func(string) {},
		CopyTree: func(ctx context.Context) (string, func() error, error) {
			v, err := repo.View(ctx)
			if err != nil {
				return "", nil, err
			}
			return v.Dir, v.Close, nil
		},
		Background: background.Go,
	})
	if err != nil {
		return nil, err
	}
	if !w.Hold() { // it would run as the user, in a tree that says what it runs
		return nil, errors.New("no wall holds here")
	}
	inside, err := w.PhaseRoom(ctx, plan.Review, plan.Trees{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, inside.Close()) }()
	outside, err := w.OpenHomeRoom(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, outside.Close()) }()
	for _, name := range programs {
		with, err := tryIn(ctx, outside, name)
		if err != nil || with.ExitCode != 0 {
			continue // it is not there at all
		}
		without, err := tryIn(ctx, inside, name)
		if err != nil {
			return nil, err
		}
		if without.ExitCode != 0 {
			missing = append(missing, strings.TrimSpace(name+" "+lastLine(without.Output)))
		}
	}
	return missing, nil
}

func tryIn(ctx context.Context, room phases.Room, name string) (sandbox.Result, error) {
	return room.Shell.Run(ctx, sandbox.Command{
		Line:    fmt.Sprintf(tryProgram, "'"+strings.ReplaceAll(name, "'", `'\''`)+"'"),
		Dir:     room.Dir,
		Timeout: 20 * time.Second,
	})
}

// lastLine is the last line of an output, in brackets.
func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	last := lines[len(lines)-1]
	if note, ok := strings.CutPrefix(last, "["); ok {
		last = strings.TrimSuffix(note, "]")
	}
	return "(" + last + ")"
}

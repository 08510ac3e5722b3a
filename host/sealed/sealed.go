// Package sealed makes places for commands of the user's own that run in the open, with
// the user's network, and some with the user's keys: hooks that are outside of walls, and
// what publishes. What a model has changed must not run there, and there is no telling
// what a command runs: a line of a shell leads to files by variables, links, Makefiles
// and what these call in turn.
//
// So such a command does not see the work at the place of the work tree. It sees the files
// of the snapshot that the work began from, whatever path leads there; the tree as it is
// now lies elsewhere, at $PLAN_TREE, where only what is written for it looks. Where the
// system can put no folder in the place of another, the command runs in the copy.
//
// The package must not know what hooks and publications are.
package sealed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// treeVar is where commands find the work tree as it is now.
const treeVar = "PLAN_TREE"

// Spec says what a place should be like.
type Spec struct {
	Repo *worktree.Repo
	// Tree is what commands see: the snapshot that the work began from. What it does not
	// hold, such as ignored files, may be added if it has not changed since Began.
	Tree  string
	Began time.Time
	// Shell is how the commands run, but for what they see.
	Shell sandbox.Config
	// Homes are folders that commands need as they are: they cannot be hidden.
	Homes []string
	// Copied has commands run in the copy, as where there is no other way.
	Copied bool
}

// Place is where commands run.
type Place struct {
	Dir   string // as they see it
	Shell *sandbox.Shell
	// Swapped says that every path of the work tree leads to its copy.
	Swapped bool

	spec   Spec
	copied string
	folder *scratch.Folder
}

// Open makes a place.
func Open(ctx context.Context, spec Spec) (*Place, error) {
	if spec.Tree == "" {
		return nil, errors.New("what the work tree was when the run began is not known")
	}
	if spec.Shell.Env == nil {
		spec.Shell.Env = os.Environ()
	}
	folder, err := scratch.New("", scratch.Hook)
	if err != nil {
		return nil, fmt.Errorf("make room for the work tree as it was: %w", err)
	}
	p := &Place{
		spec:   spec,
		folder: folder,
	}
	if err := p.fill(ctx); err != nil {
		return nil, fmt.Errorf("lay out the work tree as it was: %w", errors.Join(err, p.Close()))
	}
	return p, nil
}

// Close removes the place.
func (p *Place) Close() error { return p.folder.Close() }

func (p *Place) fill(ctx context.Context) error {
	at, err := filepath.EvalSymlinks(p.folder.Dir)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	root := p.spec.Repo.Root()
	p.copied = filepath.Join(at, "seen", filepath.Base(root))
	data, common, now := filepath.Join(at, "git"), filepath.Join(at, "common"), filepath.Join(at, "now")
	for _, dir := range []string{p.copied, data, common, now} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err //nolint:wrapcheck // names the path
		}
	}
	if err := p.spec.Repo.CheckOutApart(ctx, p.spec.Tree, p.copied, data, common); err != nil {
		return err
	}
	hides := func(dir string) bool { return dir != "" && subpath.Within(root, dir) }
	if !p.spec.Copied && !slices.ContainsFunc(append(slices.Clone(p.spec.Homes), at), hides) {
		err := p.swap(ctx, now, common)
		if !errors.Is(err, sandbox.ErrNoSwap) {
			return err
		}
	}
	if err := errors.Join(os.Remove(common), os.Symlink(p.spec.Repo.CommonDir(), common)); err != nil {
		return err
	}
	return p.stay()
}

// swap has every path of the work tree lead to the copy. The work tree and the data of its
// repository are at places of their own.
func (p *Place) swap(ctx context.Context, now, common string) error {
	root, cfg := p.spec.Repo.Root(), p.spec.Shell
	cfg.Set = append(slices.Clone(cfg.Set), treeVar+"="+now)
	cfg.Swaps = []sandbox.Swap{
		{At: now, From: root},
		{At: common, From: p.spec.Repo.CommonDir()},
		{
			At:       root,
			From:     p.copied,
			ReadOnly: true,
		},
	}
	shell, err := sandbox.New(cfg)
	if err == nil {
		_, err = shell.Run(ctx, sandbox.Command{Line: ":", Dir: root})
	}
	if err == nil {
		p.Dir, p.Shell, p.Swapped = root, shell, true
	}
	return err
}

// stay has commands run in the copy. What PATH has of the work tree they find there.
func (p *Place) stay() error {
	root, cfg := p.spec.Repo.Root(), p.spec.Shell
	dirs := filepath.SplitList(config.Lookup(cfg.Env, "PATH"))
	for i, dir := range dirs {
		if rel, ok := subpath.Of(root, dir); ok {
			dirs[i] = filepath.Join(p.copied, rel)
		}
	}
	path := "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
	cfg.Set = append(slices.Clone(cfg.Set), treeVar+"="+root, path)
	shell, err := sandbox.New(cfg)
	if err != nil {
		return err
	}
	p.Dir, p.Shell = p.copied, shell
	return nil
}

// Admit makes ready for a command line, which names files of the work tree that git may
// ignore: they are added as they are now, where they have not changed since the work
// began. It refuses a line that leads to what is there now.
func (p *Place) Admit(ctx context.Context, line string, names []string) error {
	if root := p.spec.Repo.Root(); !p.Swapped && strings.Contains(line, root) {
		return fmt.Errorf("it names %s, where the work is: here no folder can be put in the place of another, so name "+
			"what it runs relative to the folder it runs in, and $%s where it is to see the work", root, treeVar)
	}
	now, err := os.OpenRoot(p.spec.Repo.Root())
	if err != nil {
		return fmt.Errorf("read the work tree: %w", err)
	}
	defer now.Close() //nolint:errcheck // only read from
	copied, err := os.OpenRoot(p.copied)
	if err != nil {
		return fmt.Errorf("read the work tree as it was: %w", err)
	}
	defer copied.Close() //nolint:errcheck // what is written is closed by itself
	var added []string
	for _, name := range names {
		name = filepath.FromSlash(name)
		if _, err := copied.Lstat(name); err == nil {
			continue
		}
		if err := add(now, copied, name); err != nil {
			return fmt.Errorf("add %s to the work tree as it was: %w", name, err)
		}
		added = append(added, name)
	}
	if len(added) == 0 {
		return nil
	}
	// They are looked at behind the copying: what changed meanwhile has changed by then.
	for _, name := range p.spec.Repo.Unlike(ctx, p.spec.Tree, p.spec.Began, added) {
		if err := copied.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("take out what has changed: %w", err)
		}
	}
	return nil
}

// add copies a file. What is no file of its own is left out.
func add(from, to *os.Root, name string) error {
	info, err := from.Lstat(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	in, err := plainfile.OpenIn(from, name)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	if err := to.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	// A child that is being forked meanwhile would hold it open for writing, and what is
	// open for writing cannot be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o400)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

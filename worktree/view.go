package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/worktree/git"
)

// View is a throw-away copy of a work tree: commands can do in it what they
// like, and the real one does not change.
type View struct {
	// Dir is the top of the copy. Its last part is that of the original.
	Dir string
	// Skipped names what could not be copied, relative with slashes: sockets,
	// pipes, devices, and files that may not be read.
	Skipped []string

	folder *scratch.Folder
}

// View copies the work tree as it is, ignored files included, because builds
// need them, with permissions, times and symbolic links. The copy shares no
// file with the original. It is a repository of its own at the same commit and
// branch, with the same index, branches and tags, but without remotes and
// hooks: git status, log and diff work in it, and a commit made there stays
// there. It borrows the original's objects, so it must not outlive it.
//
// Linked worktrees and submodules in it are plain directories. When ctx ends,
// what was copied is removed.
func (r *Repo) View(ctx context.Context) (*View, error) {
	folder, err := scratch.New(r.scratch(), scratch.View)
	if err != nil {
		return nil, fmt.Errorf("copy work tree %q: %w", r.root, err)
	}
	v := &View{
		Dir:    filepath.Join(folder.Dir, cmp.Or(strings.Trim(filepath.Base(r.root), "/"), "root")),
		folder: folder,
	}
	if err := r.fill(ctx, v); err != nil {
		return nil, fmt.Errorf("copy work tree %q: %w", r.root, errors.Join(err, v.Close()))
	}
	return v, nil
}

func (r *Repo) fill(ctx context.Context, v *View) error {
	if err := os.Mkdir(v.Dir, 0o700); err != nil {
		return fmt.Errorf("make the top: %w", err)
	}
	if err := r.seedGit(ctx, v.Dir); err != nil {
		return err
	}
	var err error
	v.Skipped, err = copyTree(ctx, r.root, v.Dir)
	return err
}

// Close removes the copy. Closing twice is fine.
func (v *View) Close() error { return v.folder.Close() }

// viewConfig are the settings of every view's repository: no hooks, nothing in
// the background, no signatures, which would need the user's keys.
const viewConfig = `[core]
	hooksPath = /dev/null
	fsmonitor = false
	untrackedCache = false
[gc]
	auto = 0
[maintenance]
	auto = false
[commit]
	gpgSign = false
[tag]
	gpgSign = false
`

// seedGit makes dir a repository that looks like r and borrows its objects.
func (r *Repo) seedGit(ctx context.Context, dir string) error {
	head, err := r.Head(ctx)
	if err != nil {
		return err
	}
	branch, err := r.Branch(ctx)
	if err != nil {
		return err
	}
	refs, err := r.git.Run(ctx, git.Call{
		Dir: r.root,
		Args: []string{
			"for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/", "refs/tags/", "refs/remotes/",
		},
	})
	if err != nil {
		return fmt.Errorf("read refs: %w", err)
	}
	config, err := r.localConfig(ctx)
	if err != nil {
		return err
	}
	init := []string{"-c", "init.defaultRefFormat=files", "init", "-q", "--template="}
	if len(head) == 64 {
		init = append(init, "--object-format=sha256")
	}
	if _, err := r.git.Run(ctx, git.Call{Dir: dir, Args: init}); err != nil {
		return err
	}
	own := filepath.Join(dir, ".git")
	at := head
	if strings.Contains(refs, " refs/heads/"+branch+"\n") {
		at = "ref: refs/heads/" + branch
	}
	return errors.Join(
		write(own, "HEAD", at+"\n"),
		write(own, "packed-refs", refs),
		write(own, "objects/info/alternates", quoteAlternate(filepath.Join(r.common, "objects"))+"\n"),
		appendTo(own, "config", viewConfig+config),
		r.copyInto(own),
	)
}

// copyInto copies the files of the git directory that say what is tracked,
// ignored and known of the history.
func (r *Repo) copyInto(git string) error {
	files := map[string]string{ // to → from
		"index":           filepath.Join(r.gitDir, "index"),
		"shallow":         filepath.Join(r.common, "shallow"),
		"info/exclude":    filepath.Join(r.common, "info/exclude"),
		"info/attributes": filepath.Join(r.common, "info/attributes"),
	}
	shared, err := filepath.Glob(filepath.Join(escapeGlob(r.gitDir), "sharedindex.*"))
	if err != nil {
		return fmt.Errorf("find the parts of a split index: %w", err)
	}
	for _, from := range shared {
		files[filepath.Base(from)] = from
	}
	for to, from := range files {
		to = filepath.Join(git, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
		if err := copyIndex(from, to); err != nil {
			return err
		}
	}
	return nil
}

// localConfig is the part of the repository's own settings that decides
// whether a file counts as changed, as the text of a config file.
func (r *Repo) localConfig(ctx context.Context) (string, error) {
	out, err := r.run(ctx, "config", "--list", "-z", "--show-scope")
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	var b strings.Builder
	fields := splitNUL(out)
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, set := strings.Cut(fields[i+1], "\n")
		if scope := fields[i]; scope != "local" && scope != "worktree" || !inView(key) {
			continue
		}
		if !set {
			value = "true"
		}
		b.WriteString(configEntry(key, value))
	}
	return b.String(), nil
}

// inView reports whether a view needs the setting.
func inView(key string) bool {
	switch key {
	case "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode",
		"core.excludesfile", "core.attributesfile", "user.name", "user.email":
		return true
	}
	return strings.HasPrefix(key, "filter.")
}

// configEntry writes one setting as a section of a config file.
func configEntry(key, value string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	section := key[:first]
	if first < last {
		section += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key[first+1:last]) + `"`
	}
	return fmt.Sprintf("[%s]\n\t%s = \"%s\"\n", section, key[last+1:], quote.Replace(value))
}

// quoteAlternate writes a directory as a line of objects/info/alternates.
func quoteAlternate(dir string) string {
	if !strings.ContainsAny(dir, "\n\"") {
		return dir
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(dir) + `"`
}

// escapeGlob makes a directory's name safe to begin a pattern with.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func write(dir, name, text string) error {
	err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
	if err != nil {
		return fmt.Errorf("set up git: %w", err)
	}
	return nil
}

func appendTo(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("set up git: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("set up git: %w", err)
	}
	return nil
}

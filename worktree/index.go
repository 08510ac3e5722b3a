package worktree

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/plainfile"
)

// keptPrefix begins the names of the private indexes that are kept in the git
// directory of a work tree. What follows says which state of the user's index
// they were made from.
const keptPrefix = "plan-index-"

// seed is the index to begin with.
type seed struct {
	index string
	keep  string // under which it may be kept afterwards, "" for not at all
	// good reports whether it leads to the same tree as the user's index, and asks says that
	// it asks git for that: the index is not a copy of the user's.
	good func(ctx context.Context) (bool, error)
	asks bool
}

// seedIndex makes the index to begin with: the one that was kept, if there is
// one. It stands for the user's as long as that one has not changed and no file
// in either is ignored: then both lead to the same tree.
func (r *Repo) seedIndex(t *treeWriter, fromKept bool) (seed, error) {
	s := seed{index: t.newIndex(), good: func(context.Context) (bool, error) { return true, nil }}
	users := filepath.Join(r.gitDir, "index")
	mark, err := indexMark(users)
	if err != nil || mark == "" {
		return s, err
	}
	s.keep = filepath.Join(r.gitDir, keptPrefix+mark)
	if !fromKept || !exists(r.gitDir, filepath.Base(s.keep)) {
		return s, copyIndex(users, s.index)
	}
	// Under a name of its own: the kept one may be replaced meanwhile.
	copied := t.newIndex()
	if err := errors.Join(copyIndex(s.keep, s.index), copyIndex(s.keep, copied)); err != nil {
		return seed{
			index: s.index,
			keep:  s.keep,
			good:  func(context.Context) (bool, error) { return false, nil },
		}, nil
	}
	s.asks = true
	s.good = func(ctx context.Context) (bool, error) {
		return r.plainly(ctx, area{dir: r.root, index: users}, area{dir: r.root, index: copied})
	}
	return s, nil
}

// differed reports whether a private index is kept that was made from the user's
// as it is now: the work tree differed from it the last time, so most likely it
// does again.
func (r *Repo) differed() bool {
	mark, err := indexMark(filepath.Join(r.gitDir, "index"))
	return err == nil && mark != "" && exists(r.gitDir, keptPrefix+mark)
}

// plainly reports whether no index of the areas holds an ignored file. They are
// asked at the same time.
func (r *Repo) plainly(ctx context.Context, areas ...area) (bool, error) {
	var group errgroup.Group
	ignored := make([]string, len(areas))
	for i, a := range areas {
		group.Go(func() (err error) {
			ignored[i], err = r.git.Run(ctx, r.call(a, "", "ls-files", "-c", "-i", "--exclude-standard", "-z"))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return false, fmt.Errorf("list ignored files: %w", err)
	}
	return strings.Join(ignored, "") == "", nil
}

// keepIndex keeps a private index for the next time, in place of older ones.
// It only saves time, so it may fail; but git fails at half of one, so it is synced.
func (r *Repo) keepIndex(index, saved string) {
	r.dropIndexes(saved)
	// Copied beside it and renamed: a reader finds the old one or the new one.
	part := fmt.Sprintf("%s.%d", saved, os.Getpid())
	if copyIndex(index, part) != nil || durable.SyncFile(part) != nil || os.Rename(part, saved) != nil {
		_ = os.Remove(part)
	}
}

// dropIndexes removes the private indexes that are kept, but for one.
func (r *Repo) dropIndexes(but string) {
	saved, err := filepath.Glob(filepath.Join(r.gitDir, keptPrefix+"*"))
	if err != nil {
		return
	}
	for _, name := range saved {
		if name != but {
			_ = os.Remove(name)
		}
	}
}

// indexMark tells the states of an index apart: by the checksum at its end, its
// size and its time. It is "" for one that is not there.
func indexMark(path string) (string, error) {
	f, err := plainfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the index: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the index: %w", err)
	}
	sum := make([]byte, 20)
	if _, err := f.ReadAt(sum, max(0, info.Size()-int64(len(sum)))); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the index: %w", err)
	}
	return fmt.Sprintf("%s-%x-%x", hex.EncodeToString(sum), info.Size(), info.ModTime().UnixNano()), nil
}

// copyIndex copies an index with its time: git takes a file for unchanged only
// if it is older than the index, so a newer copy would hide late changes.
func copyIndex(from, to string) error {
	src, err := plainfile.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is tracked
	}
	if err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	defer func() { _ = src.Close() }()
	info, err := src.Stat()
	if err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	_, err = io.Copy(dst, src)
	if err = errors.Join(err, dst.Close(), os.Chtimes(to, info.ModTime(), info.ModTime())); err != nil {
		return fmt.Errorf("copy the index: %w", err)
	}
	return nil
}

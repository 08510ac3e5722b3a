package tools

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sys "golang.org/x/sys/unix"

	"github.com/plan-engine/plan/tools/words"
)

// mostWatched bounds the folders that are watched for new files. A tree with more of
// them is listed anew at each call.
const mostWatched = 50_000

// indexedTree is what is known of the files of one tree.
type indexedTree struct {
	root  string
	asked atomic.Uint64 // calls that wanted to know how it stands

	mu        sync.Mutex
	told      uint64        // how many had asked when it was last looked at
	files     []indexedFile // of code, sorted by name
	published []source      // the same, as callers get them
	// watched is what has to stand as it did for the list of files to hold; nil where
	// that is not known.
	watched []watchedPlace
}

// indexedFile is a source, and how its file stood when it was read.
type indexedFile struct {
	source
	stood fileState
}

// watchedPlace is a folder or a file that decides which files there are.
type watchedPlace struct {
	path  string // absolute for one outside of the tree
	stood fileState
}

// fileState is how a file stands: when it is the same again, and had not only just been
// changed when it was looked at, the file has not changed.
type fileState struct {
	inode    uint64
	size     int64
	modified int64 // Unix time in nanoseconds, as the next
	changed  int64
	lasting  bool // it had stood so for long enough to tell
}

// coarse is how exact the times of files are at least; a file system without fractions
// of a second tells seconds.
const (
	coarse       = 100 * time.Millisecond
	coarseSecond = 2 * time.Second
)

// standingOf is how a file stood that was looked at after a moment.
func standingOf(info *sys.Stat_t, at time.Time) fileState {
	s := fileState{
		inode:    info.Ino,
		size:     info.Size,
		modified: info.Mtim.Nano(),
		changed:  info.Ctim.Nano(),
	}
	exact := coarse
	if s.changed%int64(time.Second) == 0 {
		exact = coarseSecond
	}
	s.lasting = max(s.modified, s.changed) < at.Add(-exact).UnixNano()
	return s
}

// equals reports whether what stood as s says stands like that still.
func (s fileState) equals(now fileState) bool {
	now.lasting = s.lasting
	return s.lasting && s == now
}

// sources are the files as they were found last.
func (t *indexedTree) sources() []source {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.published
}

// refresh brings what is known of the tree up to date. What it returns is not changed
// any more. Of calls at the same time, those that wait have the answer of one that began
// to look after they had asked.
func (t *indexedTree) refresh(ctx context.Context, s *Set) ([]source, error) {
	asked := t.asked.Add(1)
	t.mu.Lock()
	var err error
	if t.told < asked {
		told := t.asked.Load()
		if err = t.update(ctx, s); err == nil {
			t.told = told
		}
	}
	files := t.published
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	_ = s.index.save(false) // a cache: the next call tries again
	return files, nil
}

func (t *indexedTree) update(ctx context.Context, s *Set) error {
	at := s.now()
	holds, err := t.listHolds(ctx, s)
	if err == nil && !holds {
		err = t.list(ctx, s)
	}
	if err != nil {
		return err
	}
	read := &reading{
		set:   s,
		store: s.index.store(),
		at:    at,
	}
	dir, err := s.root.Open(".")
	if err != nil {
		return fmt.Errorf("look at the tree: %w", err)
	}
	defer dir.Close() //nolint:errcheck // only looked at
	now, err := parallelAt(ctx, s.root, len(t.files), func(_ context.Context, r *reader, i int) *indexedFile {
		return read.file(r, int(dir.Fd()), &t.files[i])
	})
	if err != nil {
		return err
	}
	changed := len(t.published) != len(t.files)
	for i, f := range now {
		if f != nil {
			t.files[i], changed = *f, true
		}
	}
	if changed {
		t.published = make([]source, len(t.files))
		for i, f := range t.files {
			t.published[i] = f.source
		}
	}
	return nil
}

// reading brings what is known of files up to date, several at once.
type reading struct {
	set        *Set
	store      *words.Store
	at         time.Time // when it began
	extractors sync.Pool // of *words.Extractor
}

// file is a file as it is now, nil where it is as it was. Whatever cannot be read has
// no words: the search says what is wrong with it.
func (g *reading) file(r *reader, dir int, before *indexedFile) *indexedFile {
	now := &indexedFile{source: source{name: before.name}}
	var info sys.Stat_t
	// What a link in the way leads to is looked at and not read.
	_, err := retryInterrupted(func() (int, error) {
		return 0, sys.Fstatat(dir, before.name, &info, sys.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil || info.Mode&sys.S_IFMT != sys.S_IFREG {
		return now
	}
	now.stood = standingOf(&info, g.at)
	if before.held != nil && before.stood.equals(now.stood) {
		return nil
	}
	text, err := r.load(before.name, false, symbolFile)
	if err != nil {
		return now
	}
	now.key, now.size = words.KeyOf(text), len(text)
	held, ok := g.store.Get(now.key)
	if !ok {
		x, _ := g.extractors.Get().(*words.Extractor)
		if x == nil {
			x = new(words.Extractor)
		}
		held = x.Index(text)
		g.extractors.Put(x)
		g.store.Add(now.key, held)
	}
	now.held = held
	return now
}

// list lists the files anew, and keeps what is known of them.
func (t *indexedTree) list(ctx context.Context, s *Set) error {
	at := s.now()
	listed, err := s.list(ctx, ".")
	if err != nil {
		return err
	}
	known := make(map[string]indexedFile, len(t.files))
	for _, f := range t.files {
		known[f.name] = f
	}
	t.files, t.published = nil, nil
	for _, name := range listed.files {
		if s.index.languages.Of(name) == nil {
			continue
		}
		f, ok := known[name]
		if !ok {
			f.name = name
		}
		t.files = append(t.files, f)
	}
	t.watched = nil
	if listed.git {
		t.watched = s.watch(ctx, listed.files, at)
	}
	return nil
}

// listHolds reports whether listing the files would find the same ones.
func (t *indexedTree) listHolds(ctx context.Context, s *Set) (bool, error) {
	var changed atomic.Bool
	changed.Store(t.watched == nil)
	_, err := parallelAt(ctx, s.root, len(t.watched), func(_ context.Context, _ *reader, i int) struct{} {
		w := &t.watched[i]
		if !changed.Load() && !w.stood.equals(s.fileState(w.path, time.Time{})) {
			changed.Store(true)
		}
		return struct{}{}
	})
	return !changed.Load(), err
}

// fileState is how a file or folder stands; nothing where there is none.
func (s *Set) fileState(name string, at time.Time) fileState {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, filepath.FromSlash(name))
	}
	var info sys.Stat_t
	if _, err := retryInterrupted(func() (int, error) { return 0, sys.Lstat(name, &info) }); err != nil {
		return fileState{lasting: true}
	}
	return standingOf(&info, at)
}

// watch notes how everything stood at a moment that decides which files git lists: the
// folders, the files that say what is ignored, and git's index. It is nil where that
// cannot be told: in a tree with another repository in it, or with too many folders.
func (s *Set) watch(ctx context.Context, files []string, at time.Time) []watchedPlace {
	dirs := map[string]bool{".": true}
	add := func(dir string) {
		for ; !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, f := range files {
		add(path.Dir(f))
	}
	fixed, untracked, ok := s.gitPlaces(ctx)
	if !ok {
		return nil
	}
	for _, dir := range untracked {
		err := fs.WalkDir(s.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case len(dirs) > mostWatched:
				return fs.SkipAll
			case d.IsDir():
				add(name)
			}
			return nil
		})
		if err != nil {
			return nil
		}
	}
	if len(dirs) > mostWatched {
		return nil
	}
	out := make([]watchedPlace, 0, 2*len(dirs)+len(fixed))
	for dir := range dirs {
		if _, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(dir), ".git")); err == nil && dir != "." {
			return nil
		}
		out = append(out, watchedPlace{path: dir})
		ignore := watchedPlace{path: join(dir, ".gitignore")} // one that comes is a change of the folder
		if s.fileState(ignore.path, at) != (fileState{lasting: true}) {
			out = append(out, ignore)
		}
	}
	for _, p := range fixed {
		out = append(out, watchedPlace{path: p})
	}
	for i := range out {
		out[i].stood = s.fileState(out[i].path, at)
	}
	return out
}

// gitPlaces are the files of git's own that decide what it lists, and the folders in
// the tree that it lists as wholes or that have nothing in them.
func (s *Set) gitPlaces(ctx context.Context) (fixed, untracked []string, ok bool) {
	l, ok := s.lister(ctx)
	if !ok {
		return nil, nil, false
	}
	dir, err := l.gitDir()
	if err != nil {
		return nil, nil, false
	}
	fixed = []string{filepath.Join(dir, "index"), filepath.Join(dir, "info", "exclude")}
	err = l.ask(ctx, ".", "", func(entry string) {
		if name, isDir := strings.CutSuffix(entry, "/"); isDir {
			untracked = append(untracked, name)
		}
	}, "ls-files", "-o", "--exclude-standard", "--directory", "-z")
	slices.Sort(untracked)
	return fixed, untracked, err == nil
}

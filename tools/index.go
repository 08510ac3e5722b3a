package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/syntax"
	"github.com/plan-engine/plan/tools/words"
)

// Bounds of what an index holds in memory.
const (
	indexedTrees = 4       // trees that it knows at a time
	keptSymbols  = 200_000 // definitions of files that were parsed
	keptLines    = 50_000  // lines of mentions in them
)

// Index knows which source files of a tree mention a name, and what those define
// that were parsed. It reads a file once for each content, also across processes
// where it is kept in a file, and looks at each call whether files have changed. It
// is safe for concurrent use, and several sets of tools may share it.
type Index struct {
	languages syntax.Languages
	store     func() *words.Store

	mu     sync.Mutex
	trees  []*indexedTree // the one that was used last comes last
	parsed map[parsedKey][]syntax.Symbol
	kept   int // definitions in parsed
	lines  map[mentionKey]mentioned
	held   int // lines of all of them
}

// mentionKey is what was asked of a text.
type mentionKey struct {
	parsedKey
	name   string // of the file
	kind   string
	exact  string
	query  string // in lower case, with what the name is a member of
	module string
}

// parsedKey is a text and how it was read.
type parsedKey struct {
	text     words.Key
	language *syntax.Language
}

// NewIndex makes an index that is kept in a file outside of the tree, which is made
// when there is something to keep, or with "" in memory alone. The file is read when
// the index is first used.
func NewIndex(path string) *Index {
	return &Index{
		languages: syntax.New(),
		store:     sync.OnceValue(func() *words.Store { return words.Open(path) }),
		parsed:    map[parsedKey][]syntax.Symbol{},
		lines:     map[mentionKey]mentioned{},
	}
}

// Close keeps what was learned. No set of tools may use the index any more.
func (x *Index) Close() error {
	x.mu.Lock()
	used := len(x.trees) > 0
	x.mu.Unlock()
	var err error
	if used {
		err = x.save(true)
	}
	x.languages.Close()
	return err
}

// save keeps what was learned if that is much, or, with force, anything at all.
func (x *Index) save(force bool) error {
	x.mu.Lock()
	trees := slices.Clone(x.trees)
	x.mu.Unlock()
	inUse := sync.OnceValue(func() map[words.Key]bool {
		keys := map[words.Key]bool{}
		for _, t := range trees {
			for _, f := range t.sources() {
				keys[f.key] = true
			}
		}
		return keys
	})
	return x.store().Save(func(key words.Key) bool { return inUse()[key] }, force)
}

// tree is what is known of the tree at a root.
func (x *Index) tree(root string) *indexedTree {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.trees, func(t *indexedTree) bool { return t.root == root })
	if i >= 0 {
		t := x.trees[i]
		x.trees = append(slices.Delete(x.trees, i, i+1), t)
		return t
	}
	if len(x.trees) == indexedTrees {
		x.trees = slices.Delete(x.trees, 0, 1)
	}
	t := &indexedTree{root: root}
	x.trees = append(x.trees, t)
	return t
}

// symbols are the definitions of a text that was parsed before.
func (x *Index) symbols(of parsedKey) ([]syntax.Symbol, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	symbols, ok := x.parsed[of]
	return symbols, ok
}

// keep remembers the definitions of a text.
func (x *Index) keep(of parsedKey, symbols []syntax.Symbol) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.kept += len(symbols) + 1; x.kept > keptSymbols {
		clear(x.parsed)
		x.kept = len(symbols) + 1
	}
	x.parsed[of] = symbols
}

// mentions is what answered the same question of a text before.
func (x *Index) mentions(of mentionKey) (mentioned, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	mentions, ok := x.lines[of]
	return mentions, ok
}

// keepMentions remembers it.
func (x *Index) keepMentions(of mentionKey, mentions mentioned) {
	x.mu.Lock()
	defer x.mu.Unlock()
	size := len(mentions.lines) + len(mentions.heirs) + 1
	if x.held += size; x.held > keptLines {
		clear(x.lines)
		x.held = size
	}
	x.lines[of] = mentions
}

// source is one file of code.
type source struct {
	name string
	key  words.Key // of its content, where its words are known
	held []byte    // its words; nil where they are not known
	size int       // bytes, where they are known
}

// sources finds the files of code below a path, or the file at it, which is single. A
// result that is not nil says what is wrong with the path.
func (s *Set) sources(ctx context.Context, path string) (files []source, single bool, _ *loop.Result, _ error) {
	dir, problem := s.rel(path)
	info, err := s.root.Stat(dir)
	if problem == "" && err == nil && info.IsDir() {
		files, err := s.index.tree(s.dir).refresh(ctx, s)
		if err != nil {
			return nil, false, nil, fmt.Errorf("symbols: %w", err)
		}
		if below := sourcesBelow(files, dir); len(below) > 0 {
			return below, false, nil, nil
		}
	}
	where, failed, err := s.inScope(ctx, path, "")
	if err != nil || failed != nil {
		return nil, false, failed, err
	}
	for _, name := range where.files {
		if s.index.languages.Of(name) != nil {
			files = append(files, source{name: name})
		}
	}
	if where.single && len(files) == 0 {
		failed := loop.Failed(fmt.Sprintf("symbols does not know the language of %s (it knows %s); use grep",
			show(where.files[0]), syntax.Supported))
		return nil, true, &failed, nil
	}
	return files, where.single, nil, nil
}

// sourcesBelow are those in a folder, of sources that are sorted by name.
func sourcesBelow(files []source, dir string) []source {
	if dir == "." {
		return files
	}
	prefix := dir + "/"
	from, _ := slices.BinarySearchFunc(files, prefix, func(f source, prefix string) int {
		return strings.Compare(f.name, prefix)
	})
	to := from
	for to < len(files) && strings.HasPrefix(files[to].name, prefix) {
		to++
	}
	return files[from:to]
}

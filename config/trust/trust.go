// Package trust remembers what a person has trusted of a repository: files and
// folders, each by the digest of its contents. What has changed since is not
// trusted any more.
//
// The package must not know what the files are for: it takes digests, and
// keeps yeses.
package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan/internal/durable"
)

// Item is something of a repository that needs a person's yes.
type Item struct {
	Kind    string `json:"kind"`             // config, hook, skill, mcp, folder or run
	Path    string `json:"path"`             // relative to the repository; with #name for a part of a file
	Digest  string `json:"digest"`           // hex SHA-256 of all that it is made of
	Detail  string `json:"detail,omitempty"` // what it would do, for people
	Trusted bool   `json:"trusted"`
}

// Store is the file that remembers. The zero value remembers nothing.
type Store struct {
	path string
	now  func() time.Time
}

// Open makes a store of the file at path, which need not exist.
func Open(path string, now func() time.Time) *Store { return &Store{path: path, now: now} }

// trustFile is the form of the file: by repository, by kind and path, by digest, the
// time of the yes.
type trustFile struct {
	Version int                                        `json:"version"`
	Repos   map[string]map[string]map[string]time.Time `json:"repos"`
}

const version = 1

// Trusted reports whether this content of path, which is of the given kind, is
// trusted in the repository at root. A store that cannot be read trusts
// nothing, and says why.
func (s *Store) Trusted(root, kind, path, digest string) (bool, error) {
	if s.path == "" || digest == "" {
		return false, nil
	}
	k, err := s.read()
	if err != nil {
		return false, err
	}
	_, ok := k.Repos[root][key(kind, path)][digest]
	return ok, nil
}

// Trust remembers a yes to each item. Only the digest that is given is trusted,
// and no earlier one any more.
func (s *Store) Trust(ctx context.Context, root string, items ...Item) error {
	return s.change(ctx, func(k *trustFile) {
		if k.Repos[root] == nil {
			k.Repos[root] = map[string]map[string]time.Time{}
		}
		for _, item := range items {
			k.Repos[root][key(item.Kind, item.Path)] = map[string]time.Time{item.Digest: s.now().UTC()}
		}
	})
}

// Revoke forgets every yes for a repository, or those for the items that are named,
// whatever their digest, and returns how many there were.
func (s *Store) Revoke(ctx context.Context, root string, only ...Item) (int, error) {
	n := 0
	err := s.change(ctx, func(k *trustFile) {
		if len(only) == 0 {
			n = len(k.Repos[root])
			delete(k.Repos, root)
		}
		for _, item := range only {
			if _, ok := k.Repos[root][key(item.Kind, item.Path)]; ok {
				n++
				delete(k.Repos[root], key(item.Kind, item.Path))
			}
		}
	})
	return n, err
}

func key(kind, path string) string { return kind + ":" + path }

func (s *Store) read() (trustFile, error) {
	k := trustFile{Version: version, Repos: map[string]map[string]map[string]time.Time{}}
	data, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return k, fmt.Errorf("read what is trusted: %w; make it readable or move it away", err)
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return k, fmt.Errorf("read what is trusted: %s: %w; move it away and trust again", s.path, err)
	}
	if k.Version > version {
		return trustFile{}, fmt.Errorf(
			"read what is trusted: %s was written by a newer plan (version %d); install it, or move the file away "+
				"and trust again",
			s.path,
			k.Version,
		)
	}
	return k, nil
}

// change rewrites the file, one process at a time.
func (s *Store) change(ctx context.Context, edit func(*trustFile)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	lock := flock.New(s.path + ".lock")
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("remember what is trusted: lock %s: %w", lock.Path(), err)
	}
	defer func() { _ = lock.Unlock() }() // closed with the process at the latest
	k, err := s.read()
	if err != nil {
		return err
	}
	edit(&k)
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	return durable.Replace(s.path, append(data, '\n'), 0o600)
}

func digestOf(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p)) // so that no two lists of parts are alike
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

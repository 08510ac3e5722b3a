package caches

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/sandbox"
)

// maxKept is how large a repository's layer may get, in bytes, before a run begins
// it anew.
const maxKept = 8 << 30

// The files of a repository's folder.
const (
	layerName   = "layer"
	writerName  = "writer.lock"
	readersName = "readers.lock"
	pathName    = "repository" // says which repository it is, and when it was used last
)

// repoLayer is the layer of a repository. One process at a time writes to it, while none
// reads it: who writes has the lock of writers as long as it lives, and that of
// readers until the layer is sealed. Nothing takes the latter whole without the
// former, so a writer can turn into a reader with no gap.
type repoLayer struct {
	dir        string
	repository string
	now        func() time.Time
	impossible func() bool // layers cannot lie there
	writer     *flock.Flock
	shared     *flock.Flock
	writing    bool
	reading    bool
	readers    int // leases that read it before it is sealed
}

func newRepoLayer(cfg Config) *repoLayer {
	sum := sha256.Sum256([]byte(cfg.Repository))
	dir := filepath.Join(cfg.Dir, hex.EncodeToString(sum[:8]))
	return &repoLayer{
		dir:        dir,
		repository: cfg.Repository,
		now:        cfg.Now,
		impossible: func() bool { return cfg.Mounted() && !holdsLayers(cfg.Dir) },
		writer:     flock.New(filepath.Join(dir, writerName)),
		shared:     flock.New(filepath.Join(dir, readersName)),
	}
}

func (k *repoLayer) layer() string { return filepath.Join(k.dir, layerName) }

// claim makes this process the one that writes, if no other one reads or writes.
func (k *repoLayer) claim() (bool, error) {
	if k.writing {
		return true, nil
	}
	if k.readers > 0 || k.impossible() {
		return false, nil
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return false, fmt.Errorf("keep build caches: %w", err)
	}
	if err := k.shared.Unlock(); err != nil {
		return false, fmt.Errorf("keep build caches: %w", err)
	}
	k.reading = false
	ok, err := lockBoth(k.writer, k.shared)
	if err != nil || !ok {
		return false, err
	}
	k.writing = true
	if sizeOf(k.layer(), maxKept) > maxKept {
		if err := scratch.Remove(k.layer()); err != nil {
			return false, err
		}
	}
	if err := os.WriteFile(filepath.Join(k.dir, pathName), []byte(k.repository+"\n"), 0o600); err != nil {
		return false, fmt.Errorf("keep build caches: %w", err)
	}
	return true, nil
}

// lockBoth takes the locks of a layer whole, or none.
func lockBoth(writer, shared *flock.Flock) (bool, error) {
	ok, err := writer.TryLock()
	if err != nil || !ok {
		return false, err //nolint:wrapcheck // names the file
	}
	if ok, err = shared.TryLock(); err != nil || !ok {
		return false, errors.Join(err, writer.Unlock())
	}
	return true, nil
}

// seal ends the writing.
func (k *repoLayer) seal() error {
	if !k.writing || k.reading {
		return nil
	}
	if err := k.shared.Unlock(); err != nil {
		return fmt.Errorf("seal the build caches: %w", err)
	}
	var err error
	k.reading, err = k.shared.TryRLock()
	return err //nolint:wrapcheck // names the file
}

// read is the layer as something to read: none while it is written to.
func (k *repoLayer) read() []string {
	if !k.reading && !k.writing {
		if _, err := os.Stat(k.layer()); err != nil {
			return nil
		}
		now := k.now()
		_ = os.Chtimes(filepath.Join(k.dir, pathName), now, now) // else it looks older than it is
		k.reading, _ = k.shared.TryRLock()                       // where that cannot be had, it is not read
	}
	if !k.reading {
		return nil
	}
	return []string{k.layer()}
}

func (k *repoLayer) close() error {
	k.writing, k.reading, k.readers = false, false, 0
	return errors.Join(k.shared.Close(), k.writer.Close())
}

// sizeOf is what a folder uses on the disk, about; it stops to count beyond most. With
// most below zero it counts all.
func sizeOf(dir string, most int64) int64 {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if d == nil || err != nil {
			return nil //nolint:nilerr // the kernel's own folders are closed
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if most >= 0 && size > most {
			return fs.SkipAll
		}
		return nil
	})
	return size
}

// holdsLayers reports whether layers can lie in a folder, which is made.
func holdsLayers(dir string) bool { return os.MkdirAll(dir, 0o700) == nil && sandbox.HoldsLayers(dir) }

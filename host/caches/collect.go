package caches

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan/internal/scratch"
)

// Bounds of what is kept for all repositories together, where gc is given no others.
const (
	maxAge   = 30 * 24 * time.Hour
	maxTotal = 20 << 30
)

// Collected is what came of a collection.
type Collected struct {
	Removed int   `json:"removed"` // repositories whose layer is gone
	Freed   int64 `json:"freed"`   // bytes
	Kept    int   `json:"kept"`
	Used    int64 `json:"used"` // bytes, afterwards
}

// repositoryLayer is what is kept for one repository.
type repositoryLayer struct {
	dir      string
	used     time.Time
	size     int64
	repoGone bool // the repository
}

// Collect removes the layers of repositories that are gone, those that were not used
// for a time (30 days, or less if olderThan says so), and the oldest ones until all
// together use no more than 20 GiB. One that a process uses stays. Dry only says what
// would go.
func Collect(dir string, olderThan time.Duration, now time.Time, dry bool) (out Collected, err error) {
	if !dry {
		scratch.Sweep(dir, scratch.Layer, scratch.Probe)
	}
	layers, err := repositoryLayers(dir)
	if err != nil {
		return out, err
	}
	age := time.Duration(maxAge)
	if olderThan > 0 {
		age = min(age, olderThan)
	}
	for _, l := range layers {
		out.Used += l.size
	}
	var faults []error
	for _, l := range layers { // the oldest first
		if !l.repoGone && now.Sub(l.used) <= age && out.Used <= maxTotal {
			out.Kept++
			continue
		}
		removed, err := l.remove(dry)
		if !removed {
			out.Kept++
			faults = append(faults, err)
			continue
		}
		out.Removed++
		out.Freed += l.size
		out.Used -= l.size
	}
	return out, errors.Join(faults...)
}

// repositoryLayers lists what is kept, that which was not used for longest first.
func repositoryLayers(dir string) ([]repositoryLayer, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path
	}
	var out []repositoryLayer
	for _, e := range entries {
		l := repositoryLayer{dir: filepath.Join(dir, e.Name())}
		name := filepath.Join(l.dir, pathName)
		info, err := os.Stat(name)
		if err != nil {
			continue // it is none
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err //nolint:wrapcheck // names the path
		}
		_, err = os.Stat(strings.TrimSpace(string(text))) //nolint:gosec // this program wrote it
		l.repoGone = errors.Is(err, os.ErrNotExist)
		l.used = info.ModTime()
		l.size = sizeOf(l.dir, -1)
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b repositoryLayer) int { return a.used.Compare(b.used) })
	return out, nil
}

// remove removes a layer, unless a process uses it. Its locks stay: another process
// may just be about to take them.
func (l repositoryLayer) remove(dry bool) (bool, error) {
	writer, shared := flock.New(filepath.Join(l.dir, writerName)), flock.New(filepath.Join(l.dir, readersName))
	defer func() { _, _ = shared.Close(), writer.Close() }()
	ok, err := lockBoth(writer, shared)
	if err != nil || !ok || dry {
		return ok, err
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return false, err //nolint:wrapcheck // names the path
	}
	for _, e := range entries {
		if e.Name() != writerName && e.Name() != readersName {
			err = errors.Join(err, scratch.Remove(filepath.Join(l.dir, e.Name())))
		}
	}
	return err == nil, err
}

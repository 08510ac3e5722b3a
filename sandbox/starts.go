package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/durable"
)

// start is what a wall puts back, as it was before the first command. It stands on
// disk in the policy's Starts as long as commands could have changed it, so that
// another process can do it where this one dies.
type start struct {
	Saved []savedPath
	Names []savedNames
}

const (
	startSuffix   = ".start"
	startLockName = ".lock"
	// newStartPrefix begins the names of records that are not whole yet.
	newStartPrefix = ".new-"
)

// StartError says that what decides what git runs in a repository is not what it was
// before the commands of a run.
type StartError struct {
	Paths  []string // that differ, or could not be put back, each with the reason
	Record string   // the file that says how they were
	Live   bool     // the commands may still run
}

// Error implements error.
func (e *StartError) Error() string {
	if e.Live {
		return "a run is at work, and what decides what git runs is changed: " + firstPaths(e.Paths)
	}
	return "a run that was killed may have changed what decides what git runs, and that could not be put back: " +
		firstPaths(e.Paths)
}

// Hint says what to do about it.
func (e *StartError) Hint() string {
	if e.Live {
		return "It is put back when Implement ends. Nothing was asked of git meanwhile."
	}
	return "See that it says what you want, then remove " + e.Record + ". Nothing is done in the repository before."
}

// RestoreStarts puts back what decides what git runs as it was before the commands of
// processes that died, as their records in a directory say. It returns what it put
// back. What it cannot is an error of [CheckStart] for the repository alone; one of
// its own means that a record cannot be read, and nothing is known of any.
func RestoreStarts(dir string) (putBack []string, err error) {
	if records, err := recordsIn(dir); err != nil || len(records) == 0 {
		return nil, err
	}
	unlock, err := lockStarts(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	records, err := recordsIn(dir)
	for _, path := range records {
		back, restoreErr := restoreRecord(path)
		putBack = append(putBack, back...)
		err = errors.Join(err, restoreErr)
	}
	return putBack, err
}

// restoreRecord puts back what one record says, if its process is gone.
func restoreRecord(path string) ([]string, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("read how a repository was: %w", err)
	}
	defer func() { _ = f.Close() }()
	if lockFile(f) != nil {
		return nil, nil
	}
	s, err := readStart(path)
	if err != nil {
		return nil, err
	}
	if len(s.strange()) > 0 {
		return nil, nil // CheckStart says so
	}
	putBack, lost := s.putBack()
	if len(lost) > 0 {
		return putBack, nil
	}
	return putBack, removeRecord(path)
}

// CheckStart is a [StartError] if what decides what git runs in one of some
// directories differs from what the records in dir say.
func CheckStart(dir string, of ...string) error {
	records, err := recordsIn(dir)
	if err != nil {
		return err
	}
	for _, path := range records {
		s, err := readStart(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was restored since
		}
		if err != nil {
			return err
		}
		if !s.isAbout(of) {
			continue
		}
		e := &StartError{
			Paths:  s.changed(of),
			Record: path,
			Live:   isLocked(path),
		}
		if !e.Live {
			e.Paths = append(e.Paths, s.strange()...)
		}
		if len(e.Paths) > 0 {
			return e
		}
	}
	return nil
}

func isLocked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return lockFile(f) != nil
}

func recordsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how repositories were: %w", err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), startSuffix) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// lockStarts keeps other processes from the records in a directory.
func lockStarts(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, startLockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = waitForLock(f)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the records of how repositories were: %w", err)
	}
	unfinished, _ := filepath.Glob(filepath.Join(dir, newStartPrefix+"*")) // of processes that died
	for _, path := range unfinished {
		_ = os.Remove(path)
	}
	return func() { _ = f.Close() }, nil
}

// record writes the start down, and keeps the record locked. What another wall that
// stands notes already of a path counts: what is there now may be the work of its
// commands.
func (s *start) record(dir string) (_ *os.File, path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("note how a repository is: %w", err)
	}
	unlock, err := lockStarts(dir)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	records, err := recordsIn(dir)
	if err != nil {
		return nil, "", err
	}
	for _, path := range records {
		earlier, err := readStart(path)
		if err != nil {
			return nil, "", err
		}
		s.adopt(earlier)
	}
	data, err := s.encode()
	if err != nil {
		return nil, "", err
	}
	f, err := os.CreateTemp(dir, newStartPrefix+"*")
	if err != nil {
		return nil, "", fmt.Errorf("note how a repository is: %w", err)
	}
	_, err = f.Write(data)
	path = filepath.Join(dir, strings.TrimPrefix(filepath.Base(f.Name()), newStartPrefix)+startSuffix)
	err = errors.Join(err, lockFile(f), f.Sync())
	if err == nil {
		err = errors.Join(os.Rename(f.Name(), path), durable.SyncDir(dir))
	}
	if err != nil {
		return nil, "", fmt.Errorf("note how a repository is: %w", errors.Join(err, f.Close()))
	}
	return f, path, nil
}

// adopt takes from an earlier start what it says of the same paths.
func (s *start) adopt(earlier start) {
	for i, k := range s.Saved {
		at := slices.IndexFunc(earlier.Saved, func(e savedPath) bool { return e.path() == k.path() })
		if at >= 0 {
			s.Saved[i].Entries = earlier.Saved[at].Entries
		}
	}
	for i, k := range s.Names {
		at := slices.IndexFunc(earlier.Names, func(e savedNames) bool { return e.Dir == k.Dir })
		if at >= 0 {
			s.Names[i].Names, s.Names[i].ID = earlier.Names[at].Names, earlier.Names[at].ID
		}
	}
}

// encode is the start with a digest before it.
func (s *start) encode() ([]byte, error) {
	var out bytes.Buffer
	out.Write(make([]byte, sha256.Size))
	if err := gob.NewEncoder(&out).Encode(s); err != nil {
		return nil, fmt.Errorf("note how a repository is: %w", err)
	}
	sum := sha256.Sum256(out.Bytes()[sha256.Size:])
	copy(out.Bytes(), sum[:])
	return out.Bytes(), nil
}

func readStart(path string) (s start, err error) {
	data, err := os.ReadFile(path)
	if err == nil && (len(data) < sha256.Size || sha256.Sum256(data[sha256.Size:]) != [sha256.Size]byte(data)) {
		err = fmt.Errorf("%s is not what was written", path)
	}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(data[sha256.Size:])).Decode(&s)
	}
	if err != nil {
		return s, fmt.Errorf("read how a repository was, which a run may have changed since: %w", err)
	}
	return s, nil
}

func removeRecord(path string) error {
	if err := errors.Join(os.Remove(path), durable.SyncDir(filepath.Dir(path))); err != nil {
		return fmt.Errorf("forget how a repository was: %w", err)
	}
	return nil
}

// isAbout reports whether the start notes anything in these directories.
func (s *start) isAbout(dirs []string) bool {
	return slices.ContainsFunc(s.Saved, func(k savedPath) bool { return withinAny(k.path(), dirs) }) ||
		slices.ContainsFunc(s.Names, func(k savedNames) bool { return withinAny(k.Dir, dirs) })
}

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// changed are the noted files and folders in these directories that are not as they were.
func (s *start) changed(dirs []string) []string {
	var out []string
	for _, k := range s.Saved {
		if !withinAny(k.path(), dirs) {
			continue
		}
		now, err := k.read()
		if err != nil {
			out = append(out, fmt.Sprintf("%s (%v)", k.path(), err))
		} else if !k.is(now) {
			out = append(out, k.path())
		}
	}
	return out
}

// strange are the directories that are not those that were noted: in a repository
// that was made anew nothing is put back.
func (s *start) strange() []string {
	var out []string
	for _, k := range s.Names {
		if k.ID == 0 {
			continue // there was none
		}
		info, err := os.Lstat(k.Dir)
		if err == nil {
			if id, _ := identityOf(info); id == k.ID {
				continue
			}
		}
		out = append(out, k.Dir+" (another directory is there, or none)")
	}
	return out
}

// putBack makes all as it was. Nothing that could interfere may be running any more.
func (s *start) putBack() (putBack, lost []string) {
	for _, k := range s.Saved {
		switch changed, err := k.putBack(); {
		case err != nil:
			lost = append(lost, fmt.Sprintf("%s (%v)", k.path(), err))
		case changed:
			putBack = append(putBack, k.path())
		}
	}
	for _, k := range s.Names {
		removed, err := k.removeNew()
		if err != nil {
			lost = append(lost, fmt.Sprintf("%s (%v)", k.Dir, err))
		}
		putBack = append(putBack, removed...)
	}
	return putBack, lost
}

// Package intent writes down what is about to be made outside of the journal, before
// it is made, so that what a killed process leaves is found by what it said.
//
// It must not know how such things are made or removed.
package intent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plan-engine/plan/internal/holder"
)

// Note is what is about to be made, or to be taken away. A name in it says that the
// thing may be there, whole or not.
type Note struct {
	Run    string    `json:"run,omitempty"`    // that the snapshots are of, and the rest
	Repo   string    `json:"repo,omitempty"`   // the work tree that all is made from
	Dir    string    `json:"dir,omitempty"`    // a work tree
	Branch string    `json:"branch,omitempty"` // "" for one that was there before
	Base   string    `json:"base,omitempty"`   // the commit that the branch began at
	Tree   string    `json:"tree,omitempty"`   // what the files of the work tree are taken from
	Drop   bool      `json:"drop,omitempty"`   // work tree and branch are taken away
	File   string    `json:"file,omitempty"`   // a file that is not whole yet
	PID    int       `json:"pid"`
	Since  time.Time `json:"since"`
}

// Intent is a note that this process keeps locked. The kernel releases it when the
// process dies, and all children that were given its file.
type Intent struct {
	Note Note
	path string
	file *os.File
}

// patience is how long Begin waits for a process that still works on what an earlier
// one of the same name has begun.
const (
	patience = 30 * time.Second
	poll     = 10 * time.Millisecond

	childPatience = 5 * time.Second // of Take, for children of the dead
)

// Begin writes a note into a folder under a name. What an earlier process said under
// that name is written over: its caller takes care of that.
func Begin(ctx context.Context, folder, name string, n Note) (*Intent, error) {
	i, err := begin(ctx, filepath.Join(folder, name+".json"), n)
	if err != nil {
		return nil, fmt.Errorf("write down what will be made: %w", err)
	}
	return i, nil
}

func begin(ctx context.Context, path string, n Note) (*Intent, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err //nolint:wrapcheck // names the folder
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		file, err := lock(path, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return nil, err
		}
		if file != nil {
			i := &Intent{path: path, file: file}
			return i, i.Change(func(now *Note) { *now = n })
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("another process works on %s: %w", path, context.Cause(ctx))
		}
	}
}

// lock opens a file and takes its lock. It is nil where another process has it, or
// has just removed the file.
func lock(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the file
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		var held, current os.FileInfo
		if held, err = file.Stat(); err == nil {
			current, err = os.Stat(path)
		}
		if err == nil && os.SameFile(held, current) {
			return file, nil
		}
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return nil, err
}

// File is the locked file: a child that has it keeps the note locked.
func (i *Intent) File() *os.File { return i.file }

// Change writes the note anew.
func (i *Intent) Change(edit func(*Note)) error {
	edit(&i.Note)
	return holder.Sign(i.path, i.Note)
}

// Done takes the note away: all is made and belongs to what the journal has, or is
// gone.
func (i *Intent) Done() error {
	err := os.Remove(i.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, i.Leave())
}

// Leave gives the note up. It stays for a sweep.
func (i *Intent) Leave() error { return i.file.Close() } //nolint:wrapcheck // names the file

// Entry is a note that is there.
type Entry struct {
	Note
	path string
}

// All are the notes in a folder. One that says nothing yet is empty.
func All(folder string) ([]Entry, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list what is to be made: %w", err)
	}
	var out []Entry
	for _, path := range paths {
		f := Entry{path: path}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // it is done
		}
		if err == nil && len(data) > 0 {
			err = json.Unmarshal(data, &f.Note)
		}
		if err != nil {
			return nil, fmt.Errorf("read what is to be made from %s: %w", path, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// Take takes over a note whose process has died, with its children. It reports false
// where one is at work, or the note is done.
func (f Entry) Take(ctx context.Context) (*Intent, bool) {
	ctx, cancel := context.WithTimeout(ctx, childPatience)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	file, err := lock(f.path, os.O_RDWR)
	for err == nil && file == nil && ctx.Err() == nil && errors.Is(syscall.Kill(f.PID, 0), syscall.ESRCH) {
		select { // the process has died, and a child of it is about to end
		case <-tick.C:
			file, err = lock(f.path, os.O_RDWR)
		case <-ctx.Done():
		}
	}
	if err != nil || file == nil {
		return nil, false
	}
	i := &Intent{path: f.path, file: file}
	holder.Read(f.path, &i.Note) // as it is now
	return i, true
}

package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// Export writes a run as it stands, with all that its journal refers to and
// without secrets, as lines that [Host.Import] reads.
func (h *Host) Export(ctx context.Context, id plan.RunID, to io.Writer) (memory.Transfer, error) {
	redact, err := h.Outward()
	if err != nil {
		return memory.Transfer{}, err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return memory.Transfer{}, err
	}
	return db.Export(ctx, id, to, redact)
}

// ExportFile is [Host.Export] to a private file, which appears under its name when
// it is whole. One that is there already is an error unless it may be replaced. Of a
// damaged run it has what stands before the damage, which is the error then.
func (h *Host) ExportFile(
	ctx context.Context,
	id plan.RunID,
	file string,
	replace bool,
) (sent memory.Transfer, err error) {
	if _, err := os.Lstat(file); err == nil && !replace {
		return sent, errFileExists(file)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sent, fmt.Errorf("look at the file: %w", err)
	}
	var part *memory.PartError
	err = h.writeFile(ctx, file, 0o600, func(to io.Writer) (err error) {
		if sent, err = h.Export(ctx, id, to); errors.As(err, &part) {
			err = nil
		}
		return err
	})
	if err == nil && part != nil {
		err = part
	}
	return sent, stopped(ctx, err)
}

// WriteFile puts data in the place of a file in a folder of the user's, whole or not at
// all. What a process that was killed has left of it is swept up.
func (h *Host) WriteFile(ctx context.Context, file string, data []byte, mode fs.FileMode) error {
	return h.writeFile(ctx, file, mode, func(to io.Writer) error {
		_, err := to.Write(data)
		return err //nolint:wrapcheck // writeFile says of which file
	})
}

func (h *Host) writeFile(ctx context.Context, file string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	if file, err = filepath.Abs(file); err != nil {
		return fmt.Errorf("name the file: %w", err)
	}
	by := filepath.Join(filepath.Dir(file), ".plan-export-"+rand.Text())
	done, err := h.announce(ctx, by)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return durable.WriteBy(by, file, mode, func(to io.Writer) error {
		err := write(to)
		failpoint.Hit("before an export is named")
		return err
	})
}

// stopped is the cause for which a context has ended, in place of what came of that.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// errFileExists refuses to replace a file without having been told to.
func errFileExists(file string) error {
	return hint.New(fmt.Sprintf("%s is there already", file), "Name another file, or replace it with --force.")
}

// Imported is what came of taking a run in.
type Imported struct {
	memory.Transfer
	State plan.State
	Repo  string
	// NoRepo says that the run cannot be resumed, since its repository is not here.
	NoRepo bool
}

// Import takes a run in that was exported elsewhere. One that is there already is
// left alone if it is the same, and an error if it is not.
func (h *Host) Import(ctx context.Context, from io.ReadSeeker) (Imported, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return Imported{}, err
	}
	got, err := db.Import(ctx, from)
	if err != nil {
		return Imported{}, err
	}
	info, err := db.Run(ctx, got.Run)
	if err != nil {
		return Imported{}, err
	}
	_, missing := h.OpenRepo(ctx, info.Repo)
	return Imported{
		Transfer: got,
		State:    info.State,
		Repo:     info.Repo,
		NoRepo:   missing != nil && !info.Ended(),
	}, nil
}

// rescue takes what proves itself out of a database that cannot be opened.
func (h *Host) rescue(ctx context.Context, file string, opts memory.BackupOptions) (memory.BackupFile, error) {
	paths, err := h.Paths()
	if err != nil {
		return memory.BackupFile{}, err
	}
	return memory.Rescue(ctx, memory.Config{Path: paths.DB, Announce: h.announce}, file, opts)
}

// Backup writes the whole database, as it stands at one moment, to a file, and
// proves that it is whole. What is damaged is left out where that is allowed.
func (h *Host) Backup(ctx context.Context, file string, opts memory.BackupOptions) (memory.BackupFile, error) {
	db, err := h.DB(ctx)
	var c memory.BackupFile
	switch {
	case err == nil:
		c, err = db.Backup(ctx, file, opts)
	case opts.SkipDamaged && memory.Unreadable(err):
		c, err = h.rescue(ctx, file, opts)
	}
	err = stopped(ctx, err)
	if errors.Is(err, fs.ErrExist) {
		return c, errFileExists(file)
	}
	return c, err
}

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/durable"
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
// it is whole. One that is there already is an error unless it may be replaced.
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
	err = durable.Write(file, 0o600, func(to io.Writer) (err error) {
		sent, err = h.Export(ctx, id, to)
		return err
	})
	return sent, err
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

// Backup writes the whole database, as it stands at one moment, to a file, and
// proves that it is whole.
func (h *Host) Backup(ctx context.Context, file string, replace bool) (memory.BackupFile, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return memory.BackupFile{}, err
	}
	c, err := db.Backup(ctx, file, replace)
	if errors.Is(err, fs.ErrExist) {
		return c, errFileExists(file)
	}
	return c, err
}

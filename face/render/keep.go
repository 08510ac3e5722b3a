package render

import (
	"errors"
	"io"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// Exported writes what was written to a file of a run.
func Exported(w io.Writer, id plan.RunID, file string, sent memory.Transfer) error {
	return writef(
		w,
		"%s: %s and %s of run %s; secrets replaced in %s\n",
		SafeLine(file),
		Count(sent.Events, "event"),
		Count(sent.Blobs, "blob"),
		id,
		Count(sent.Replaced, "text"),
	)
}

// Imported writes what was taken in of a run.
func Imported(w io.Writer, got host.Imported) error {
	if got.Existed {
		return writef(w, "%s: it is there already, and the same\n", got.Run)
	}
	return writef(
		w,
		"%s: imported %s and %s; it is %s. See `plan show %s`.\n",
		got.Run,
		Count(got.Events, "event"),
		Count(got.Blobs, "blob"),
		got.State,
		got.Run,
	)
}

// BackedUp writes what a copy of the database holds.
func BackedUp(w io.Writer, c memory.BackupFile) error {
	err := writef(
		w,
		"%s: %s, %s, %s; read back and whole\n",
		SafeLine(c.Path),
		Count(c.Runs, "run"),
		Count(c.Events, "event"),
		sizeText(c.Bytes),
	)
	for _, s := range c.Skipped {
		label := "run " + string(s.Run)
		if s.Run == "" {
			label = "what is no run's, or of a run that is not known any more"
		}
		err = errors.Join(err, writef(w, "left out: %s: %s\n", SafeLine(label), SafeLine(s.Err.Error())))
	}
	return err
}

// BackupDocument is a backup in its JSON form.
type BackupDocument struct {
	Path    string       `json:"path"`
	Bytes   int64        `json:"bytes"`
	Runs    int          `json:"runs"`
	Events  int64        `json:"events"`
	Skipped []skippedRun `json:"skipped,omitempty"`
}

type skippedRun struct {
	ID  plan.RunID `json:"id"` // "" for what is no run's, or of a run that is not known any more
	Why string     `json:"why"`
}

// NewBackupDocument says what a backup holds, and what it does not.
func NewBackupDocument(c memory.BackupFile) BackupDocument {
	doc := BackupDocument{
		Path:   c.Path,
		Bytes:  c.Bytes,
		Runs:   c.Runs,
		Events: c.Events,
	}
	for _, s := range c.Skipped {
		doc.Skipped = append(doc.Skipped, skippedRun{
			ID:  s.Run,
			Why: s.Err.Error(),
		})
	}
	return doc
}

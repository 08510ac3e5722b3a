package render

import (
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
	return writef(
		w,
		"%s: %s, %s, %s; read back and whole\n",
		SafeLine(c.Path),
		Count(c.Runs, "run"),
		Count(c.Events, "event"),
		Bytes(c.Bytes),
	)
}

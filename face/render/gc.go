package render

import (
	"io"
	"time"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

// Collected writes which runs were removed, and what that freed. Their age is
// counted to now.
func Collected(w io.Writer, done host.GC, dryRun bool, now time.Time) error {
	verb, sum := "removed", "freed"
	if dryRun {
		verb, sum = "would remove", "would free"
	}
	for _, c := range done.Removed {
		tellf(
			w,
			"%s %s  %s, over for %s, %s, %s\n",
			verb,
			c.ID,
			c.State,
			Duration(now.Sub(c.Updated)),
			sizeText(c.Bytes),
			Count(c.Refs, "snapshot"),
		)
	}
	for _, l := range host.Remarkable(done.Left) {
		word, rest := verb, ""
		if l.Stays != "" {
			word, rest = "kept", ": "+l.Stays
		}
		of := ""
		if l.Of != "" {
			of = ", of " + l.Of
		}
		tellf(w, "%s %s %s  %s%s%s\n", word, l.Kind, SafeLine(l.Name), sizeText(l.Bytes), of, rest)
	}
	if c := done.Caches; c.Removed+c.Kept > 0 {
		tellf(
			w,
			"%s %s of build caches in %s; %s kept, with %s\n",
			sum,
			sizeText(c.Freed),
			Count(c.Removed, "layer"),
			Count(c.Kept, "layer"),
			sizeText(c.Used),
		)
	}
	return writef(
		w,
		"%s about %s in %s; %s kept; the database uses %s\n",
		sum,
		sizeText(done.Freed()),
		Count(len(done.Removed), "run"),
		Count(done.Kept, "run"),
		sizeText(done.Used),
	)
}

// QueueCollected writes what was removed of a queue.
func QueueCollected(w io.Writer, done batches.QueueGC) error {
	verb := "removed"
	if done.DryRun {
		verb = "would remove"
	}
	for _, b := range done.Removed {
		tellf(w, "%s %s  %s, %s\n", verb, SafeLine(b.ID), SafeLine(b.Name), Count(b.Jobs, "job"))
	}
	return writef(w, "%s %s and %s\n", verb, Count(len(done.Removed), "batch"), Count(len(done.Journals), "journal"))
}

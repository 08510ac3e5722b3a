package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/memory"
)

// maxFaults bounds how many faults of a database are listed.
const maxFaults = 20

// progressEvery is how often long work says how far it is.
const progressEvery = 2 * time.Second

// auditDB reads the whole database and says what is wrong with it.
func (a *app) auditDB(ctx context.Context) []finding {
	f := finding{Name: "database", Needed: true}
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		f.Detail, f.Do = err.Error(), "Set PLAN_HOME or HOME."
		return []finding{f}
	}
	db, err := memory.Open(ctx, memory.Config{
		Path:  paths.DB,
		Locks: paths.Locks,
		Now:   a.now,
	})
	if err != nil {
		f.Detail, f.Do = err.Error(), doForDB(err)
		return []finding{f}
	}
	last := a.now()
	audit, err := db.Audit(ctx, func(done, runs int) {
		if now := a.now(); now.Sub(last) >= progressEvery {
			last = now
			fmt.Fprintf(a.err, "plan: checked %d of %d runs\n", done, runs)
		}
	})
	place := onFileSystem(db)
	if err = errors.Join(err, db.Close()); err != nil {
		f.Detail, f.Do = err.Error(), doForDB(err)
		return []finding{f, place}
	}
	out := make([]finding, 0, 2)
	for i, fault := range audit.Faults {
		if i == maxFaults {
			out = append(out, finding{
				Name:   "database",
				Needed: true,
				Detail: fmt.Sprintf("and %d more", len(audit.Faults)-i),
			})
			break
		}
		out = append(out, finding{
			Name:   "database",
			Needed: true,
			Detail: fault.Error(),
			Do:     doForDB(fault),
		})
	}
	if len(audit.Faults) == 0 {
		f.OK = true
		f.Detail = fmt.Sprintf("%s: %s, %s and %s are whole", paths.DB,
			counted(audit.Runs, "run"), counted(audit.Events, "event"), counted(audit.Blobs, "blob"))
		out = append(out, f)
	}
	return append(out, place)
}

// doForDB says what to do about a failure of the database.
func doForDB(err error) string {
	var broken *memory.ChainError
	if errors.As(err, &broken) {
		return fmt.Sprintf(
			"Keep a copy of the file. Restore a backup that has run %s; without one, the run is lost from that event on, and other runs are not.",
			broken.Run,
		)
	}
	return hintOf(err)
}

// onFileSystem says what the database is on.
func onFileSystem(db *memory.DB) finding {
	name, network := db.FileSystem()
	f := finding{
		Name:   "disk",
		OK:     !network,
		Detail: "the database is on " + name,
	}
	if name == "" {
		f.Detail = "the file system of the database is not known here"
	}
	if network {
		f.Detail += ", which other hosts may share: a rollback journal is kept, which is slower"
		f.Do = "Set PLAN_HOME to a directory on a local disk, unless several hosts are meant to share it."
	}
	return f
}

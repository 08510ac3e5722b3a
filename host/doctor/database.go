package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// maxFaults bounds how many faults of a database are listed.
const maxFaults = 20

// openDB opens the database of the home for itself, so that it can be closed and
// proven. Without one it says why.
func (d Doctor) openDB(ctx context.Context) (db *memory.DB, path string, why *Finding) {
	f := &Finding{Name: "database", Needed: true}
	paths, err := d.Host.Paths()
	if err != nil {
		f.Detail = err.Error()
		f.Do = "Set PLAN_HOME or HOME."
		return nil, "", f
	}
	db, err = memory.Open(ctx, memory.Config{
		Path:  paths.DB,
		Locks: paths.Locks,
		Now:   d.now,
	})
	if err != nil {
		f.Detail = err.Error()
		f.Do = adviceForDB(err)
		return nil, "", f
	}
	return db, paths.DB, nil
}

// checkDB opens the database and looks at its structure.
func (d Doctor) checkDB(ctx context.Context) []Finding {
	db, path, why := d.openDB(ctx)
	if why != nil {
		return []Finding{*why}
	}
	f := Finding{Name: "database", Needed: true}
	disk := diskFinding(db)
	if err := errors.Join(db.Check(ctx), db.Close()); err != nil {
		f.Detail = err.Error()
		f.Do = adviceForDB(err)
		return []Finding{f}
	}
	f.OK = true
	f.Detail = path
	return []Finding{f, disk}
}

// AuditDB reads the whole database and says what is wrong with it. Progress is
// called after each run.
func (d Doctor) AuditDB(ctx context.Context, progress func(done, runs int)) []Finding {
	db, path, why := d.openDB(ctx)
	if why != nil {
		return []Finding{*why}
	}
	f := Finding{Name: "database", Needed: true}
	audit, err := db.Audit(ctx, progress)
	disk := diskFinding(db)
	if err = errors.Join(err, db.Close()); err != nil {
		f.Detail = err.Error()
		f.Do = adviceForDB(err)
		return []Finding{f, disk}
	}
	if len(audit.Faults) == 0 {
		f.OK = true
		f.Detail = fmt.Sprintf(
			"%s: %s, %s and %s are whole",
			path,
			amount.Count(int64(audit.Runs), "run"),
			amount.Count(int64(audit.Events), "event"),
			amount.Count(int64(audit.Blobs), "blob"),
		)
		return []Finding{f, disk}
	}
	return append(faultFindings(audit.Faults), disk)
}

func faultFindings(faults []error) []Finding {
	var out []Finding
	for i, fault := range faults {
		f := Finding{Name: "database", Needed: true}
		if i == maxFaults {
			f.Detail = fmt.Sprintf("and %d more", len(faults)-i)
			return append(out, f)
		}
		f.Detail = fault.Error()
		f.Do = adviceForDB(fault)
		out = append(out, f)
	}
	return out
}

// adviceForDB says what to do about a failure of the database.
func adviceForDB(err error) string {
	var broken *memory.ChainError
	if errors.As(err, &broken) {
		return fmt.Sprintf(
			"Keep a copy of the file. Restore a backup that has run %s; without one, "+
				"the run is lost from that event on, and other runs are not: `plan journal backup "+
				"--skip-damaged FILE` saves them.",
			broken.Run,
		)
	}
	return hint.Of(err)
}

// diskFinding says what the database is on.
func diskFinding(db *memory.DB) Finding {
	name, network := db.FileSystem()
	f := Finding{
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

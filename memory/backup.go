package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/failpoint"
)

// BackupFile is a backup that was written.
type BackupFile struct {
	Path   string
	Bytes  int64
	Runs   int
	Events int64
	// Skipped are the runs that are damaged, where they may be left out.
	Skipped []SkippedRun
}

// BackupOptions says what a backup may do.
type BackupOptions struct {
	Replace     bool // the file, if it is there
	SkipDamaged bool // leave out the runs that are damaged
	// Progress hears now and then how far it is; it may be nil.
	Progress func(did string, done, total int, unit string)
}

// Backup writes the database as it stands at one moment to a file of its own,
// with mode 0600, and proves that every journal in it is whole. Runs go on
// meanwhile, and what they append later is not in it. The file appears under
// its name when all of that is done. One that is there already is an error
// ([fs.ErrExist]) unless it may be replaced. Of a damaged database none is made,
// unless what is damaged may be left out.
func (db *DB) Backup(ctx context.Context, path string, opts BackupOptions) (BackupFile, error) {
	switch {
	case !opts.SkipDamaged:
		return db.backup(ctx, path, opts, db.writeSnapshot)
	case len(db.auditSchema(ctx)) > 0: // SQLite would not find what is there
		return db.backup(ctx, path, opts, db.writeRescue)
	}
	return db.backup(ctx, path, opts, db.writeSalvage)
}

// backup writes a backup by way of write, which says what it has left out.
func (db *DB) backup(
	ctx context.Context,
	path string,
	opts BackupOptions,
	write func(ctx context.Context, to string) ([]SkippedRun, error),
) (_ BackupFile, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return BackupFile{}, wrapError("back up to", path, err)
	}
	if err := db.checkBackupPath(path, opts.Replace); err != nil {
		return BackupFile{}, err
	}
	dir := filepath.Dir(path)
	by := filepath.Join(dir, ".plan-backup-"+rand.Text())
	done, err := db.announce(ctx, by)
	if err != nil {
		return BackupFile{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	tmp, err := os.OpenFile(by, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return BackupFile{}, wrapError("back up to", path, err)
	}
	defer os.Remove(by) //nolint:errcheck // once it is renamed there is nothing to remove
	c := BackupFile{Path: path}
	grown := db.whileGrowing(ctx, by, opts.Progress)
	c.Skipped, err = write(ctx, tmp.Name())
	grown()
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return BackupFile{}, wrapError("back up to", path, err)
	}
	if err := c.verify(ctx, tmp.Name(), opts.Progress); err != nil {
		return BackupFile{}, err
	}
	failpoint.Hit("before a backup is named")
	if err := publishFile(tmp.Name(), path, opts.Replace); err != nil {
		return BackupFile{}, wrapError("back up to", path, err)
	}
	return c, nil
}

// growthEvery is how often a copy that is being written is looked at.
const growthEvery = 200 * time.Millisecond

// whileGrowing says how large a copy is, until it is told that it is written.
func (db *DB) whileGrowing(
	ctx context.Context,
	path string,
	say func(did string, done, total int, unit string),
) (written func()) {
	if say == nil || db.read == nil {
		return func() {}
	}
	used, err := db.UsedBytes(ctx)
	if err != nil {
		return func() {}
	}
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		look := time.NewTicker(growthEvery)
		defer look.Stop()
		for {
			select {
			case <-over:
				return
			case <-look.C:
				if info, err := os.Stat(path); err == nil {
					say("copied", int(min(info.Size(), used)/1e6), int(used/1e6), "MB")
				}
			}
		}
	}()
	return func() {
		close(over)
		<-stopped
	}
}

// checkBackupPath says why a backup cannot have this name.
func (db *DB) checkBackupPath(path string, replace bool) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wrapError("back up to", path, err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if own, err := os.Stat(db.path + suffix); err == nil && os.SameFile(own, info) {
			return &Error{
				Op:   "back up to",
				Path: path,
				Err:  errors.New("it is the database itself"),
				Hint: "name another file",
			}
		}
	}
	switch {
	case !info.Mode().IsRegular():
		return &Error{
			Op:   "back up to",
			Path: path,
			Err:  errors.New("it is there and is not a file"),
			Hint: "name another file",
		}
	case !replace:
		return &Error{
			Op:   "back up to",
			Path: path,
			Err:  fs.ErrExist,
			Hint: "name another file, or allow it to be replaced",
		}
	}
	return nil
}

// writeSnapshot writes a snapshot, through a connection of its own: those for
// reading may write nothing at all.
func (db *DB) writeSnapshot(ctx context.Context, path string) ([]SkippedRun, error) {
	conn, err := openPool(dsn(db.path, "mode=ro"), 1)
	if err != nil {
		return nil, err
	}
	_, err = conn.ExecContext(ctx, "VACUUM INTO ?", path)
	return nil, errors.Join(err, conn.Close())
}

// verify reads all of a copy, and counts what is in it.
func (c *BackupFile) verify(
	ctx context.Context,
	path string,
	say func(did string, done, total int, unit string),
) error {
	info, err := os.Stat(path)
	if err != nil {
		return wrapError("check the backup", c.Path, err)
	}
	db, err := openProven(ctx, path)
	if err != nil {
		return wrapError("check the backup", c.Path, err)
	}
	defer db.Close() //nolint:errcheck // nothing was written
	audit, err := db.Audit(ctx, func(done, runs int) {
		if say != nil {
			say("checked", done, runs, "runs of the copy")
		}
	})
	if err != nil {
		return wrapError("check the backup", c.Path, err)
	}
	if len(audit.Faults) > 0 {
		return fmt.Errorf("check the backup %s: the database it was made of is damaged: %w", c.Path, audit.Faults[0])
	}
	c.Bytes, c.Runs, c.Events = info.Size(), audit.Runs, audit.Events
	return nil
}

// openProven opens a copy to read all of it: nothing else uses the file.
func openProven(ctx context.Context, path string) (db *DB, err error) {
	db = &DB{path: path}
	if db.read, err = openPool(readOnlyDSN(path), maxReaders); err != nil {
		return nil, err
	}
	if err := db.stmt.prepareReading(ctx, db.read); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// publishFile gives a finished file its name, so that it survives a power cut. By
// hand: a file that is there already must not be replaced unasked.
func publishFile(tmp, path string, replace bool) error {
	named := false
	if !replace { // unlike a rename, a link never replaces; not every disk has links
		err := os.Link(tmp, path)
		if errors.Is(err, fs.ErrExist) {
			return err //nolint:wrapcheck // it names the file
		}
		named = err == nil
	}
	if !named {
		if err := os.Rename(tmp, path); err != nil {
			return err //nolint:wrapcheck // it names the file
		}
	}
	return durable.SyncDir(filepath.Dir(path))
}

package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	driver = "sqlite3"
	// maxReaders bounds the connections that read at the same time.
	maxReaders = 4
	// migrateLock is the name of the lock file that is held while the database
	// is created or brought to a newer version.
	migrateLock = "migrate.lock"
	// lockPoll is how often a waiting process tries to get a file lock.
	lockPoll = 5 * time.Millisecond
	// busyTimeout is how long SQLite waits for programs that do not stand in line,
	// and for a process that opens or closes the database.
	busyTimeout = 30 * time.Second
)

// Config says where the database is.
type Config struct {
	// Path is the database file. It is created with mode 0600, in a directory
	// created with mode 0700, if it is missing.
	Path string
	// Locks is the directory of the lock files; "" means locks/ beside Path.
	// All processes that use one database must agree on it, and it must be on
	// a local disk.
	Locks string
	// Rollback keeps a rollback journal instead of a write-ahead log. That is
	// slower and lets readers and the writer wait for each other. On a network
	// file system it is so in any case: a write-ahead log needs memory that all
	// who use the file share, and hosts share none.
	Rollback bool
	// Announce hears of a large file before it is made, and what it returns when it is
	// whole or gone. It may be nil.
	Announce func(ctx context.Context, file string) (done func() error, err error)
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Note hears, in one line, that a write waits for another process for more than
	// two seconds. It may be called from several goroutines; nil drops it.
	Note func(text string)
}

// DB is an open database. Its methods may be called from several goroutines.
type DB struct {
	path  string
	locks string
	fs    string // the file system's name, "" if it has none here
	// rollback says that there is a rollback journal and no write-ahead log.
	rollback, network bool

	announce func(ctx context.Context, file string) (done func() error, err error)

	now   func() time.Time
	note  func(text string)
	write writePool
	read  *sql.DB // cannot write
	stmt  statements

	commits committer
	feeds   feeds
	files   files
	packer  packer
}

// Open opens the database, creates it if it is missing, and brings an older
// one to the version of this program. A newer one is refused with [ErrNewer]
// and not touched. Failures of the file are [*Error] values.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Path == "" {
		return nil, errors.New("open the database: Config.Path is empty; name the file")
	}
	if !sqliteCompiled {
		return nil, &Error{
			Op:   "open",
			Path: cfg.Path,
			Err:  errors.New("this plan was built without SQLite"),
			Hint: "build plan with a C compiler (CGO_ENABLED=1)",
		}
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, wrapError("open", cfg.Path, err)
	}
	db := &DB{
		path:     path,
		locks:    cfg.Locks,
		rollback: cfg.Rollback,
		announce: cfg.Announce,
		now:      cfg.Now,
		note:     cfg.Note,
	}
	if db.locks == "" {
		db.locks = filepath.Join(filepath.Dir(path), "locks")
	}
	if db.announce == nil {
		db.announce = noAnnounce
	}
	if db.now == nil {
		db.now = time.Now
	}
	db.commits.begin = db.write.begin
	db.commits.checkFiles = db.files.check
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(db.openError(err), db.Close())
	}
	return db, nil
}

func noAnnounce(context.Context, string) (func() error, error) {
	return func() error { return nil }, nil
}

// openError adds to an error of open what only the whole of it can say.
func (db *DB) openError(err error) error {
	switch {
	case errors.Is(err, ErrNewer):
		return &Error{
			Op:   "open",
			Path: db.path,
			Err:  err,
			Hint: "install a newer plan",
		}
	case errors.Is(err, errNotSQLite):
		return &Error{
			Op:   "open",
			Path: db.path,
			Err:  err,
			Hint: "keep a copy of it; if it was one, `plan journal backup --skip-damaged FILE` saves what in it proves " +
				"itself; put that or a backup in its place, move it away, or set PLAN_HOME to another directory",
		}
	case sqliteHint(err) == hintDamaged, sqliteRefusal(err): // the commands it names would fail here, too
		return &Error{
			Op:   "open",
			Path: db.path,
			Err:  err,
			Hint: hintUnreadable,
		}
	}
	return db.wrapError("open", err)
}

func (db *DB) open(ctx context.Context) error {
	for _, dir := range []string{filepath.Dir(db.path), db.locks} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err //nolint:wrapcheck // it names the directory
		}
	}
	var err error
	if db.fs, db.network, err = filesystem(filepath.Dir(db.path)); err != nil {
		return err
	}
	db.rollback = db.rollback || db.network
	if !db.rollback {
		if err := roomForIndex(db.path); err != nil {
			return err
		}
	}
	scripts, err := migrations()
	if err != nil {
		return err
	}
	if db.write.line, err = db.openLine(); err != nil {
		return err
	}
	if err := db.upgrade(ctx, scripts); err != nil {
		return err
	}
	if err := db.connect(); err != nil {
		return err
	}
	var version int
	if err := db.write.pool.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	if version > len(scripts) { // another process was faster
		return newerError(version, len(scripts))
	}
	if err := db.stmt.prepare(ctx, db.write.pool, db.read); err != nil {
		return err
	}
	return db.files.remember(db.path)
}

// upgrade leaves the file at the version of this program. Only a process that
// has something to change takes the lock; the version is read again under it.
func (db *DB) upgrade(ctx context.Context, scripts []string) error {
	known := len(scripts)
	version, err := storedVersion(ctx, db.path, known)
	if err != nil || version == known {
		return err
	}
	if version > known {
		return newerError(version, known)
	}
	lock := flock.New(filepath.Join(db.locks, migrateLock))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return fmt.Errorf("wait for another process to prepare the database: %w", err)
	}
	defer lock.Close() //nolint:errcheck // closing the file releases it in any case
	if version, err = storedVersion(ctx, db.path, known); err != nil {
		return err
	}
	if version > known {
		return newerError(version, known)
	}
	f, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	if err := f.Close(); err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	// It stays: opening it again takes as long as a commit.
	if db.write.pool, err = openPool(db.writeDSN(), 1); err != nil {
		return err
	}
	return db.inTx(ctx, func(tx *sql.Tx) error { return migrate(ctx, tx, scripts) })
}

func (db *DB) connect() error {
	var err error
	if db.write.pool == nil {
		if db.write.pool, err = openPool(db.writeDSN(), 1); err != nil {
			return err
		}
	}
	db.read, err = openPool(db.readDSN(), maxReaders)
	return err
}

func openPool(dsn string, conns int) (*sql.DB, error) {
	pool, err := openSQLite(dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool, nil
}

// The pragmas stand in the names of the connections because that is the only
// way for every connection of a pool to get them. EXTRA also syncs the
// directory that a rollback journal is removed from, which is its commit.
func (db *DB) writeDSN() string {
	const always = "mode=rw&_foreign_keys=on&_txlock=immediate&"
	if db.rollback {
		return dsn(db.path, always+"_journal_mode=DELETE&_synchronous=EXTRA")
	}
	return dsn(db.path, always+"_journal_mode=WAL&_synchronous=FULL")
}

// readDSN names a connection that changes nothing, except that it takes back
// what a killed process left half done, which a rollback journal makes
// every reader's task.
func (db *DB) readDSN() string {
	if db.rollback {
		return dsn(db.path, "mode=rw&_query_only=on")
	}
	return readOnlyDSN(db.path)
}

func readOnlyDSN(path string) string {
	return dsn(path, "mode=ro&_query_only=on")
}

func dsn(path, query string) string {
	u := url.URL{
		Scheme:   "file",
		Path:     filepath.ToSlash(path),
		RawQuery: fmt.Sprintf("%s&_busy_timeout=%d", query, busyTimeout.Milliseconds()),
	}
	return u.String()
}

// FileSystem says what the file is on, "" if that is not known, and whether it
// is a network file system.
func (db *DB) FileSystem() (name string, network bool) { return db.fs, db.network }

// Path is the database's file.
func (db *DB) Path() string { return db.path }

// Close closes the database. Writers that are still open can no longer append;
// they keep their locks until they are closed too.
func (db *DB) Close() error {
	var errs []error
	// The writing connection goes last: the last one to close empties the
	// write-ahead log, and a reader cannot.
	db.packer.close()
	for _, pool := range []*sql.DB{db.read, db.write.pool} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	if db.write.line != nil {
		errs = append(errs, db.write.line.Close())
	}
	return db.wrapError("close", errors.Join(errs...))
}

package memory

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

//go:embed migration/*.sql
var migrationFS embed.FS

// migrations returns the scripts in order. Script i brings a database from
// version i to version i+1.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFS, "migration/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	scripts := make([]string, len(names))
	for i, name := range names {
		text, err := migrationFS.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		scripts[i] = string(text)
	}
	return scripts, nil
}

// migrate applies what is missing, in a transaction that the caller ends.
func migrate(ctx context.Context, tx *sql.Tx, scripts []string) error {
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	if version > len(scripts) {
		return newerError(version, len(scripts))
	}
	for i, script := range scripts[version:] {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("migrate to version %d: %w", version+i+1, err)
		}
	}
	if err := keepSums(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(scripts))); err != nil {
		return fmt.Errorf("write the version: %w", err)
	}
	return nil
}

func newerError(version, known int) error {
	return fmt.Errorf("%w: it has version %d and this plan knows version %d", ErrNewer, version, known)
}

// Where a database file keeps what tells its version.
const (
	magicBytes    = "SQLite format 3\x00"
	versionOffset = 60 // big-endian uint32
)

// storedVersion reads the version of a database without changing a byte of it:
// from the header of the file, and, when there is a write-ahead log, which may
// hold a later header, through a connection that may not write. A file that is
// missing or empty has version 0.
func storedVersion(ctx context.Context, path string, known int) (int, error) {
	version, err := headerVersion(path)
	if err != nil || version > known {
		return version, err
	}
	wal, err := os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && wal.Size() == 0 {
		return version, nil
	}
	if err != nil {
		return 0, err //nolint:wrapcheck // it names the file
	}
	db, err := sql.Open(driver, readOnlyDSN(path))
	if err != nil {
		return 0, err //nolint:wrapcheck // Open says what was opened
	}
	defer db.Close() //nolint:errcheck // nothing was written
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("read the version: %w", err)
	}
	return version, nil
}

func headerVersion(path string) (int, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err //nolint:wrapcheck // it names the file
	}
	defer f.Close() //nolint:errcheck // only read
	var header [versionOffset + 4]byte
	switch n, err := io.ReadFull(f, header[:]); {
	case n == 0 && errors.Is(err, io.EOF):
		return 0, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return 0, err //nolint:wrapcheck // it names the file
	case !bytes.HasPrefix(header[:], []byte(magicBytes)):
		return 0, errNotSQLite
	}
	return int(binary.BigEndian.Uint32(header[versionOffset:])), nil
}

var errNotSQLite = errors.New("it is not an SQLite database")

//go:build cgo

package memory

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// sqliteCompiled says whether SQLite is part of this program.
const sqliteCompiled = true

// sqliteDamage reports whether SQLite could not make sense of the file, or the disk
// does not give it.
func sqliteDamage(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) &&
		(e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB || e.Code == sqlite3.ErrIoErr)
}

// sqliteHint says what to do about a failure that SQLite reports, "" for any
// other error.
func sqliteHint(err error) string {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Code {
	case sqlite3.ErrFull:
		return hintFull
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen:
		return hintWritable
	case sqlite3.ErrCorrupt:
		return hintDamaged
	case sqlite3.ErrNotADB:
		return "it is not a plan database: move it away, or set PLAN_HOME to another directory"
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return "another process keeps it locked: try again when that one is done"
	case sqlite3.ErrIoErr:
		return "check the disk it is on, and its free space"
	}
	return hintOther
}

//go:build cgo

package memory

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// sqliteCompiled says whether SQLite is part of this program.
const sqliteCompiled = true

// connector opens connections that know row_sum.
type connector struct {
	dsn string
	sqlite3.SQLiteDriver
}

// Connect implements [driver.Connector].
func (c *connector) Connect(context.Context) (sqldriver.Conn, error) {
	return c.Open(c.dsn) //nolint:wrapcheck // the callers say what was opened
}

// Driver implements [driver.Connector].
func (c *connector) Driver() sqldriver.Driver { return &c.SQLiteDriver }

func openSQLite(dsn string) (*sql.DB, error) {
	c := &connector{dsn: dsn}
	c.ConnectHook = func(conn *sqlite3.SQLiteConn) error {
		if err := conn.RegisterFunc("row_sum", rowSum, true); err != nil {
			return fmt.Errorf("define row_sum: %w", err)
		}
		return nil
	}
	return sql.OpenDB(c), nil
}

// sqliteDamage reports whether SQLite could not make sense of the file, or the disk
// does not give it.
func sqliteDamage(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) &&
		(e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB || e.Code == sqlite3.ErrIoErr)
}

// sqliteRefusal reports whether SQLite knows a statement's words not to fit the schema.
func sqliteRefusal(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrError
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

//go:build !cgo

package memory

import "database/sql"

// sqliteCompiled says whether SQLite is part of this program. SQLite is written in
// C; without cgo its driver is a stub whose every query fails.
const sqliteCompiled = false

func openSQLite(dsn string) (*sql.DB, error) {
	return sql.Open(driver, dsn) //nolint:wrapcheck // it fails: there is no such driver
}

func sqliteHint(error) string { return "" }

func sqliteRefusal(error) bool { return false }

func sqliteDamage(error) bool { return false }

//go:build !cgo

package memory

// sqliteCompiled says whether SQLite is part of this program. SQLite is written in
// C; without cgo its driver is a stub whose every query fails.
const sqliteCompiled = false

func sqliteHint(error) string { return "" }

func sqliteDamage(error) bool { return false }

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// unpack writes the files of an archive into a directory, as this user's.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(packed); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		switch head.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, head.FileInfo().Mode().Perm())
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, data, head.FileInfo().Mode().Perm())
			}
		default:
			err = fmt.Errorf("%s is neither a file nor a directory", head.Name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// relocate makes a home and its repositories, which were made elsewhere, ones
// of this directory: their old path, which the file root holds, becomes this
// one. The version of the database stays what it was.
func relocate(t *testing.T, dir string) {
	t.Helper()
	root, err := os.ReadFile(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "plan.db" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, root) {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(data, root, []byte(dir)), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", filepath.Join(dir, "home", "plan.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := relocateRows(t.Context(), db, string(root), dir); err != nil {
		t.Fatal(err)
	}
}

// relocateRows replaces a path in all texts of a database, and computes the
// hash chains of the journals again. Blobs are known by their hashes, so they
// must not have the path in them.
func relocateRows(ctx context.Context, db *sql.DB, root, dir string) error {
	columns, err := texts(ctx, db, `
		SELECT t.name || '.' || c.name
		FROM sqlite_master t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND c.type = 'TEXT'`)
	if err != nil {
		return err
	}
	for _, column := range columns {
		table, name, _ := strings.Cut(column, ".")
		query := fmt.Sprintf("UPDATE %[1]s SET %[2]s = replace(%[2]s, ?, ?) WHERE instr(%[2]s, ?)", table, name)
		if _, err := db.ExecContext(ctx, query, root, dir, root); err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
	}
	packed, err := relocatePacked(ctx, db, root, dir)
	if err != nil {
		return err
	}
	blobs, err := texts(ctx, db, "SELECT hash FROM blobs WHERE instr(data, CAST(? AS BLOB))", root)
	if err != nil || len(blobs) > 0 {
		return errors.Join(fmt.Errorf("blobs with the path in them: %v", blobs), err)
	}
	runs, err := texts(ctx, db, "SELECT key FROM runs")
	for _, run := range runs {
		err = errors.Join(err, rechain(ctx, db, run))
	}
	for id, line := range packed {
		_, e := db.ExecContext(ctx, "UPDATE events SET line = '', packed = ? WHERE id = ?", line, id)
		err = errors.Join(err, e)
	}
	return err
}

// relocatePacked replaces the path in lines that are compressed, and leaves them plain. It
// returns them compressed, by their ids.
func relocatePacked(ctx context.Context, db *sql.DB, root, dir string) (map[string][]byte, error) {
	have, err := texts(ctx, db, "SELECT name FROM pragma_table_info('events') WHERE name = 'packed'")
	if err != nil || len(have) == 0 {
		return nil, err
	}
	ids, err := texts(ctx, db, "SELECT id FROM events WHERE packed IS NOT NULL ORDER BY id")
	if err != nil {
		return nil, err
	}
	lines, err := texts(ctx, db, "SELECT packed FROM events WHERE packed IS NOT NULL ORDER BY id")
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for i, id := range ids {
		line, err := dec.DecodeAll([]byte(lines[i]), nil)
		if err != nil {
			return nil, err
		}
		line = bytes.ReplaceAll(line, []byte(root), []byte(dir))
		out[id] = enc.EncodeAll(line, nil)
		_, err = db.ExecContext(ctx, "UPDATE events SET line = ?, packed = NULL WHERE id = ?", string(line), id)
		if err != nil {
			return nil, err
		}
	}
	return out, enc.Close()
}

// rechain computes the hashes of a journal again.
func rechain(ctx context.Context, db *sql.DB, run string) error {
	lines, err := texts(ctx, db, "SELECT line FROM events WHERE run = ? ORDER BY seq", run)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var chain []byte
	for i, line := range lines {
		sum := sha256.Sum256(append(bytes.Clone(chain), line...))
		chain = sum[:]
		if _, err := tx.ExecContext(ctx, "UPDATE events SET sha = ? WHERE run = ? AND seq = ?", chain, run, i+1); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE runs SET chain = ? WHERE key = ?", chain, run); err != nil {
		return err
	}
	return tx.Commit()
}

// texts are the rows of a query for one text.
func texts(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

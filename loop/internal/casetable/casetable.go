// Package casetable reads the tables of cases in loop/testdata for the tests of
// the rooms of loop. It must not know what a case means.
package casetable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Row is one case of a table.
type Row struct {
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Expected  json.RawMessage `json:"expected"`
	Recommend string          `json:"recommend"`
}

// Kind says which rule of a table with several a row is about.
func (r Row) Kind(t *testing.T) string {
	t.Helper()
	var in struct {
		Kind string `json:"kind"`
	}
	Parse(t, r.Input, &in)
	return in.Kind
}

// Read returns the rows of a table, as a test of a room of loop sees it.
func Read(t *testing.T, file string) []Row {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r Row
		Parse(t, lines.Bytes(), &r)
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil || len(rows) == 0 {
		t.Fatalf("%s has %d rows: %v", file, len(rows), err)
	}
	return rows
}

// ReadKind returns the rows of one kind. A kind without rows is a mistake.
func ReadKind(t *testing.T, file, kind string) []Row {
	t.Helper()
	var some []Row
	for _, r := range Read(t, file) {
		if r.Kind(t) == kind {
			some = append(some, r)
		}
	}
	if len(some) == 0 {
		t.Fatalf("%s has no row of kind %q", file, kind)
	}
	return some
}

// Parse reads JSON of a table.
func Parse(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// SameJSON compares two JSON values by what they mean.
func SameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	var w, g any
	Parse(t, want, &w)
	Parse(t, got, &g)
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

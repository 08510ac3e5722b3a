package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFullDiskOfSmallBlocks: where SQLite's index of its log has no room on the disk,
// which it writes to as memory, the program says so, and the kernel does not end it.
func TestAFullDiskOfSmallBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := newDisk(t, filepath.Join(dir, "disk"), filepath.Join(dir, "d"))
	if err != nil {
		t.Logf("no disk can be made here, so a full one of small blocks is not tried: %v", err)
		return
	}
	defer d.remove()
	p := place{
		killRange: &killRange{
			t:      t,
			binary: program(t),
		},
		dir: d.dir,
	}
	if err := os.MkdirAll(p.repoDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, said := p.start(0, 0, "list"); code != 0 {
		t.Fatalf("%d: %s", code, said)
	}
	ballast, err := os.Create(filepath.Join(d.dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	for size := 1 << 20; size > 0; {
		if _, err := io.CopyN(ballast, zeros{}, int64(size)); err != nil {
			size /= 2
		}
	}
	for _, args := range [][]string{{"list"}, {"batch", "list"}, {"gc"}} {
		if code, said := p.start(0, 0, args...); code != 1 || !strings.Contains(said, "free some space on its disk") {
			t.Errorf("%v ends with %d:\n%s", args, code, said)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

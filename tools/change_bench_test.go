package tools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/plan-engine/plan/loop"
)

// BenchmarkEdit is one edit with its intent, beside a bare safe write of the
// same file: temporary file, fsync, rename, fsync of the directory.
func BenchmarkEdit(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		content := bytes.Repeat([]byte("some line of a file\n"), size/20)
		b.Run(fmt.Sprintf("bare write %d", size), func(b *testing.B) {
			dir := b.TempDir()
			for b.Loop() {
				bareWrite(b, dir, content)
			}
		})
		b.Run(fmt.Sprintf("edit %d", size), func(b *testing.B) {
			d := newFixture(b, files{"a.txt": string(content) + "0\n"})
			d.read("a.txt")
			found, err := d.set.Tools("edit")
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				data, err := json.Marshal(args{"path": "a.txt", "old_string": fmt.Sprintf("\n%d\n", n), "new_string": fmt.Sprintf("\n%d\n", n+1)})
				if err != nil {
					b.Fatal(err)
				}
				if res, err := found[0].Run(b.Context(), loop.Input{Call: "1", Args: data, Update: d.live}); err != nil || res.Error {
					b.Fatal(res.Output, err)
				}
				n++
			}
		})
	}
}

func bareWrite(b *testing.B, dir string, content []byte) {
	b.Helper()
	f, err := os.Create(dir + "/t")
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(dir+"/t", dir+"/a.txt")
	}
	if err != nil {
		b.Fatal(err)
	}
	parent, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer parent.Close()
	if err := parent.Sync(); err != nil {
		b.Fatal(err)
	}
}

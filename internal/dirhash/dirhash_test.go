package dirhash_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plan-engine/plan/internal/dirhash"
)

func TestAHashIsOverAllThatCanMatter(t *testing.T) {
	t.Parallel()
	file := func(text string, mode fs.FileMode) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(text), Mode: mode}
	}
	was := fstest.MapFS{"a": file("1", 0o644), "b/c": file("2", 0o755), "left": file("x", 0o644)}
	hash := func(folder fstest.MapFS) string {
		sum, err := dirhash.Of(folder, "left")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	// The hash is kept with drafts, scores and yeses: it must never become another.
	const known = "29056b4d5fba1d48b55f26c017f8a42069ccfc536939d813d63289e753974304"
	if got := hash(was); got != known {
		t.Errorf("the hash is %s", got)
	}
	for name, folder := range map[string]fstest.MapFS{
		"a content":                      {"a": file("2", 0o644), "b/c": file("2", 0o755)},
		"a mode":                         {"a": file("1", 0o755), "b/c": file("2", 0o755)},
		"a name":                         {"d": file("1", 0o644), "b/c": file("2", 0o755)},
		"a folder":                       {"a": file("1", 0o644), "c": file("2", 0o755)},
		"one file more":                  {"a": file("1", 0o644), "b/c": file("2", 0o755), "d": file("", 0o644)},
		"one that is not left out below": {"a": file("1", 0o644), "b/c": file("2", 0o755), "b/left": file("x", 0o644)},
	} {
		if hash(folder) == known {
			t.Errorf("%s changes nothing", name)
		}
	}
	if got := hash(fstest.MapFS{"a": file("1", 0o600), "b/c": file("2", 0o711), "left": file("y", 0o644)}); got != known {
		t.Error("who may read it, or what is left out, changes the hash")
	}
}

func TestFoldersThatAreNotHashed(t *testing.T) {
	t.Parallel()
	full := func(n int) fstest.MapFS {
		out := fstest.MapFS{}
		for i := range n {
			out[fmt.Sprint(i)] = &fstest.MapFile{}
		}
		return out
	}
	deep := func(n int) fstest.MapFS { return fstest.MapFS{strings.Repeat("d/", n) + "f": &fstest.MapFile{}} }
	for name, c := range map[string]struct {
		folder fstest.MapFS
		why    string
	}{
		"as many files as may be": {full(4096), ""},
		"one more":                {full(4097), "more than 4096 files"},
		"as deep as may be":       {deep(8), ""},
		"one deeper":              {deep(9), "more than 8 deep"},
		"a link":                  {fstest.MapFS{"l": {Mode: fs.ModeSymlink | 0o777}}, "a link or a special file"},
		"large":                   {fstest.MapFS{"a": {Data: make([]byte, 20<<20)}, "b": {Data: make([]byte, 13<<20)}}, "more than 32 MiB"},
	} {
		_, err := dirhash.Of(c.folder)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

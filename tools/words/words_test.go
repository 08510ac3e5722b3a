package words_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan/tools/words"
)

func TestWords(t *testing.T) {
	t.Parallel()
	var x words.Extractor
	for text, want := range map[string]string{
		"":                                  "\n",
		"a B a b":                           "\na\nb\n",
		"res.send = function Send(x1, 1x) ": "\nres\nsend\nfunction\nx1\n",
		"größe_1 $el #priv":                 "\ngröße_1\n$el\npriv\n",
	} {
		if got := string(x.Words([]byte(text))); got != want {
			t.Errorf("the words of %q are %q; want %q", text, got, want)
		}
	}
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "w%d w%d ", i, i/2)
	}
	if n := bytes.Count(x.Words([]byte(many.String())), []byte("\n")); n != 20_001 {
		t.Errorf("%d words of 20000", n-1)
	}
	held := x.Words([]byte("func LoadAll(ctx) // body-parser"))
	for name, want := range map[string][2]bool{ // whole, part
		"LoadAll":     {true, true},
		"load":        {false, true},
		"body-parser": {true, true},
		"body-zz":     {false, false},
	} {
		if got := [2]bool{words.Seek(name, true).In(held), words.Seek(name, false).In(held)}; got != want {
			t.Errorf("%s: whole and part %v; want %v", name, got, want)
		}
	}
}

// TestStore: what was added is there for a later process; a file that is damaged
// anywhere, or belongs to another version, is empty and is written anew.
func TestStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "home", "tree.words")
	none := func(words.Key) bool { return false }
	fill := func(s *words.Store) {
		for i := range 10 {
			text := fmt.Appendf(nil, "text %d", i)
			s.Add(words.KeyOf(text), []byte("\n"+string(text)+"\n"))
		}
		if err := s.Save(none, true); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(s *words.Store) bool {
		held, ok := s.Get(words.KeyOf([]byte("text 7")))
		return ok && string(held) == "\ntext 7\n"
	}
	fill(words.Open(path))
	whole, err := os.ReadFile(path)
	if err != nil || !holds(words.Open(path)) {
		t.Fatal("it is not there again", err)
	}
	for at := 0; at < len(whole); at += 7 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 4
		for _, data := range [][]byte{damaged, whole[:at]} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if holds(words.Open(path)) {
				t.Fatalf("a file that is damaged at %d counts", at)
			}
		}
	}
	fill(words.Open(path))
	if !holds(words.Open(path)) {
		t.Error("a damaged file is not written anew")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	words.Open(path) // which is no file
}

// TestStoreOfManyProcesses: no matter which process writes, a reader finds a whole file.
func TestStoreOfManyProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tree.words")
	var writing sync.WaitGroup
	for w := range 4 {
		writing.Go(func() {
			for i := range 20 {
				s := words.Open(path)
				s.Add(words.KeyOf(fmt.Appendf(nil, "%d %d", w, i)), bytes.Repeat([]byte("\nword"), 1000))
				if err := s.Save(func(words.Key) bool { return true }, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	found := 0
	s := words.Open(path)
	for w := range 4 {
		for i := range 20 {
			if _, ok := s.Get(words.KeyOf(fmt.Appendf(nil, "%d %d", w, i))); ok {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("nothing was kept")
	}
	for i := range 60 { // of other repositories
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Add(words.Key{}, []byte("\n"))
	if err := s.Save(nil, true); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 24 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

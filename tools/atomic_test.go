package tools_test

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// A reader of a file that is being written sees one whole content.
func TestNobodySeesAPart(t *testing.T) {
	t.Parallel()
	contents := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 200_000)}
	d := newFixture(t, map[string]string{"a.txt": contents[0]})
	stop := make(chan struct{})
	var looking sync.WaitGroup
	seen := map[string]int{}
	looked := make(chan struct{}, 1)
	looking.Go(func() {
		for {
			data, err := os.ReadFile(d.path("a.txt"))
			if err != nil {
				t.Error(err)
				return
			}
			if s := string(data); s != contents[0] && s != contents[1] {
				t.Errorf("saw %d bytes that are neither content", len(data))
				return
			}
			seen[string(data[:1])]++
			select {
			case looked <- struct{}{}:
			default:
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	d.do("write", args{"path": "a.txt", "content": contents[0]})
	for i := range 20 {
		d.do("write", args{"path": "a.txt", "content": contents[(i+1)%2]})
		<-looked // so that both are looked at, however the two take turns
	}
	close(stop)
	looking.Wait()
	if len(seen) != 2 {
		t.Errorf("saw only %v", seen)
	}
	if left, err := os.ReadDir(d.dir); err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// Edits at the same time all take place: none works on what another replaces.
func TestEditsAtTheSameTime(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "a\nb\nc\nd\ne\nf\ng\nh\n"})
	d.read("a.txt")
	var all sync.WaitGroup
	for _, letter := range strings.Split("abcdefgh", "") {
		all.Go(func() {
			if res := d.call("edit", args{"path": "a.txt", "old_string": letter, "new_string": strings.ToUpper(letter) + letter + "!"}); res.Error {
				t.Error(res.Output)
			}
		})
	}
	all.Wait()
	d.has("a.txt", "Aa!\nBb!\nCc!\nDd!\nEe!\nFf!\nGg!\nHh!\n")
}

// A failed write leaves neither a temporary file nor a changed one.
func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"a.txt": "old\n"})
	d.put("../other/b.txt", "old\n")
	d.symlink("../other", "away")
	before := len(d.tree())
	d.refused("write", args{"path": "away/c.txt", "content": "x"}, "outside")
	d.refused("write", args{"path": strings.Repeat("d/", 3) + strings.Repeat("x", 300), "content": "x"}, "too long")
	if after := len(d.tree()); after != before {
		t.Errorf("%d names, before %d", after, before)
	}
}

package tools_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools"
)

// fixture is a root with files in it and the tools over it.
type fixture struct {
	t    testing.TB
	dir  string // the root; beside it is room for what must stay untouched
	set  *tools.Set
	live func(string)
}

// newFixture makes a root with the given files, by path.
func newFixture(t testing.TB, files map[string]string) *fixture {
	t.Helper()
	d := &fixture{t: t, dir: filepath.Join(t.TempDir(), "root"), live: func(string) {}}
	must(t, os.Mkdir(d.dir, 0o755))
	for name, content := range files {
		d.put(name, content)
	}
	d.set = d.open(nil)
	return d
}

// open makes another set over the same root.
func (d *fixture) open(seen map[string]string) *tools.Set {
	d.t.Helper()
	set, err := tools.New(tools.Config{Root: d.dir, Shell: d.shell(), Seen: seen})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := set.Close(); err != nil {
			d.t.Error(err)
		}
	})
	return set
}

func (d *fixture) shell() *sandbox.Shell {
	d.t.Helper()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		d.t.Fatal(err)
	}
	return shell
}

func (d *fixture) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// put writes a file behind the tools' back.
func (d *fixture) put(name, content string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) chmod(name string, mode fs.FileMode) {
	d.t.Helper()
	if err := os.Chmod(d.path(name), mode); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) symlink(target, name string) {
	d.t.Helper()
	if err := os.Symlink(target, d.path(name)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) mode(name string) fs.FileMode {
	d.t.Helper()
	info, err := os.Lstat(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return info.Mode()
}

// content is what a file has; "(gone)" if there is none.
func (d *fixture) content(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(d.path(name))
	if os.IsNotExist(err) {
		return "(gone)"
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

// call runs a tool.
func (d *fixture) call(name string, a args) loop.Result {
	d.t.Helper()
	return d.callOn(d.set, name, a)
}

func (d *fixture) callOn(set *tools.Set, name string, a args) loop.Result {
	d.t.Helper()
	found, err := set.Tools(name)
	if err != nil {
		d.t.Fatal(err)
	}
	data, err := json.Marshal(a)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := found[0].Run(d.t.Context(), loop.Input{Call: "1", Args: data, Update: d.live})
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	return res
}

// do runs a tool that must succeed.
func (d *fixture) do(name string, a args) loop.Result {
	d.t.Helper()
	res := d.call(name, a)
	if res.Error {
		d.t.Fatalf("%s failed: %s", name, res.Output)
	}
	return res
}

// refused runs a tool that must fail and say every one of the words.
func (d *fixture) refused(name string, a args, words ...string) loop.Result {
	d.t.Helper()
	res := d.call(name, a)
	if !res.Error {
		d.t.Fatalf("%s did not fail: %s", name, res.Output)
	}
	d.says(res, words...)
	return res
}

func (d *fixture) says(res loop.Result, words ...string) {
	d.t.Helper()
	for _, w := range words {
		if !strings.Contains(res.Output, w) {
			d.t.Errorf("the answer does not say %q:\n%s", w, res.Output)
		}
	}
}

// has checks what a file has.
func (d *fixture) has(name, want string) {
	d.t.Helper()
	if got := d.content(name); got != want {
		d.t.Errorf("%s has %q, want %q", name, got, want)
	}
}

func (d *fixture) read(names ...string) {
	d.t.Helper()
	for _, name := range names {
		d.do("read", args{"path": name})
	}
}

// tree is everything below the directory that holds the root: names, modes,
// contents.
func (d *fixture) tree() map[string]string {
	d.t.Helper()
	out := map[string]string{}
	top := filepath.Dir(d.dir)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		content := ""
		switch {
		case e.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		case e.Type()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		out[filepath.ToSlash(name)] = info.Mode().String() + " " + content
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

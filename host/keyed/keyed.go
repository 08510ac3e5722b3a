// Package keyed prepares a fetch that gets keys of the user: it says which sources a
// tree's lock files name, and gives keys only where the user's own settings name all of
// them, or they are a public registry.
//
// A tree's files are written by models. So such a fetch does not run in the tree: it runs
// in a folder that holds copies of lock files and manifests, with nothing in them but
// what a tool resolves packages by, and beside them settings that hold the keys, each
// bound to its host. The package makes the texts of these files. It must not know walls,
// and it runs nothing.
package keyed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// Kinds of keys, as the setting has them.
const (
	KeyNPM           = "npm"
	KeyNetrc         = "netrc"
	KeyGitCredential = "git-credential" //nolint:gosec // a word of the settings
	KeySSHAgent      = "ssh-agent"
)

// Folders of a fetch.
const (
	treeDir = "tree/" // what is copied of the tree
	keysDir = "keys/" // settings with keys
)

// Tree reads files of a tree.
type Tree interface {
	IDs() map[string]string // by path; only the paths matter
	ReadLocks(ctx context.Context, paths ...string) (map[string]string, error)
}

// User is whose keys they are.
type User struct {
	// Keys are the kinds that may be given.
	Keys []string
	// Env is the user's environment, as NAME=value.
	Env []string
	// Path is where programs are looked for, as PATH has it: nowhere in a work tree.
	Path string
	// Git are the user's settings of git as commands see them: without credentials.
	Git string
	// Ask asks the user's helpers of git for the name and the password for a host.
	Ask func(ctx context.Context, host string) (name, password string, err error)
}

// Fetch is one command, with the files of the folder that it runs in.
type Fetch struct {
	Tool    string
	Line    string
	Files   map[string]string // by path, with slashes
	Agent   *Agent            // nil: none
	secrets []string
}

// Clean is a text without the keys of the fetch.
func (f Fetch) Clean(text string) string {
	for _, secret := range f.secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}

// errNone says that there is no key that could help.
var errNone = errors.New("your settings hold none for what it names")

// Withheld says why a tool gets no keys.
type Withheld struct {
	Tool string
	Err  error
}

func (w Withheld) String() string { return fmt.Sprintf("%s gets no keys: %v", w.Tool, w.Err) }

// KeysOf lists the kinds of keys that a tool can be given, nil where it cannot be kept
// from running code of the tree with them, or from taking them elsewhere.
func KeysOf(tool string) []string {
	switch tool {
	case "npm":
		return []string{KeyNPM}
	case "go":
		return []string{KeyNetrc, KeyGitCredential, KeySSHAgent}
	}
	return nil
}

// Prepare prepares a fetch for each tool whose lock files these are, by the tool.
func Prepare(
	ctx context.Context,
	u User,
	tree Tree,
	locks map[string][]string,
) (out []Fetch, without []Withheld, err error) {
	for _, tool := range slices.Sorted(maps.Keys(locks)) {
		f := Fetch{Tool: tool, Files: map[string]string{}}
		var refused error
		switch {
		case len(KeysOf(tool)) == 0:
			refused = errors.New("it cannot be kept from running code with them, or from sending them elsewhere")
		case !slices.ContainsFunc(KeysOf(tool), u.has):
			refused = fmt.Errorf("the setting has none of its kinds (%s)", strings.Join(KeysOf(tool), ", "))
		case tool == "npm":
			refused, err = u.npm(ctx, tree, locks[tool], &f)
		case tool == "go":
			refused, err = u.golang(ctx, tree, locks[tool], &f)
		}
		if err != nil {
			return nil, nil, err
		}
		if refused != nil {
			without = append(without, Withheld{Tool: tool, Err: refused})
			continue
		}
		out = append(out, f)
	}
	return out, without, nil
}

func (u User) has(kind string) bool { return slices.Contains(u.Keys, kind) }

// env is the value of the first of the variables that is set.
func (u User) env(names ...string) string {
	for _, name := range names {
		for _, entry := range slices.Backward(u.Env) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok && value != "" {
				return value
			}
		}
	}
	return ""
}

// plainPath is a path that needs no care in a command line or on a disk.
var plainPath = lazy.Regexp(`^[A-Za-z0-9_@+][A-Za-z0-9_@+.-]*(/[A-Za-z0-9_@+][A-Za-z0-9_@+.-]*)*$`)

// put copies a file of the tree.
func (f *Fetch) put(name, text string) error {
	if name != path.Clean(name) || !plainPath().MatchString(name) {
		return fmt.Errorf("it lies at %q", name)
	}
	f.Files[treeDir+name] = text
	return nil
}

// in is a command line that runs another one in a folder of the copies, where $KEYS is
// the folder of the keys.
func (u User) in(dir, line string) string {
	return fmt.Sprintf(
		`(export PATH=%s KEYS="$PWD/%s"; cd '%s' && %s)`,
		quote(u.Path),
		strings.TrimSuffix(keysDir, "/"),
		path.Join(treeDir, dir),
		line,
	)
}

// quote makes a shell take a text as it is.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

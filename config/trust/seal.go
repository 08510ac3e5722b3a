package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// Seal copies files of the tree at root into an empty folder, at the same paths. Beside
// them stand links to what stands beside them in the tree, without its .git, so that
// programs find what they look for next to themselves. A link is no file that can be
// sealed: what it leads to may be another one at any time.
func Seal(root, to string, names []string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("read the repository: %w", err)
	}
	defer dir.Close() //nolint:errcheck // only read from
	folders := []string{"."}
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is no file of its own")
		}
		var data []byte
		var mode fs.FileMode
		if err == nil {
			data, mode, err = content(dir, name)
		}
		at := filepath.Join(to, filepath.FromSlash(name))
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), writeProgram(at, data), os.Chmod(at, mode.Perm()|0o400))
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		for in := path.Dir(name); in != "."; in = path.Dir(in) {
			folders = append(folders, in)
		}
	}
	for _, in := range slices.Compact(slices.Sorted(slices.Values(folders))) {
		if err := linkBeside(dir, root, to, in); err != nil {
			return err
		}
	}
	return nil
}

// writeProgram writes a file that is run at once. A child that is being forked meanwhile
// would hold it open for writing, and what is open for writing cannot be run.
func writeProgram(name string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, data, 0o600) //nolint:wrapcheck // names the file
}

// linkBeside makes the links of one folder.
func linkBeside(dir *os.Root, root, to, in string) error {
	entries, err := fs.ReadDir(dir.FS(), in)
	if err != nil {
		return fmt.Errorf("read %s: %w", in, err)
	}
	for _, e := range entries {
		name := filepath.FromSlash(path.Join(in, e.Name()))
		if name == ".git" {
			continue
		}
		err := os.Symlink(filepath.Join(root, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// interpreters are programs that run the first file they are given.
var interpreters = []string{
	".", "bash", "bun", "dash", "deno", "ksh", "lua", "node", "perl", "php", "python", "python3", "ruby", "sh",
	"source", "ts-node", "tsx", "zsh",
}

// wrappers run the command that follows.
var wrappers = []string{"command", "env", "exec", "nice", "nohup", "sudo", "time"}

// Elsewhere is a command line that runs files of the tree from another folder instead,
// where they are at the same paths; what it only names stays as it is.
func Elsewhere(command, root, from string, names []string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return command
	}
	type change struct {
		start, end uint
		text       string
	}
	var changes []change
	moves := false // then it cannot be told where a name leads
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		w := program(call.Args)
		if w == nil {
			return true
		}
		moves = moves || slices.Contains([]string{"cd", "pushd", "popd", "eval"}, w.Lit())
		name := w.Lit()
		if rel, err := filepath.Rel(root, name); filepath.IsAbs(name) && err == nil {
			name = rel
		}
		name = path.Clean(filepath.ToSlash(name))
		if slices.Contains(names, name) {
			quoted, err := syntax.Quote(filepath.Join(from, filepath.FromSlash(name)), syntax.LangBash)
			if err == nil {
				changes = append(changes, change{w.Pos().Offset(), w.End().Offset(), quoted})
			}
		}
		return true
	})
	if moves {
		return command
	}
	for _, c := range slices.Backward(changes) {
		command = command[:c.start] + c.text + command[c.end:]
	}
	return command
}

// program is the word of a call that names the file which is run, nil if there is none.
func program(args []*syntax.Word) *syntax.Word {
	for i := 0; i < len(args); i++ {
		name := args[i].Lit()
		switch {
		case slices.Contains(wrappers, path.Base(name)):
			for i+1 < len(args) && strings.ContainsAny(args[i+1].Lit(), "=") {
				i++
			}
		case slices.Contains(interpreters, path.Base(name)):
			if i+1 < len(args) && !strings.HasPrefix(args[i+1].Lit(), "-") {
				return args[i+1]
			}
			return nil
		default:
			return args[i]
		}
	}
	return nil
}

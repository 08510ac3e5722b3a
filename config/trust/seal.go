package trust

import (
	"cmp"
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
		name := plainText(w)
		moves = moves || slices.Contains([]string{"cd", "pushd", "popd", "eval"}, name)
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
	// A call stands before the calls within it, and an assignment's after its words.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	for _, c := range slices.Backward(changes) {
		command = command[:c.start] + c.text + command[c.end:]
	}
	return command
}

// launcher is a program that runs another one, or a file, which it is given.
type launcher struct {
	names []string
	// valued are its options that take the next word.
	valued []string
	// text are those that say what it runs themselves: it is given no file then.
	text []string
}

// launchers are those that are known, wrappers of commands and interpreters of files.
func launchers() (wrappers, interpreters []launcher) {
	wrappers = []launcher{
		{names: []string{"command", "nohup", "time"}, text: []string{"-v", "-V"}},
		{names: []string{"env"}, valued: []string{"-u", "-C", "--unset", "--chdir"}, text: []string{"-S"}},
		{names: []string{"exec"}, valued: []string{"-a"}},
		{names: []string{"nice"}, valued: []string{"-n"}},
		{names: []string{"ionice"}, valued: []string{"-c", "-n"}, text: []string{"-p"}},
		{names: []string{"sudo"}, valued: []string{"-u", "-g", "-h", "-p"}, text: []string{"-s", "-i"}},
	}
	interpreters = []launcher{
		{names: []string{"bash", "dash", "ksh", "sh", "zsh"}, valued: []string{"-o", "+o", "-O", "+O"}, text: []string{"-c"}},
		{names: []string{".", "source"}},
		{names: []string{"python", "python3"}, valued: []string{"-W", "-X"}, text: []string{"-c", "-m"}},
		{names: []string{"bun", "deno", "node", "ts-node", "tsx"}, valued: []string{"-r"}, text: []string{"-e", "-p"}},
		{names: []string{"lua", "perl", "php", "ruby"}, valued: []string{"-I"}, text: []string{"-e", "-r"}},
	}
	return wrappers, interpreters
}

// program is the word of a call that names the file which is run, nil if there is none.
func program(args []*syntax.Word) *syntax.Word {
	wrappers, interpreters := launchers()
	find := func(all []launcher, name string) *launcher {
		i := slices.IndexFunc(all, func(r launcher) bool { return slices.Contains(r.names, name) })
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	for len(args) > 0 {
		name := path.Base(plainText(args[0]))
		wrapper, interpreter := find(wrappers, name), find(interpreters, name)
		switch {
		case wrapper != nil:
			args = wrapper.behindOptions(args[1:])
			for len(args) > 0 && strings.Contains(args[0].Lit(), "=") {
				args = args[1:]
			}
		case interpreter != nil:
			if args = interpreter.behindOptions(args[1:]); len(args) == 0 {
				return nil
			}
			return args[0]
		default:
			return args[0]
		}
	}
	return nil
}

// behindOptions are the words behind its options; none where an option says what it
// runs.
func (l launcher) behindOptions(args []*syntax.Word) []*syntax.Word {
	for len(args) > 0 {
		option := plainText(args[0])
		switch {
		case option == "--":
			return args[1:]
		case slices.Contains(l.text, option):
			return nil
		case slices.Contains(l.valued, option):
			args = args[min(2, len(args)):]
		case len(option) > 1 && strings.ContainsAny(option[:1], "-+"):
			args = args[1:]
		default:
			return args
		}
	}
	return nil
}

// plainText is a word without its quotes, "" where it has something in it that the shell
// puts together.
func plainText(w *syntax.Word) string {
	var text strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text.WriteString(part.Value)
		case *syntax.SglQuoted:
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, within := range part.Parts {
				literal, ok := within.(*syntax.Lit)
				if !ok {
					return ""
				}
				text.WriteString(literal.Value)
			}
		default:
			return ""
		}
	}
	return text.String()
}

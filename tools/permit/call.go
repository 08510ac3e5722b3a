package permit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// arguments are those of the built-in tools that rules look at.
type arguments struct {
	Path       string  `json:"path"`
	Command    string  `json:"command"`
	Patch      string  `json:"patch"`
	Content    *string `json:"content"`
	OldString  *string `json:"old_string"`
	NewString  string  `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
}

// Read makes a call to be judged of a tool's arguments. Dir is where the tool
// works.
func Read(tool string, args []byte, dir string) Call {
	var a arguments
	_ = json.Unmarshal(args, &a) // what is not there is empty
	c := Call{
		Tool:    tool,
		Command: a.Command,
		Dir:     dir,
	}
	if a.Path != "" {
		c.Paths = []string{a.Path}
	}
	if a.Patch != "" {
		c.Paths = append(c.Paths, patchPaths(dir, a.Patch)...)
	}
	return c
}

// Hooks asks the policy about every call of a conversation whose tools work in
// dir. With force nothing is asked or denied, and the journal says of what.
func (p *Policy) Hooks(dir string, force bool) loop.Hooks {
	return loop.Hooks{BeforeTool: func(_ context.Context, t loop.ToolCall) loop.Decision {
		r := p.Judge(Read(t.Info.Name, t.Args, dir))
		decided := plan.ApprovalResolved{
			Call:   t.ID,
			Reason: r.Reason,
			By:     "policy",
			Rule:   r.Rule,
		}
		switch {
		case r.Action == Allow:
			return loop.Decision{Verb: loop.Pass}
		case force:
			decided.Approved, decided.Reason = true, "forced: "+r.Reason
			return loop.Decision{Verb: loop.Pass, Record: []plan.Body{decided}}
		case r.Action == Ask:
			return loop.Decision{
				Verb:   loop.Confirm,
				Reason: r.Reason,
				Rule:   r.Rule,
				Grant:  r.Grant,
				Effect: Effect(dir, t.Info.Name, t.Args),
			}
		}
		return loop.Decision{
			Verb:   loop.Block,
			Reason: r.Reason,
			Rule:   r.Rule,
			Record: []plan.Body{decided},
		}
	}}
}

// patchPaths are the files that a patch names, in either of its forms. What
// only looks like a name is one more that is judged.
func patchPaths(dir, patch string) []string {
	var out []string
	for line := range strings.Lines(patch) {
		for _, prefix := range []string{
			"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:",
			"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ",
		} {
			name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), prefix)
			if !ok {
				continue
			}
			for _, n := range patchNames(dir, name) {
				if !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// patchNames are the files that a name in a patch may stand for. The tool takes
// a/ and b/ for git's prefixes; where there is such a folder, they may be meant.
func patchNames(dir, name string) []string {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	if name == "" || name == "/dev/null" {
		return nil
	}
	for _, prefix := range []string{"a", "b"} {
		rest, ok := strings.CutPrefix(name, prefix+"/")
		if !ok {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, prefix)); err == nil {
			return []string{rest, name}
		}
		return []string{rest}
	}
	return []string{name}
}

const (
	// mostFile is the largest file that is compared, in bytes.
	mostFile = 1 << 20
	// mostEffect is how much of an effect is shown, in bytes.
	mostEffect = 16 << 10
)

// Effect is what a call would do, as a person can judge it: a diff against the
// file as it stands, a patch, a command and where it runs. It is "" for tools
// that are not known.
func Effect(dir, tool string, args []byte) string {
	var a arguments
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	text := ""
	switch {
	case a.Command != "":
		text = fmt.Sprintf("in %s\n$ %s", dir, a.Command)
	case a.Patch != "":
		text = a.Patch
	case a.Path != "" && a.Content != nil:
		text = difference(dir, a.Path, func(string) (string, error) { return *a.Content, nil })
	case a.Path != "" && a.OldString != nil:
		text = difference(dir, a.Path, func(old string) (string, error) { return a.edited(old) })
	}
	if len(text) > mostEffect {
		text = strings.ToValidUTF8(
			text[:mostEffect],
			"",
		) + "\n(the rest is left out here; the arguments in the journal have all of it)"
	}
	return text
}

// edited is a text after the edit, which the tool itself will check again.
func (a arguments) edited(old string) (string, error) {
	switch n := strings.Count(old, *a.OldString); {
	case *a.OldString == "":
		return old + a.NewString, nil
	case n == 0:
		return "", fmt.Errorf("the text to replace is not in the file as it stands, so the edit will fail")
	case n > 1 && !a.ReplaceAll:
		return "", fmt.Errorf("the text to replace is there %d times, so the edit will fail", n)
	}
	return strings.ReplaceAll(old, *a.OldString, a.NewString), nil
}

// difference is the diff between a file as it stands and as it would be.
func difference(dir, name string, change func(string) (string, error)) string {
	old, from, err := current(dir, name)
	if err == nil {
		var now string
		if now, err = change(old); err == nil && now == old {
			return fmt.Sprintf("%s: nothing would change", name)
		} else if err == nil {
			return udiff.Unified(from, name, old, now)
		}
	}
	return fmt.Sprintf("%s: %v", name, err)
}

// current reads a file of the tree; one that is not there is empty.
func current(dir, name string) (text, from string, err error) {
	if filepath.IsAbs(name) {
		if rel, err := filepath.Rel(dir, name); err == nil {
			name = rel
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", fmt.Errorf("the tree cannot be read: %w", err)
	}
	defer root.Close() //nolint:errcheck // only read from
	info, err := root.Stat(path.Clean(name))
	switch {
	case os.IsNotExist(err):
		return "", "/dev/null", nil
	case err != nil:
		return "", "", fmt.Errorf("it cannot be read: %w", err)
	case !info.Mode().IsRegular() || info.Size() > mostFile:
		return "", "", fmt.Errorf(
			"it is no file that can be compared (%s, %d bytes)",
			info.Mode().Type(),
			info.Size(),
		)
	}
	f, err := root.Open(path.Clean(name))
	if err != nil {
		return "", "", fmt.Errorf("it cannot be read: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, mostFile))
	if err != nil {
		return "", "", fmt.Errorf("it cannot be read: %w", err)
	}
	return string(data), name, nil
}

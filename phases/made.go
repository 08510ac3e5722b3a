package phases

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
	"github.com/plan-engine/plan/sandbox"
)

// newFiles are the files that the calls of a review have made in its room. Those that a
// command names come first, then the small ones. Of the others a temporary folder has
// only what programs left there for themselves, such as their caches. What is too much
// altogether is left out, and so is what cannot be read.
func newFiles(ctx context.Context, room Room, calls []review.Call) ([]plan.NewFile, error) {
	if room.Added == nil {
		return nil, nil
	}
	named := namedBy(calls)
	files, err := room.Added(ctx, named)
	if err != nil {
		return nil, &plan.Outage{Err: fmt.Errorf("look at the files that the reviewer made: %w", err)}
	}
	files = slices.DeleteFunc(files, func(f plan.AddedFile) bool { return path.IsAbs(f.Path) && !named(f.Path) })
	slices.SortStableFunc(files, func(a, b plan.AddedFile) int {
		if named(a.Path) != named(b.Path) {
			return map[bool]int{true: -1, false: 1}[named(a.Path)]
		}
		return cmp.Compare(a.Size, b.Size)
	})
	var out []plan.NewFile
	left := int64(mostAdded)
	for _, f := range files {
		if len(out) == mostFiles {
			break
		}
		if f.Size > left {
			continue // one that is smaller may follow
		}
		left -= f.Size
		data, _, err := room.Read(f.Path)
		if err != nil {
			continue // it is gone again, or no file that can be read
		}
		out = append(out, plan.NewFile{AddedFile: f, Data: data})
	}
	slices.SortFunc(out, func(a, b plan.NewFile) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// madeFiles tells what each call of a review has made, so that a process that goes on with
// the review can put it back: the room of the one before is gone, and a verdict may rest
// on the tests that the reviewer wrote there.
type madeFiles struct {
	room       Room
	redactRead func(string) string
	known      map[string]plan.AddedFile // by path, as the journal has them
	altered    []string                  // files of the work that stood changed in the room of the process before
}

// newMadeFiles is what the journal says that was made.
func newMadeFiles(room Room, past []plan.Event, redactRead func(string) string) *madeFiles {
	m := &madeFiles{
		room:       room,
		redactRead: redactRead,
		known:      map[string]plan.AddedFile{},
	}
	for _, ev := range past {
		end, ok := ev.Body.(plan.ToolEnd)
		if !ok {
			continue
		}
		if end.ExitCode != nil {
			m.altered = end.Altered
		}
		for _, f := range end.Made {
			if m.known[f.Path] = f; f.Hash == "" {
				delete(m.known, f.Path)
			}
		}
	}
	return m
}

// since is what was made, written anew or removed since it was asked before, with the
// contents. What cannot be told is left out: it is only missed by a process that goes on.
func (m *madeFiles) since(ctx context.Context, calls []review.Call) ([]plan.AddedFile, []plan.Blob, error) {
	files, err := newFiles(ctx, m.room, calls)
	if err != nil {
		return nil, nil, err
	}
	var changed []plan.AddedFile
	var contents []plan.Blob
	exists := map[string]bool{}
	for _, f := range files {
		if hasSecret(f.Data, m.redactRead) {
			continue
		}
		blob := plan.NewBlob(f.Data)
		f.Hash = blob.Hash
		exists[f.Path] = true
		if before := m.known[f.Path]; before.Hash == f.Hash && before.Mode == f.Mode {
			continue
		}
		m.known[f.Path] = f.AddedFile
		changed = append(changed, f.AddedFile)
		contents = append(contents, blob)
	}
	for name := range m.known {
		if !exists[name] {
			delete(m.known, name)
			changed = append(changed, plan.AddedFile{Path: name})
		}
	}
	slices.SortFunc(changed, func(a, b plan.AddedFile) int { return cmp.Compare(a.Path, b.Path) })
	return changed, contents, nil
}

// hasSecret reports whether a content has a known secret: it stays out of the journal.
func hasSecret(data []byte, redactRead func(string) string) bool {
	return redactRead != nil && redactRead(string(data)) != string(data)
}

// putBack makes the files again that the journal says were there.
func (m *madeFiles) putBack(ctx context.Context, contents func(context.Context, string) ([]byte, error)) error {
	if len(m.known) == 0 || m.room.Shell == nil || contents == nil {
		return nil
	}
	var files []plan.NewFile
	for name, f := range m.known {
		data, err := contents(ctx, f.Hash)
		if err != nil {
			return fmt.Errorf("read %s, which the reviewer made: %w", name, err)
		}
		files = append(files, plan.NewFile{AddedFile: f, Data: data})
	}
	if err := m.room.PutBack(ctx, files); err != nil {
		return &plan.Outage{Err: err}
	}
	return nil
}

// lossNote says, once, what a reviewer cannot know of a room that was made anew.
func (m *madeFiles) lossNote() string {
	if len(m.altered) == 0 {
		return ""
	}
	files := listed(m.altered, 20)
	m.altered = nil
	return "\nNote: your copy was made anew before this call. The files that you made are in it; these files of the " +
		"work stood changed in it before, and stand as in the work now: " + files
}

// PutBack makes files that commands had made in another room, by commands, so that they
// count as made by commands.
func (r Room) PutBack(ctx context.Context, files []plan.NewFile) error {
	for _, f := range files {
		res, err := r.Shell.Run(ctx, sandbox.Command{
			Line:  putLine(f.Path, fs.FileMode(f.Mode).Perm()),
			Dir:   r.Dir,
			Input: f.Data,
		})
		if err == nil && res.ExitCode != 0 {
			err = fmt.Errorf("exit %d: %s", res.ExitCode, bytes.TrimSpace([]byte(res.Output)))
		}
		if err != nil {
			return fmt.Errorf("put %s back, which the reviewer made: %w", f.Path, err)
		}
	}
	return nil
}

// putLine is a command line that writes its input to a file. One below /tmp lies in the
// commands' own temporary folder, which not every wall can show under that name.
func putLine(name string, mode fs.FileMode) string {
	folder := ""
	if below, ok := strings.CutPrefix(name, "/tmp/"); ok {
		name, folder = below, `"${TMPDIR:-/tmp}"/`
	}
	return fmt.Sprintf(
		"mkdir -p -- %[1]s%[2]s && cat > %[1]s%[3]s && chmod %[4]o -- %[1]s%[3]s",
		folder,
		shellWord(path.Dir(name)),
		shellWord(name),
		mode,
	)
}

// shellWord is a word as a shell reads it. A name that begins with a dash is no option.
func shellWord(word string) string {
	if !path.IsAbs(word) {
		word = "./" + word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

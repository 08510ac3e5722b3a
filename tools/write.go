package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
)

//go:embed write.md
var writeDoc string

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func writeTool() builtin {
	return builtin{
		info:    changeInfo("write", writeDoc),
		purpose: Modify,
		describe: described(func(dir string, a writeArgs) Call {
			c := describePath(a.Path)
			c.Preview = func() string { return previewContent(dir, a.Path, a.Content) }
			return c
		}),
		open: changes(workWrite),
	}
}

// workWrite works out a file that gets a whole new content.
func workWrite(_ context.Context, w *working, args writeArgs) error {
	f, err := w.set.load(args.Path)
	if err != nil {
		return err
	}
	next := f
	next.data = []byte(args.Content)
	if f.exists && bytes.Equal(f.data, next.data) {
		w.put(f, f)
		w.report("unchanged: %s already has exactly this content (%s)", show(f.path), size(f.data))
		return nil
	}
	if err := w.set.fresh(f, "written over"); err != nil {
		return err
	}
	w.put(f, next)
	if !f.exists {
		w.report("created %s: %s", show(f.path), size(next.data))
		return nil
	}
	w.report("replaced %s: %s (before: %s)", show(f.path), size(next.data), size(f.data))
	if bytes.Contains(f.data, []byte("\r\n")) && !bytes.Contains(next.data, []byte("\r\n")) {
		w.report(
			"Note: it had CRLF line endings and now has LF ones. If that was not intended, write it again with CRLF.",
		)
	}
	return nil
}

// fresh refuses to touch a file that the conversation has not seen as it is
// now. A file that does not exist has nothing to lose.
func (s *Set) fresh(f file, done string) error {
	known, err := s.current(f)
	switch {
	case err != nil:
		return err
	case !known && f.exists:
		return fmt.Errorf(
			"%s exists and has not been read in this conversation, so it was not %s. Read it first",
			show(f.path),
			done,
		)
	}
	return nil
}

// current reports whether the conversation knows the file. Knowing it as
// something else than it is now is an error that shows the difference.
func (s *Set) current(f file) (bool, error) {
	if !f.exists {
		return false, nil
	}
	now, stale := hashOf(f.data), ""
	for _, name := range f.names() {
		switch hash, _ := s.known(name); hash {
		case now:
			return true, nil
		case "": // never seen, or seen to be gone
		default:
			stale = name
		}
	}
	if stale == "" {
		return false, nil
	}
	text := show(f.path) + " has changed since it was last read here, so nothing was written."
	if old, ok := s.seen.text(stale); ok {
		diff, _ := s.diff(old, string(f.data))
		text += " What changed:\n" + diff
	}
	return false, errors.New(text + "\nRead it again before changing it.")
}

// size says how much a content is.
func size(data []byte) string {
	lines := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	return fmt.Sprintf("%s, %s", count(lines, "line", "lines"), count(len(data), "byte", "bytes"))
}

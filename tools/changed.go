package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Bounds on what is told of files that changed, in bytes.
const (
	oneDiff  = 4 << 10
	allDiffs = 12 << 10
)

// changed tells how the files that the conversation has been shown have changed
// since, by a command or by another process, and what those are now that are shown
// whole: they count as read. Only files that were shown are looked at.
func (s *Set) changed() (text string, files map[string]string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	r := &reader{root: s.root}
	defer r.close()
	var diffs, others []string
	files = map[string]string{}
	listed := map[[2]string]bool{} // a file can have two names
	left := allDiffs
	for _, name := range s.seen.paths() {
		data, err := r.load(name, true, wholeBytes)
		known, _ := s.known(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			others = append(others, show(name)+" is gone")
			s.note(name, "")
			files[name] = ""
			continue
		case err != nil:
			continue // what reads it says why it cannot be
		}
		now := hashOf(data)
		if now == known {
			continue
		}
		old, kept := s.seen.text(name)
		if listed[[2]string{known, now}] {
			s.noteText(name, data)
			files[name] = now
			continue
		}
		diff, whole := s.diff(old, string(data))
		if !kept || !whole || len(diff) > left {
			others = append(others, show(name)+" has changed: read it again before you change it")
			continue
		}
		left -= len(diff)
		listed[[2]string{known, now}] = true
		diffs = append(diffs, show(name)+":\n"+diff)
		s.noteText(name, data)
		files[name] = now
	}
	if len(diffs)+len(others) == 0 {
		return "", nil
	}
	text = "[Files that you had been shown are no longer as they were:\n" +
		strings.Join(append(diffs, list(others)...), "\n")
	if len(diffs) > 0 {
		text += "\nWhat is shown here counts as read."
	}
	return clean([]byte(text + "]")), files
}

// list shortens a list of what was noticed.
func list(names []string) []string {
	const most = 20
	if more := len(names) - most; more > 0 {
		return append(names[:most:most], fmt.Sprintf("and %d more", more))
	}
	return names
}

// diff is a short unified diff of what happened to a file, and whether it shows all
// of it. Known secrets are replaced before anything is cut.
func (s *Set) diff(old, now string) (text string, whole bool) {
	old, now = s.cfg.Redact(old), s.cfg.Redact(now)
	if old == now {
		return "(only in what you are not shown)", true
	}
	diff, err := udiff.ToUnified("as last read", "as it is now", old, udiff.Lines(old, now), 2)
	if err != nil {
		return "(the difference cannot be shown)", false
	}
	if strings.Count(old, "\r\n") != strings.Count(now, "\r\n") {
		diff = strings.ReplaceAll(diff, "\r\n", "\\r\n") // or lines would look the same
	}
	var out strings.Builder
	whole = true
	for line := range strings.Lines(diff) {
		if out.Len() > oneDiff {
			return out.String() + "(the rest of the difference is left out)", false
		}
		text := brief(line)
		whole = whole && text == strings.TrimRight(line, "\r\n")
		out.WriteString(text + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n"), whole
}

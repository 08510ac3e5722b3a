package worktree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Halfway reports whether a change was not made as a whole and not taken back either.
// The next command that holds the tree finishes it; see [Repo.Finish].
func Halfway(err error) bool {
	var halfway *halfwayError
	var uncommitted *uncommittedError
	return errors.As(err, &halfway) || errors.As(err, &uncommitted)
}

// halfwayError says that a change has stopped in the middle, and what it has come to.
type halfwayError struct {
	err     error    // what stopped it
	back    error    // why it could not be taken back
	changed []string // files that are changed, or may be
	all     int      // that were to be
}

// add notes that the step of a file could not be taken back.
func (e *halfwayError) add(file string, err error) {
	if err == nil {
		return
	}
	if e.back == nil {
		e.back = err
	}
	if file != "" && !slices.Contains(e.changed, file) {
		e.changed = append(e.changed, file)
	}
}

func (e *halfwayError) Error() string {
	var s strings.Builder
	switch len(e.changed) {
	case 0:
		s.WriteString("the files are as they were, but the change is not over")
	case e.all:
		fmt.Fprintf(&s, "the files are changed (%s), but something is left to do", listed(e.changed))
	default:
		s.WriteString("the files stand between before and after: ")
		fmt.Fprintf(&s, "%d of %d are changed (%s)", len(e.changed), e.all, listed(e.changed))
	}
	fmt.Fprintf(&s, ": %v", e.err)
	if e.back != nil {
		fmt.Fprintf(&s, "; put back: %v", e.back)
	}
	return s.String()
}

func (e *halfwayError) Unwrap() []error { return []error{e.err, e.back} }

// Hint says what to do about it.
func (*halfwayError) Hint() string {
	return "Mend the cause. The next command that works in the tree finishes the change first."
}

// uncommittedError says that files have a change that was to be committed as well.
type uncommittedError struct {
	files []string
	err   error
}

func (e *uncommittedError) Error() string {
	return fmt.Sprintf("the files have the change (%s), but its commit is not finished: %v", listed(e.files), e.err)
}

func (e *uncommittedError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (*uncommittedError) Hint() string { return "Mend the cause and do it again." }

// listed are some paths, sorted, for people.
func listed(paths []string) string {
	const most = 20
	sorted := slices.Sorted(slices.Values(paths))
	listed := sorted[:min(len(sorted), most)]
	text := strings.Join(listed, ", ")
	if more := len(sorted) - len(listed); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// pathsOf are those of changes.
func pathsOf(changes []delta) []string {
	out := make([]string, 0, len(changes))
	for _, c := range changes {
		out = append(out, c.path)
	}
	return out
}

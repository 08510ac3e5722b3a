package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan/internal/spell"
	"github.com/plan-engine/plan/loop"
)

// notRegular says that a path names something other than a file with content.
type notRegular struct{ mode fs.FileMode }

func (e notRegular) Error() string { return "it is a " + e.kind() }

// kind names what it is.
func (e notRegular) kind() string {
	switch {
	case e.mode.IsDir():
		return "directory"
	case e.mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case e.mode&fs.ModeSocket != 0:
		return "socket"
	case e.mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// openRegular opens a file with content for reading. Anything else is a
// notRegular error and is not opened.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	return openLooked(root, name, root.Stat)
}

// openLooked is openRegular for what look, the root's Stat or Lstat, finds.
func openLooked(root *os.Root, name string, look func(string) (fs.FileInfo, error)) (*os.File, fs.FileInfo, error) {
	info, err := look(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular{info.Mode()}
	}
	// Should a pipe take the file's place after the look, O_NONBLOCK keeps the
	// open from hanging on it.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // explain words it for the model
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular{info.Mode()}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// explain words for the model why a path could not be used.
func (s *Set) explain(ctx context.Context, name string, err error) loop.Result {
	var special notRegular
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return loop.Failed(fmt.Sprintf("%s does not exist%s", show(name), s.nearest(ctx, name)))
	case errors.As(err, &special) && special.mode.IsDir():
		return loop.Failed(fmt.Sprintf("%s is a directory; use list_dir to see what is in it", show(name)))
	case errors.As(err, &special):
		return loop.Failed(fmt.Sprintf("%s is a %s, which is never opened", show(name), special.kind()))
	case escapes(err):
		return loop.Failed(
			fmt.Sprintf(
				"%s leads outside the repository through a symbolic link; only what is inside can be used",
				show(name),
			),
		)
	case errors.Is(err, fs.ErrPermission):
		return loop.Failed(fmt.Sprintf("%s cannot be read: permission denied", show(name)))
	}
	return loop.Failed(fmt.Sprintf("%s cannot be read: %v", show(name), cause(err)))
}

// escapes reports whether an os.Root refused a path because it leads outside.
// The standard library has no exported error for that.
func escapes(err error) bool {
	return err != nil && strings.Contains(err.Error(), "path escapes from parent")
}

// nearest names up to three existing paths that may have been meant, as the
// end of a sentence.
func (s *Set) nearest(ctx context.Context, name string) string {
	listed, err := s.list(ctx, ".")
	if err != nil {
		return "; list_dir and glob show what does"
	}
	best := closest(name, withDirs(listed.files), 3)
	if len(best) == 0 {
		return "; list_dir and glob show what does"
	}
	for i := range best {
		best[i] = show(best[i])
	}
	return "; nearest: " + strings.Join(best, ", ")
}

// withDirs adds the directories that the files are in.
func withDirs(files []string) []string {
	out := slices.Clone(files)
	known := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f); dir != "." && !known[dir]; dir = path.Dir(dir) {
			known[dir] = true
			out = append(out, dir)
		}
	}
	return out
}

// closest returns the n candidates whose last element is most like that of
// name, those with more of the same directories first.
func closest(name string, candidates []string, n int) []string {
	type scored struct {
		path           string
		distance, away int
	}
	base := strings.ToLower(path.Base(name))
	length := utf8.RuneCountInString(base)
	allowed := max(2, length/3)
	dirs := strings.Split(path.Dir(name), "/")
	var near []scored
	for _, c := range candidates {
		other := strings.ToLower(path.Base(c))
		if n := utf8.RuneCountInString(other) - length; n > allowed || -n > allowed {
			continue
		}
		if d := spell.Distance(base, other); d <= allowed {
			near = append(near, scored{c, d, unlike(dirs, strings.Split(path.Dir(c), "/"))})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.away, b.away), cmp.Compare(a.path, b.path))
	})
	out := make([]string, 0, n)
	for _, s := range near[:min(n, len(near))] {
		out = append(out, s.path)
	}
	return out
}

// unlike counts the elements of a and b that the other does not have.
func unlike(a, b []string) int {
	n := len(a) + len(b)
	for _, x := range a {
		if slices.Contains(b, x) {
			n -= 2
		}
	}
	return n
}

// show is a path as it can stand in a line of output: quoted if it has
// characters that would break the line or are not text.
func show(name string) string {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
	if strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// join puts a path below a directory of the root.
func join(dir, name string) string { return path.Join(dir, name) }

// sizeText is a number of bytes for reading.
func sizeText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(unit*unit*unit))
}

// count is a number of things in words: "1 match", "2 matches".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// cutText returns at most limit bytes of the beginning of b, never a part of a
// rune.
func cutText(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	end := limit
	for end > 0 && end > limit-utf8.UTFMax && !utf8.RuneStart(b[end]) {
		end--
	}
	return b[:end]
}

// clean makes text that is valid UTF-8 of any bytes.
func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

package tools

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// previewFile is the largest file that is compared for a preview, in bytes.
const previewFile = 1 << 20

// previewCommand is a command line and where it runs.
func previewCommand(dir, command string) string {
	return fmt.Sprintf("in %s\n$ %s", dir, command)
}

// previewContent is the diff that a whole new content makes.
func previewContent(dir, name, content string) string {
	return previewDiff(dir, name, func(string) (string, error) { return content, nil })
}

// previewEdit is the diff that an edit makes, which the tool itself checks again.
func previewEdit(dir string, a editArgs) string {
	return previewDiff(dir, a.Path, func(old string) (string, error) {
		switch n := strings.Count(old, a.OldString); {
		case a.OldString == "":
			return old + a.NewString, nil
		case n == 0:
			return "", fmt.Errorf("the text to replace is not in the file as it stands, so the edit will fail")
		case n > 1 && !a.ReplaceAll:
			return "", fmt.Errorf("the text to replace is there %d times, so the edit will fail", n)
		}
		return strings.ReplaceAll(old, a.OldString, a.NewString), nil
	})
}

// previewDiff is the diff between a file as it stands and as it would be.
func previewDiff(dir, name string, change func(old string) (string, error)) string {
	old, from, err := readForPreview(dir, name)
	if err != nil {
		return fmt.Sprintf("%s: %v", name, err)
	}
	changed, err := change(old)
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %v", name, err)
	case changed == old:
		return fmt.Sprintf("%s: nothing would change", name)
	}
	return udiff.Unified(from, name, old, changed)
}

// readForPreview reads a file of the tree as it is; one that is not there is empty.
func readForPreview(dir, name string) (text, from string, err error) {
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
		return "", os.DevNull, nil
	case err != nil:
		return "", "", fmt.Errorf("it cannot be read: %w", err)
	case !info.Mode().IsRegular() || info.Size() > previewFile:
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
	data, err := io.ReadAll(io.LimitReader(f, previewFile))
	if err != nil {
		return "", "", fmt.Errorf("it cannot be read: %w", err)
	}
	return string(data), name, nil
}

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/pelletier/go-toml/v2"

	"github.com/plan-engine/plan/internal/durable"
)

// AddPermission writes a rule to the end of the user's own file, in one step,
// and leaves everything else in it as it is. A rule that is there already is
// not written again. It returns the file's path.
func AddPermission(ctx context.Context, home string, p Permission) (string, error) {
	path := filepath.Join(home, "config.toml")
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return path, fmt.Errorf("write the rule: %w", err)
	}
	lock := flock.New(filepath.Join(home, "config.lock"))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return path, fmt.Errorf("write the rule: lock %s: %w", lock.Path(), err)
	}
	defer func() { _ = lock.Unlock() }() // closed with the process at the latest
	now, err := readOwn(path, nil)
	if err != nil {
		return path, err
	}
	if slices.Contains(now.Permission, p) {
		return path, nil
	}
	data, mode, err := fileAndMode(path)
	if err != nil {
		return path, fmt.Errorf("write the rule: %w", err)
	}
	text, err := toml.Marshal(struct {
		Permission []Permission `toml:"permission"`
	}{[]Permission{p}})
	if err != nil {
		return path, fmt.Errorf("write the rule: %w", err)
	}
	if len(data) > 0 {
		data = append([]byte(strings.TrimRight(string(data), "\n")), "\n\n"...)
	}
	data = append(data, text...)
	var then Config
	extra, err := decode(path, data, &then)
	if err != nil || len(extra) > 0 || len(faults(then, nil)) > 0 || !slices.Contains(then.Permission, p) {
		return path, fmt.Errorf("write the rule: it cannot be put at the end of %s; add it yourself:\n%s", path, text)
	}
	return path, durable.Replace(path, data, mode)
}

func fileAndMode(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o600, nil
	}
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // wrapped by the caller
	}
	data, err := os.ReadFile(path)
	return data, info.Mode().Perm(), err
}

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/scratch"
)

// Feature is one thing that a wall can be built with.
type Feature struct {
	Name   string
	OK     bool
	Detail string
}

// probePatience bounds the trial of one level.
const probePatience = 10 * time.Second

// Try builds a small wall of a level and runs commands behind it. It returns
// nil if they could write what they may and nothing else, and otherwise what
// is wrong. LevelNone is always fine.
func Try(ctx context.Context, level Level, base *Shell, env []string) (err error) {
	if level == LevelNone {
		return nil
	}
	room, err := scratch.New("", scratch.Probe)
	if err != nil {
		return fmt.Errorf("make a folder to try the sandbox in: %w", err)
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	dir := room.Dir
	outside := filepath.Join(dir, "outside")
	tree := filepath.Join(dir, "tree")
	copied := filepath.Join(dir, "copy")
	secret := filepath.Join(dir, "secret")
	home := filepath.Join(dir, "home")
	folder := filepath.Join(home, "shown")
	for _, d := range []string{tree, copied, home, folder} {
		err = errors.Join(err, os.Mkdir(d, 0o700), os.WriteFile(filepath.Join(d, "file"), []byte("before\n"), 0o600))
	}
	if err = errors.Join(err, os.WriteFile(secret, []byte("secret\n"), 0o600)); err != nil {
		return fmt.Errorf("prepare to try the sandbox: %w", err)
	}
	w, err := NewWall(level, Policy{
		Tree:    tree,
		Discard: true,
		Copy:    copied,
		Hidden:  []string{secret},
		Home:    home,
		Shown:   []string{folder},
	}, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	// Each line says what went wrong; nothing printed is nothing wrong. The shell reads by
	// itself: a program more for each look takes longer than all the rest of them.
	line := fmt.Sprintf(`says() { read -r text <"$1" && test "$text" = "$2"; } 2>/dev/null
echo after >file || echo cannot write the tree
says file after || echo cannot read what it wrote
{ echo x >%q; } 2>/dev/null
says %q secret && echo can read what is hidden
says %q before && echo can read the home
says %q before || echo cannot read what is shown of the home
:`, outside, secret, filepath.Join(home, "file"), filepath.Join(folder, "file"))
	res, err := w.Shell(base).Run(ctx, Command{
		Line:    line,
		Dir:     tree,
		Timeout: probePatience,
	})
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(string(res.Output)); text != "" || res.ExitCode != 0 {
		return fmt.Errorf("commands in it behave wrongly (exit status %d): %s", res.ExitCode, text)
	}
	if data, err := os.ReadFile(filepath.Join(tree, "file")); err != nil || string(data) != "before\n" {
		return errors.New("commands in it can change the tree")
	}
	if _, err := os.Lstat(outside); err == nil {
		return errors.New("commands in it can write outside the tree")
	}
	return nil
}

// Strongest tries the levels, strongest first, but not those that are ruled
// out, and returns the first that works. The second result says for each level
// before it why it does not.
func Strongest(ctx context.Context, base *Shell, env []string, ruledOut ...Level) (Level, []string) {
	var why []string
	for _, level := range Levels() {
		err := errors.New("ruled out")
		if !slices.Contains(ruledOut, level) {
			err = Try(ctx, level, base, env)
		}
		if err == nil {
			return level, why
		}
		why = append(why, fmt.Sprintf("%s: %v", level, err))
	}
	return LevelNone, why
}

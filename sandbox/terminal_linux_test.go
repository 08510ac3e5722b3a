package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/internal/pty"
	"github.com/plan-engine/plan/sandbox"
)

// echoes makes a pseudo-terminal, writes a word on it and reads that at its other end.
func echoes([]string) error {
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer keys.Close()
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	if err := tty.Chmod(0o600); err != nil { // as login and sshd do
		return err
	}
	if _, err := tty.WriteString("word"); err != nil {
		return err
	}
	buf := make([]byte, 4)
	if _, err := keys.Read(buf); err != nil {
		return err
	}
	if string(buf) != "word" {
		return fmt.Errorf("read %q", buf)
	}
	return nil
}

func TestPseudoTerminals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	helper := filepath.Join(dir, "helper.test")
	copyProgram(t, helper)
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		for _, discard := range []bool{false, true} {
			y := newYard(t)
			_, run := y.wall(t, level, sandbox.Policy{Discard: discard, ExtraDirs: []string{dir}})
			res := run(fmt.Sprintf("%q %s terminal", helper, escapeVerb))
			// Landlock cannot tell new terminals from the user's.
			if got, want := res.ExitCode == 0, level != sandbox.LevelLandlock; got != want {
				t.Errorf("discard %v: a terminal could be made: %v, want %v\n%s", discard, got, want, res.Output)
			}
		}
	})
}

// Whoever reads a terminal gets what is typed there, in the place of the shell.
func TestTerminalsOfTheUserAreNotReached(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		keys, tty := pty.Open(t)
		if _, err := keys.WriteString("hunter2\n"); err != nil {
			t.Fatal(err)
		}
		y := newYard(t)
		_, run := y.wall(t, level, sandbox.Policy{})
		res := run("head -n 1 <" + tty.Name())
		if got, want := strings.Contains(string(res.Output), "hunter2"), level == sandbox.LevelNone; got != want {
			t.Errorf("what was typed could be read: %v, want %v\n%s", got, want, res.Output)
		}
	})
}

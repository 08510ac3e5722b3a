package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/plan-engine/plan/engine"
)

// TestATreeThatCannotBeTakenSaysWhatToDo: files are blamed only where a file is why.
func TestATreeThatCannotBeTakenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
		not  string
	}{
		{fmt.Errorf("git add: %w", syscall.ENOSPC), "no room left", ".gitignore"},
		{fmt.Errorf("git add: %w", syscall.EDQUOT), "no room left", ".gitignore"},
		{fmt.Errorf("git add: %w", fs.ErrPermission), ".gitignore", "room"},
		{errors.New("git add: fatal: the index is broken"), "git fsck", ".gitignore"},
		{&engine.Defect{}, "defect of plan", ".gitignore"},
	} {
		got := (&engine.TreeError{Err: c.err}).Hint()
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) || !strings.HasPrefix(got, "Nothing was begun.") {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

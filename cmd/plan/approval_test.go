package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// lineReader gives a line for each read, as a terminal does.
type lineReader struct{ lines []string }

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.lines[0]+"\n")
	r.lines = r.lines[1:]
	return n, nil
}

// TestAskAboutPlan: what a person types, and what becomes of it. Nothing but a
// clear word approves.
func TestAskAboutPlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	editor := filepath.Join(dir, "my editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho 'edited '$1 >> \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	letter := func(l letterText) letterText { l.Call = "plan-3"; return l }
	for name, c := range map[string]struct {
		typed  []string
		visual string
		kind   loop.LetterKind
		want   letterText
		ok     bool
		says   string
	}{
		"approve":           {[]string{"a"}, "", loop.Approve, letterText{}, true, "# Plan"},
		"yes, with a word":  {[]string{"yes as discussed"}, "", loop.Approve, letterText{Text: "as discussed"}, true, ""},
		"comment":           {[]string{"c keep the name"}, "", loop.Deny, letterText{Text: "keep the name"}, true, ""},
		"comment, then why": {[]string{"c", "comment smaller"}, "", loop.Deny, letterText{Text: "smaller"}, true, ""},
		"reject":            {[]string{"r no"}, "", loop.Deny, letterText{Text: "no", Reject: true}, true, ""},
		"edit":              {[]string{"e"}, `"` + editor + `" well`, loop.Approve, letterText{Plan: "# Plan\nedited well"}, true, ""},
		"edit nothing":      {[]string{"e", "a"}, "true", loop.Approve, letterText{}, true, "as it was"},
		"edit, and fail":    {[]string{"e", ""}, "false", "", letterText{}, false, "the editor \"false\" failed"},
		"no editor":         {[]string{"e", ""}, "", "", letterText{}, false, "set VISUAL or EDITOR"},
		"later":             {[]string{""}, "", "", letterText{}, false, ""},
		"the terminal ends": {nil, "", "", letterText{}, false, ""},
		"nonsense":          {[]string{"maybe", "approved?", ""}, "", "", letterText{}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := &app{in: &lineReader{c.typed}, out: &out, err: &out, environ: []string{"VISUAL=" + c.visual}}
			kind, l, ok := a.askAboutPlan(context.Background(), &plan.PlanDoc{Version: 3, Text: "# Plan\x1b[2J"})
			if c.want.Plan != "" {
				l.Plan = strings.ReplaceAll(l.Plan, "\x1b[2J", "")
			}
			if diff := cmp.Diff(letter(c.want), l); ok != c.ok || kind != c.kind || (ok && diff != "") {
				t.Errorf("%v, %q: %s", ok, kind, diff)
			}
			if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("the person reads %q", out.String())
			}
		})
	}
}

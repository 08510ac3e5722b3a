package manual_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/manual"
)

const want = `.TH "TOOL" 1 "2026-11-25" "plan v1" "plan"
.SH NAME
tool \- Do it
.SH SYNOPSIS
\fBtool\fR [flags]
.br
\fBtool\fR COMMAND …
.SH DESCRIPTION
It does what
\&.profile says.
.PP
.nf
A list:
  a\eb   one
.fi
.SH COMMANDS
.TP
\fBsub\fR
Do a part
.SH OPTIONS
.TP
\fB\-n\fR, \fB\-\-number\fR \fIN\fR
do it N times (default 3)
.TP
\fB\-\-quick\fR
do it at once
.SH EXAMPLES
.nf
  tool \-n 2
.fi
.SH SEE ALSO
tool\-sub(1)
`

// TestPage: a page has all that the help has, and man takes nothing of it for a request.
func TestPage(t *testing.T) {
	t.Parallel()
	run := func(*cobra.Command, []string) {}
	cmd := &cobra.Command{
		Use:     "tool [flags]",
		Short:   "Do it",
		Long:    "It does what\n.profile says.\n\nA list:\n  a\\b   one",
		Example: "  tool -n 2",
		Run:     run,
	}
	cmd.Flags().IntP("number", "n", 3, "do it `N` times")
	cmd.Flags().Bool("quick", false, "do it at once")
	cmd.Flags().Bool("secret", false, "")
	if err := cmd.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	cmd.AddCommand(&cobra.Command{Use: "sub", Short: "Do a part", Run: run}, &cobra.Command{Use: "old", Hidden: true, Run: run})
	from := manual.Source{Version: "v1", Date: time.Date(2026, 11, 25, 23, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, manual.Page(cmd, from)); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
	dir := filepath.Join(t.TempDir(), "man")
	if err := manual.Write(dir, cmd, from); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if got := strings.Join(names, " "); got != "tool-sub.1 tool.1" || err != nil {
		t.Errorf("there are %s, %v", got, err)
	}
}

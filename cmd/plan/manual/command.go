package manual

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/cmd/plan/build"
)

// Command writes the manual of all that whole has, for who makes archives of the program.
func Command(whole func() *cobra.Command, now func() time.Time) *cobra.Command {
	return &cobra.Command{
		Use:    "__man DIR",
		Short:  "Write the manual: a page for each command",
		Hidden: true,
		Long: `Man writes a page of the manual for each command into DIR, with all flags. The
pages have the date of the commit that the program was built from.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return Write(args[0], whole(), Source{
				Version: strings.TrimPrefix(build.Version(), "v"),
				Date:    build.Date(now()),
			})
		},
	}
}

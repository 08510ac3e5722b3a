package main

import (
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/internal/profile"
)

// profilingFlags are hidden: they are for those who work on plan.
// docs/profiling.md tells how to use them.
func profilingFlags(root *cobra.Command, p *profile.Profiles) {
	flags := root.PersistentFlags()
	flags.StringVar(&p.CPU, "cpuprofile", "", "write where the time goes to `FILE`, for go tool pprof")
	flags.StringVar(&p.Memory, "memprofile", "", "write what was allocated to `FILE`, for go tool pprof")
	flags.StringVar(&p.Trace, "trace", "", "write what ran when to `FILE`, for go tool trace")
	for _, name := range []string{"cpuprofile", "memprofile", "trace"} {
		flags.Lookup(name).Hidden = true
	}
}

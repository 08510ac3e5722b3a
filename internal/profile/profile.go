// Package profile measures this process: where its time goes, what it allocates and
// what ran when.
//
// It must not know what the process does.
package profile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"github.com/spf13/pflag"
)

// Profiles are the files that are written, "" for none.
type Profiles struct {
	CPU, Memory, Trace string

	ends []func() error
}

// Register adds the flags, which are hidden: they are for those who work on the
// program. docs/profiling.md tells how to use them.
func (p *Profiles) Register(flags *pflag.FlagSet) {
	flags.StringVar(&p.CPU, "cpuprofile", "", "write where the time goes to `FILE`, for go tool pprof")
	flags.StringVar(&p.Memory, "memprofile", "", "write what was allocated to `FILE`, for go tool pprof")
	flags.StringVar(&p.Trace, "trace", "", "write what ran when to `FILE`, for go tool trace")
	for _, name := range []string{"cpuprofile", "memprofile", "trace"} {
		flags.Lookup(name).Hidden = true
	}
}

// Start begins what is asked for.
func (p *Profiles) Start() error {
	if p.CPU != "" {
		file, err := os.Create(p.CPU)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			return fmt.Errorf("profile the processor to %s: %w", p.CPU, err)
		}
		p.ends = append(p.ends, func() error { pprof.StopCPUProfile(); return file.Close() })
	}
	if p.Trace != "" {
		file, err := os.Create(p.Trace)
		if err == nil {
			err = trace.Start(file)
		}
		if err != nil {
			return fmt.Errorf("trace to %s: %w", p.Trace, err)
		}
		p.ends = append(p.ends, func() error { trace.Stop(); return file.Close() })
	}
	if p.Memory != "" {
		file, err := os.Create(p.Memory)
		if err != nil {
			return fmt.Errorf("profile the memory to %s: %w", p.Memory, err)
		}
		p.ends = append(p.ends, func() error {
			runtime.GC() // what is in use is only known after one
			return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
		})
	}
	return nil
}

// Stop writes what Start began. It may be called without one.
func (p *Profiles) Stop() error {
	var errs []error
	for _, end := range p.ends {
		errs = append(errs, end())
	}
	p.ends = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	return nil
}

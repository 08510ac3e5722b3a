package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"github.com/spf13/cobra"
)

// profiling is what a command is measured with. Its flags are hidden: they are
// for those who work on plan. docs/profiling.md tells how to use them.
type profiling struct {
	cpu, memory, trace string // files
	ends               []func() error
}

func (p *profiling) register(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&p.cpu, "cpuprofile", "", "write where the time goes to `FILE`, for go tool pprof")
	flags.StringVar(&p.memory, "memprofile", "", "write what was allocated to `FILE`, for go tool pprof")
	flags.StringVar(&p.trace, "trace", "", "write what ran when to `FILE`, for go tool trace")
	for _, name := range []string{"cpuprofile", "memprofile", "trace"} {
		flags.Lookup(name).Hidden = true
	}
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return failed(p.start()) }
}

// start begins what the flags ask for.
func (p *profiling) start() error {
	if p.cpu != "" {
		file, err := os.Create(p.cpu)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			return fmt.Errorf("profile the processor to %s: %w", p.cpu, err)
		}
		p.ends = append(p.ends, func() error { pprof.StopCPUProfile(); return file.Close() })
	}
	if p.trace != "" {
		file, err := os.Create(p.trace)
		if err == nil {
			err = trace.Start(file)
		}
		if err != nil {
			return fmt.Errorf("trace to %s: %w", p.trace, err)
		}
		p.ends = append(p.ends, func() error { trace.Stop(); return file.Close() })
	}
	if p.memory != "" {
		file, err := os.Create(p.memory)
		if err != nil {
			return fmt.Errorf("profile the memory to %s: %w", p.memory, err)
		}
		p.ends = append(p.ends, func() error {
			runtime.GC() // what is in use is only known after one
			return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
		})
	}
	return nil
}

// stop writes what start began. It may be called without one.
func (p *profiling) stop() error {
	var errs []error
	for _, end := range p.ends {
		errs = append(errs, end())
	}
	p.ends = nil
	if err := errors.Join(errs...); err != nil {
		return failed(fmt.Errorf("write a profile: %w", err))
	}
	return nil
}

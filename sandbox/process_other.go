//go:build unix && !linux

package sandbox

// processes lists what runs.
func processes() ([]process, error) { return processesByPS() }

// rawCommandLine is the command line of a process.
func rawCommandLine(p process) string { return p.Line }

// leaveNoCore does nothing: the limits of another process cannot be changed.
func leaveNoCore(int) {}

package sandbox

import (
	"os/exec"
	"slices"
)

// Confinement is what a program of this one's own may do that works on what others
// wrote. It costs no process and no mounts, unlike a [Wall]: the kernel holds the
// program to it from its start on. All paths are absolute; those that do not exist are
// left out.
type Confinement struct {
	Read  []string // what may be read
	Write []string // what may be read and written
}

// Without lists paths that together hold all of some directories but what is hidden.
func Without(hidden []string, dirs ...string) []string {
	hidden = realPaths(hidden)
	var out []string
	for _, dir := range realPaths(dirs) {
		out = append(out, pathsAround(dir, hidden)...)
	}
	return out
}

// RunConfined is cmd.Run for a program that can then read and write nothing but what it
// is granted, open no socket, and gain no rights. Where [Confinable] says that the
// kernel cannot, it is an error and the program is not started.
func RunConfined(cmd *exec.Cmd, c Confinement) error {
	return runConfined(cmd, c.Read, slices.Concat(c.Write, confinedDevices()))
}

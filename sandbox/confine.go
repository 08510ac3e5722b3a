package sandbox

import "slices"

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

// Confined calls run where a program that it starts can read and write nothing but what
// it is granted, open no socket, and gain no rights. It is to wait for the program. Where
// [Confinable] says that the kernel cannot, it is an error and run is not called.
func Confined(c Confinement, run func() error) error {
	return confined(c.Read, slices.Concat(c.Write, confinedDevices()), run)
}

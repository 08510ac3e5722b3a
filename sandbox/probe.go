package sandbox

// Feature is one thing that a wall can be built with.
type Feature struct {
	Name   string
	OK     bool
	Detail string
}

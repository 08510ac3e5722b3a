package sandbox

import "errors"

// Swap is a folder that commands see in the place of another one, whatever path leads
// them there. It is no wall: they can do all that they could without it.
type Swap struct {
	At   string // where, an absolute path without symbolic links
	From string // what they see there, likewise
	// ReadOnly keeps them from writing to it.
	ReadOnly bool
}

// ErrNoSwap says that this system can show commands no folder in the place of another.
var ErrNoSwap = errors.New("no folder can be put in the place of another here")

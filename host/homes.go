package host

import (
	"os/user"

	"github.com/plan-engine/plan/sandbox/places"
)

// Homes lists the homes of this machine beside the one that the environment names, or
// folders with them: that of the user as the system knows them, and those of others.
func (h *Host) Homes() []string {
	passwd := ""
	if u, err := user.Current(); err == nil {
		passwd = u.HomeDir
	}
	return places.Homes(h.environ, passwd)
}

package config

import (
	"fmt"
	"path/filepath"
)

// Paths is where everything lives that outlasts a process.
type Paths struct {
	Home      string
	DB        string // the database of runs, facts and skill records
	Locks     string
	Logs      string
	Skills    string
	Worktrees string
	Making    string // notes of what is being made
}

// FindHome finds the home: $PLAN_HOME, else plan under $XDG_DATA_HOME, else
// ~/.local/share/plan. It makes no directories.
func FindHome(getenv func(string) string) (Paths, error) {
	home := getenv("PLAN_HOME")
	switch data, user := getenv("XDG_DATA_HOME"), getenv("HOME"); {
	case home != "":
		if !filepath.IsAbs(home) {
			return Paths{}, fmt.Errorf("find the home directory: PLAN_HOME is %q; set it to an absolute path", home)
		}
	case filepath.IsAbs(data): // the XDG rules say to ignore a relative one
		home = filepath.Join(data, "plan")
	case filepath.IsAbs(user):
		home = filepath.Join(user, ".local", "share", "plan")
	default:
		return Paths{}, fmt.Errorf(
			"find the home directory: HOME is %q; set PLAN_HOME or HOME to an absolute path",
			user,
		)
	}
	home = filepath.Clean(home)
	return Paths{
		Home:      home,
		DB:        filepath.Join(home, "plan.db"),
		Locks:     filepath.Join(home, "locks"),
		Logs:      filepath.Join(home, "logs"),
		Skills:    filepath.Join(home, "skills"),
		Worktrees: filepath.Join(home, "worktrees"),
		Making:    filepath.Join(home, "making"),
	}, nil
}

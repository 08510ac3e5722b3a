package places

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/subpath"
)

// usualHomes are where systems keep the homes of their users.
var usualHomes = []string{"/home", "/Users", "/root", "/var/root", "/var/home", "/export/home"}

// parents are names of folders that hold homes, wherever they lie.
var parents = []string{"home", "homes", "Users"}

// Homes lists further homes of a machine, or folders with them: of the user as the
// system knows them (passwd, "" for none), which is not that of the environment where it
// names another, and of others.
func Homes(env []string, passwd string) []string {
	own := Of(env, "/").dir
	homes := slices.Clone(usualHomes)
	for _, home := range []string{own, passwd} {
		if home != "" && slices.Contains(parents, filepath.Base(filepath.Dir(home))) {
			homes = append(homes, filepath.Dir(home))
		}
	}
	homes = append(homes, passwd)
	var out []string
	for _, home := range homes {
		real, err := filepath.EvalSymlinks(home)
		if err == nil && real != "/" && home != own && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// ShownOf lists what commands need of such a further home: what the environment names
// in it, and the roots of managers where it is the home of one user.
func (h Home) ShownOf(other string) []string {
	env := make([]string, 0, len(h.env))
	for name, value := range h.env {
		if name != "HOME" {
			env = append(env, name+"="+value)
		}
	}
	theirs := Of(append(env, "HOME="+other), h.tree)
	return slices.DeleteFunc(theirs.Shown(), func(path string) bool {
		rel, ok := subpath.Of(theirs.real, path)
		if own := h.real; !ok || own != "" && (subpath.Within(path, own) || subpath.Within(own, path)) {
			return true // the own home says itself what it shows
		}
		holdsHomes := slices.Contains(parents, filepath.Base(theirs.real))
		return holdsHomes && !strings.Contains(rel, "/") // a home as a whole
	})
}

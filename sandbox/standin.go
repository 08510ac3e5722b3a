package sandbox

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// workSuffix ends the name of the folder that the kernel wants beside an upper one.
const workSuffix = ".work"

// standInPrefix begins the names of the wall's own folders that stand in for caches.
const standInPrefix = ".plan-cache-"

// standIn is a folder that a tool is told to use in place of a cache, where no layer
// can be laid over that.
type standIn struct {
	Cache
	outside string // the folder, as it is found outside the wall
	inside  string // the same behind it
}

// uppers are the folders that take what is written to caches and outlast a wall.
func (p Policy) uppers() []string {
	var out []string
	for _, c := range p.Caches {
		if c.Upper != "" {
			out = append(out, c.Upper)
		}
	}
	return out
}

// cacheLayers are the folders that lie over caches.
func (p Policy) cacheLayers() []string {
	var out []string
	for _, c := range p.Caches {
		out = append(out, c.layers()...)
	}
	return out
}

// sow puts the seed into a folder.
func (c Cache) sow(dir string) error {
	var errs []error
	for name, text := range c.Seed {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return errors.Join(errs...)
}

// writableStandIns are the folders for what commands write to caches. None is needed
// where layers are mounted. Without any wall, none of its own is there to be swept.
func (w *Wall) writableStandIns() []standIn {
	var out []standIn
	for _, c := range w.policy.Caches {
		s := standIn{
			Cache:   c,
			outside: c.Upper,
			inside:  c.Upper,
		}
		if c.Upper == "" {
			name := standInPrefix + c.Var
			if c.Home {
				name = filepath.Join(name, filepath.Base(c.Dir))
			}
			s.outside, s.inside = filepath.Join(w.scratch, "tmp0", name), filepath.Join(w.tmp(), name)
		}
		unmade := w.level == LevelNone && c.Upper == ""
		if c.Var != "" && w.level != LevelNamespaces && !unmade {
			out = append(out, s)
		}
	}
	return out
}

// makeCaches makes those folders.
func (w *Wall) makeCaches() error {
	for _, s := range w.writableStandIns() {
		if err := errors.Join(os.MkdirAll(s.outside, 0o700), s.sow(s.outside)); err != nil {
			return fmt.Errorf("make a folder for the sandbox: %w", err)
		}
	}
	return nil
}

// standIns are the folders that tools are told to use. A tool that needs what was
// fetched, and can fetch nothing, reads it where it lies: in the uppermost folder
// that has something, or where it always looks.
func (w *Wall) standIns() []standIn {
	var out []standIn
	for _, s := range w.writableStandIns() {
		if s.Fetched && !w.policy.Network && w.level != LevelNone && isEmpty(s.outside) {
			full := slices.DeleteFunc(s.layers(), isEmpty)
			if len(full) == 0 {
				continue
			}
			s.inside = full[0]
		}
		out = append(out, s)
	}
	return out
}

// isEmpty reports whether nothing can be found in a folder.
func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// cacheVars are the variables that lead tools to the folders which stand in for their
// caches. Env is what is set already.
func (w *Wall) cacheVars(env []string) map[string]string {
	set := map[string]string{}
	for _, c := range w.ownProxies() {
		set[c.ProxyVar] = quoted(w.self(), Verb, roleCache, c.Dir)
	}
	for _, s := range w.standIns() {
		lowers := slices.DeleteFunc(s.lowers(), func(dir string) bool { return dir == s.inside })
		value := s.inside
		switch {
		case s.Home:
			value = filepath.Dir(value)
		case s.Option != "":
			value = strings.TrimSpace(lookupEnv(env, s.Var) + " " + s.Option + value)
		}
		set[s.Var] = value
		if s.ProxyVar != "" {
			set[s.ProxyVar] = quoted(append([]string{w.self(), Verb, roleCache, s.inside}, lowers...)...)
		}
		switch s.Name { // how a tool is told to read from further folders
		case "go-mod":
			set["GOPROXY"] = goProxies(env, lowers)
		case "gradle/caches":
			set["GRADLE_RO_DEP_CACHE"] = lowers[0]
		case "m2":
			set[s.Var] += " -Dmaven.repo.local.tail=" + strings.Join(lowers, ",")
		}
	}
	return set
}

// ownProxies are caches that the user's tool keeps with a program of the user's, which
// may write to where no layer is: this program stands in for it where layers are mounted.
func (w *Wall) ownProxies() []Cache {
	if w.level != LevelNamespaces {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.policy.Caches), func(c Cache) bool {
		return c.ProxyVar == "" || GoSetting(w.env, c.ProxyVar) == ""
	})
}

// goProxies has go look for modules in these folders before it asks a server.
func goProxies(env, folders []string) string {
	var out []string
	for _, dir := range folders {
		place := url.URL{
			Scheme: "file",
			Path:   filepath.ToSlash(filepath.Join(dir, "cache", "download")),
		}
		out = append(out, place.String())
	}
	servers := GoSetting(env, "GOPROXY")
	if servers == "" {
		servers = "https://proxy.golang.org,direct"
	}
	return strings.Join(append(out, servers), ",")
}

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cache is a directory that a build tool keeps things in. It is the user's: what
// commands write goes to a layer over it, or to a folder that stands in for it.
type Cache struct {
	// Name tells it from the others, as a path below the folder of a layer.
	Name string
	Dir  string
	// Var is the environment variable that tells the tool to use another
	// directory, "" if there is none.
	Var string
	// Option is what the directory follows in Var, beside what is there already.
	Option string
	// Home says that Var names the directory above it.
	Home bool
	// Fetched says that the tool finds in it what it fetched, and can do with
	// nothing else where there is no network.
	Fetched bool
	// Seed are files to put into a layer over it, by name.
	Seed map[string]string
	// ProxyVar is the environment variable that names a program for the tool to
	// ask for what it caches, "" if there is none. Where no layer can be laid over
	// Dir, such a program reads it and keeps writes apart.
	ProxyVar string
	// Layers lie over Dir, the lowest first. No wall writes to them, and nothing
	// else may while one stands. Those that do not exist are left out.
	Layers []string
	// Upper takes what is written and is there after the wall. It is made. Two
	// walls may not have it at a time where layers are mounted. Empty, the writes
	// go to a folder of the wall's own and are thrown away with it.
	Upper string
}

// Over is the cache with layers over it: the folders of layers, the lowest first,
// and the folder that takes the writes.
func (c Cache) Over(layers []string, upper string) Cache {
	c.Layers = nil
	for _, dir := range layers {
		c.Layers = append(c.Layers, filepath.Join(dir, c.Name))
	}
	c.Upper = ""
	if upper != "" {
		c.Upper = filepath.Join(upper, c.Name)
	}
	return c
}

// lowers are the folders that are read, the uppermost first.
func (c Cache) lowers() []string { return append(c.layers(), c.Dir) }

// layers are the Layers that exist, the uppermost first.
func (c Cache) layers() []string {
	out := slices.Clone(c.Layers)
	slices.Reverse(out)
	return slices.DeleteFunc(out, func(dir string) bool {
		info, err := os.Stat(dir)
		return err != nil || !info.IsDir()
	})
}

// Caches lists the folders that build tools of this machine keep things in.
// Those of installed tools are made if they do not exist, so that a layer can be
// laid over them. What go remembers of tests that passed counts only if it is from
// behind the wall: now is when that begins.
func Caches(env []string, now time.Time) []Cache {
	home := homeOf(env)
	if home == "/" {
		return nil
	}
	base := absoluteOr(lookupEnv(env, "XDG_CACHE_HOME"), filepath.Join(home, ".cache"))
	gopath, _, _ := strings.Cut(lookupEnv(env, "GOPATH"), string(filepath.ListSeparator))
	gopath = absoluteOr(gopath, filepath.Join(home, "go"))
	cargo := absoluteOr(lookupEnv(env, "CARGO_HOME"), filepath.Join(home, ".cargo"))
	gradle := absoluteOr(lookupEnv(env, "GRADLE_USER_HOME"), filepath.Join(home, ".gradle"))
	// at is where a tool keeps a cache that it can be told a place for.
	at := func(c Cache, dir string) Cache {
		c.Dir = absoluteOr(lookupEnv(env, c.Var), dir)
		return c
	}
	var out []Cache
	add := func(tool string, c Cache) {
		if _, err := os.Stat(c.Dir); err != nil {
			if _, err := exec.LookPath(tool); err != nil || os.MkdirAll(c.Dir, 0o755) != nil {
				return
			}
		}
		out = append(out, c)
	}
	add("go", at(Cache{
		Name:     "go-build",
		Var:      "GOCACHE",
		ProxyVar: "GOCACHEPROG",
		Seed:     map[string]string{"testexpire.txt": strconv.FormatInt(now.UnixNano(), 10) + "\n"},
	}, filepath.Join(base, "go-build")))
	add("go", at(Cache{
		Name:    "go-mod",
		Var:     "GOMODCACHE",
		Fetched: true,
	}, filepath.Join(gopath, "pkg", "mod")))
	add("npm", at(Cache{Name: "npm", Var: "npm_config_cache"}, filepath.Join(home, ".npm")))
	for _, part := range []string{"registry", "git"} {
		tool := "cargo"
		if part == "git" {
			tool = "" // many use none
		}
		add(tool, Cache{
			Name:    "cargo/" + part,
			Dir:     filepath.Join(cargo, part),
			Var:     "CARGO_HOME",
			Home:    true,
			Fetched: true,
		})
	}
	add("pip", at(Cache{Name: "pip", Var: "PIP_CACHE_DIR"}, filepath.Join(base, "pip")))
	add("", at(Cache{Name: "uv", Var: "UV_CACHE_DIR", Fetched: true}, filepath.Join(base, "uv")))
	add("", at(Cache{Name: "yarn", Var: "YARN_CACHE_FOLDER"}, filepath.Join(base, "yarn")))
	add("", at(Cache{Name: "golangci-lint", Var: "GOLANGCI_LINT_CACHE"}, filepath.Join(base, "golangci-lint")))
	add("gopls", at(Cache{Name: "gopls", Var: "GOPLSCACHE"}, filepath.Join(base, "gopls")))
	add("", at(Cache{Name: "pypoetry", Var: "POETRY_CACHE_DIR"}, filepath.Join(base, "pypoetry")))
	add("", at(Cache{Name: "ccache", Var: "CCACHE_DIR"}, filepath.Join(base, "ccache")))
	if lookupEnv(env, "CCACHE_DIR") == "" {
		add("", Cache{Name: "ccache-home", Dir: filepath.Join(home, ".ccache"), Var: "CCACHE_DIR"})
	}
	add("", at(Cache{
		Name:    "pnpm",
		Var:     "npm_config_store_dir",
		Fetched: true,
	}, filepath.Join(home, ".local", "share", "pnpm", "store")))
	add("", Cache{
		Name: "gradle/caches",
		Dir:  filepath.Join(gradle, "caches"),
		Var:  "GRADLE_USER_HOME",
		Home: true,
	})
	add("", Cache{
		Name:   "m2",
		Dir:    filepath.Join(home, ".m2", "repository"),
		Var:    "MAVEN_OPTS",
		Option: "-Dmaven.repo.local=",
	})
	return out
}

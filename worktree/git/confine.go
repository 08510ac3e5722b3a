package git

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/sandbox/places"
)

// Confined returns nil where the kernel holds git to the repository that it works on,
// and otherwise says why not. Git then opens no socket, writes nothing else and reads
// no keys: a second line, should settings name a program that the first does not know.
func Confined() error { return sandbox.Confinable() }

// confinement is what git may do.
type confinement = sandbox.Confinement

// keyless lets git read everything but the known places of keys, and write nothing: it
// is for commands that look for a repository, or list its settings.
func keyless(env []string) confinement {
	hidden := append(keysIn(env), filepath.Join(homeOfPlan(env), "config.toml"))
	return confinement{Read: sandbox.Without(hidden, "/")}
}

// confinement is what git may do in the repository: it sees the system's programs and
// what else the repository is made of, and of the homes what programs that it is known
// to call need. The caller holds mu.
func (g *guard) confinement() confinement {
	env := g.plain.users
	keys := keysIn(env)
	homes := append(places.Homes(env, ""), places.Of(env, g.root).Dir())
	return confinement{
		Read: slices.Concat(
			g.system(env, keys, homes),
			sandbox.Without(keys, filtersIn(valueOf(env, "PATH"), homes)...),
			settingsFiles(env),
			g.named,
			Borrowed(g.dirs...),
		),
		Write: append([]string{g.root}, g.dirs...),
	}
}

// systemPlaces are where systems keep programs, their libraries and what these read as
// they start. Each is a rule that every start of git is held to, so /etc is not listed
// around its keys.
var systemPlaces = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/opt", "/snap",
	"/run/current-system", "/proc", "/sys/kernel/mm", "/sys/devices/system/cpu",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/gitconfig", "/etc/gitattributes", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
}

// system is what git reads of the system. Where git itself stands elsewhere, it is all
// but keys, the home of plan and the homes that git does not stand in.
func (g *guard) system(env, keys, homes []string) []string {
	if Inside(g.plain.path, systemPlaces...) && !Inside(g.plain.path, homes...) {
		return sandbox.Without(append(slices.Clone(keys), homeOfPlan(env)), systemPlaces...)
	}
	hidden := append(slices.Clone(keys), homeOfPlan(env))
	for _, home := range homes {
		if home != "" && !Inside(g.plain.path, home) && !Inside(home, g.root) {
			hidden = append(hidden, home)
		}
	}
	return sandbox.Without(hidden, "/")
}

// keysIn are the known places of keys, but for git's own settings, without which it
// does not work.
func keysIn(env []string) []string {
	own := settingsFiles(env)
	return slices.DeleteFunc(sandbox.Secrets(env), func(path string) bool {
		return slices.Contains(own, path) || errors.Is(syscall.Access(path, readable), fs.ErrPermission)
	})
}

// readable is what access(2) is asked for.
const readable = 4

// filtersIn lists where filterTools stand that the PATH finds in homes, with the
// libraries beside them.
func filtersIn(path string, homes []string) []string {
	var out []string
	for _, dir := range filepath.SplitList(path) {
		for _, name := range filterTools {
			program, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			if err != nil || !filepath.IsAbs(dir) {
				continue
			}
			out = append(out, program)
			if own := filepath.Dir(program); !slices.Contains(homes, own) {
				out = append(out, own, filepath.Join(own, "../lib"), filepath.Join(own, "../libexec"))
			}
		}
	}
	return out
}

// homeOfPlan is where plan keeps its settings and runs.
func homeOfPlan(env []string) string {
	if dir := valueOf(env, "PLAN_HOME"); dir != "" {
		return dir
	}
	if dir := valueOf(env, "XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "plan")
	}
	return filepath.Join(valueOf(env, "HOME"), ".local", "share", "plan")
}

// settingsFiles are where git looks for settings of the user.
func settingsFiles(env []string) []string {
	dir := valueOf(env, "XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(valueOf(env, "HOME"), ".config")
	}
	dir = filepath.Join(dir, "git")
	files := []string{
		filepath.Join(valueOf(env, "HOME"), ".gitconfig"),
		filepath.Join(dir, "config"), filepath.Join(dir, "ignore"), filepath.Join(dir, "attributes"),
	}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if path := valueOf(env, name); path != "" {
			files = append(files, path)
		}
	}
	return files
}

func valueOf(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// namedFiles are settings whose values are files that git reads.
var namedFiles = []string{
	"core.attributesfile", "core.excludesfile", "mailmap.file", "blame.ignorerevsfile", "diff.orderfile",
}

// namedBy is the file that a setting of the user names for git to read, and the folder
// in which Git LFS may keep its files, "" for none.
func namedBy(s setting, env []string) string {
	if !slices.Contains(namedFiles, s.name) && s.name != "lfs.storage" {
		return ""
	}
	if below, ok := strings.CutPrefix(s.value, "~/"); ok {
		return filepath.Join(valueOf(env, "HOME"), below)
	}
	return s.value
}

// drives reports whether a setting names a program that git runs on files, of which
// it cannot be said what it needs: one of filterTools needs the repository alone.
func drives(s setting) bool {
	section, rest, _ := strings.Cut(s.name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	words := wordsOf(s.value)
	return len(words) > 0 && !toolOf(words) &&
		(section == "filter" && slices.Contains([]string{"clean", "smudge", "process"}, last) ||
			section == "merge" && last == "driver")
}

// granted is what a command may do: what all may, and where it works. It is nil for one
// that is not confined.
func (p Program) granted(c Call, base *confinement) *confinement {
	if base == nil || c.Open || c.Remote || Confined() != nil {
		return nil
	}
	out := confinement{Read: slices.Concat(base.Read, c.Reads), Write: slices.Concat(base.Write, c.Writes)}
	if p.guard == nil {
		return &out
	}
	out.Write = append(out.Write, c.Dir)
	for _, entry := range slices.Concat(p.env, c.Env) {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "GIT_INDEX_FILE": // and its lock file
			out.Write = append(out.Write, filepath.Dir(value))
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY":
			out.Write = append(out.Write, value)
		}
	}
	return &out
}

// Borrowed lists the stores of objects that those of some directories with the data of
// repositories build on, and those build on in turn.
func Borrowed(dirs ...string) []string {
	var out []string
	var follow func(objects string)
	follow = func(objects string) {
		data, _ := plainfile.Read(filepath.Join(objects, "info", "alternates")) // most have none
		for line := range strings.Lines(string(data)) {
			path := strings.TrimSpace(line)
			if !filepath.IsAbs(path) {
				path = filepath.Join(objects, path)
			}
			if filepath.Base(path) == "objects" && !slices.Contains(out, path) { // anything else is no store
				out = append(out, path)
				follow(path)
			}
		}
	}
	for _, dir := range dirs {
		follow(filepath.Join(dir, "objects"))
	}
	return out
}

package checks

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// nodePackage is what of a package.json says how it is tested.
type nodePackage struct {
	Scripts      map[string]any             `json:"scripts"`
	Manager      string                     `json:"packageManager"`
	Workspaces   json.RawMessage            `json:"workspaces"`
	Dependencies map[string]json.RawMessage `json:"dependencies"`
	Development  map[string]json.RawMessage `json:"devDependencies"`
}

// nodePackage reads a package.json, and says whether there is one.
func (d detector) nodePackage(file string) (pkg nodePackage, ok bool) {
	text, found := d.read(file)
	return pkg, found && json.Unmarshal([]byte(text), &pkg) == nil
}

// tested wants a test script that a person wrote: npm init puts one there that
// only fails.
func (p nodePackage) tested() bool {
	script, _ := p.Scripts["test"].(string)
	return strings.TrimSpace(script) != "" && !strings.Contains(script, "no test specified")
}

// nodeTest is the package's test script, or else those of its workspaces.
func (d detector) nodeTest() string {
	pkg, ok := d.nodePackage("package.json")
	if !ok {
		return ""
	}
	manager := d.nodeManager(pkg)
	if pkg.tested() {
		if manager == "bun" {
			return "bun run test" // "bun test" is bun's own runner, not the script
		}
		return manager + " test"
	}
	all, some := d.testedWorkspaces(pkg)
	switch {
	case !some:
		return ""
	case manager == "npm":
		return "npm test --workspaces --if-present"
	case manager == "pnpm":
		return "pnpm --recursive test"
	case manager == "bun":
		return "bun run --filter '*' test"
	case d.has(".yarnrc.yml"):
		return "yarn workspaces foreach --all run test"
	case all: // of the classic one, which fails where a script is missing
		return "yarn workspaces run test"
	}
	return ""
}

// nodeManager is the program that the project uses: it says so, or its lock file
// does.
func (d detector) nodeManager(pkg nodePackage) string {
	managers := []string{"npm", "pnpm", "yarn", "bun"}
	if name, _, _ := strings.Cut(pkg.Manager, "@"); slices.Contains(managers, name) {
		return name
	}
	for _, lock := range []struct{ file, manager string }{
		{"package-lock.json", "npm"},
		{"pnpm-lock.yaml", "pnpm"},
		{"yarn.lock", "yarn"},
		{"bun.lock", "bun"},
		{"bun.lockb", "bun"},
	} {
		if d.has(lock.file) {
			return lock.manager
		}
	}
	if d.has("pnpm-workspace.yaml") {
		return "pnpm"
	}
	return "npm"
}

// testedWorkspaces reports whether all, and whether some, of the packages that are
// kept in folders of their own have a test script.
func (d detector) testedWorkspaces(pkg nodePackage) (all, some bool) {
	all = true
	for _, member := range d.members(pkg) {
		all, some = all && member.tested(), some || member.tested()
	}
	return all, some
}

// members are the packages that are kept in folders of their own; one that cannot be
// read has nothing in it.
func (d detector) members(pkg nodePackage) []nodePackage {
	var out []nodePackage
	for _, pattern := range d.workspaces(pkg) {
		pattern = path.Clean(strings.ReplaceAll(pattern, "**", "*"))
		files, _ := fs.Glob(d.root.FS(), path.Join(pattern, "package.json"))
		for _, file := range files {
			member, _ := d.nodePackage(file)
			out = append(out, member)
		}
	}
	return out
}

// workspaces are the patterns of folders that package.json, or pnpm's own file,
// names.
func (d detector) workspaces(pkg nodePackage) []string {
	var out []string
	var more struct {
		Packages []string `json:"packages"`
	}
	if json.Unmarshal(pkg.Workspaces, &out) != nil && json.Unmarshal(pkg.Workspaces, &more) == nil {
		out = more.Packages
	}
	text, _ := d.read("pnpm-workspace.yaml")
	listed := false
	for line := range strings.Lines(text) {
		item, isItem := strings.CutPrefix(strings.TrimSpace(line), "- ")
		switch {
		case isItem && listed:
			out = append(out, strings.Trim(strings.TrimSpace(item), `'"`))
		case strings.TrimSpace(line) != "":
			listed = strings.HasPrefix(line, "packages:")
		}
	}
	return slices.DeleteFunc(out, func(pattern string) bool { return strings.HasPrefix(pattern, "!") })
}

// lacksPackages reports whether packages are needed, be it by those in folders of
// their own alone, that are not there.
func (d detector) lacksPackages() bool {
	pkg, ok := d.nodePackage("package.json")
	if !ok || !pkg.needsOthers() && !slices.ContainsFunc(d.members(pkg), nodePackage.needsOthers) {
		return false
	}
	for _, name := range []string{"node_modules", ".pnp.cjs", ".pnp.js"} {
		if _, err := d.root.Lstat(name); err == nil {
			return false
		}
	}
	return true
}

func (p nodePackage) needsOthers() bool { return len(p.Dependencies)+len(p.Development) > 0 }

package sandbox

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// seatbeltPath is the program that starts others under a profile, on macOS.
const seatbeltPath = "/usr/bin/sandbox-exec"

// spawnSeatbelt runs a task under a profile, as a child of this process.
func (w *Wall) spawnSeatbelt(ctx context.Context, t task, watch *watch) (ending, error) {
	profile := seatbeltProfile(w.policy, w.scratch, w.programs())
	t.Args = append([]string{seatbeltPath, "-p", profile, t.Path}, t.Args[1:]...)
	t.Path = seatbeltPath
	return direct{}.spawn(ctx, t, watch)
}

// seatbeltProfile writes a policy in the language of sandbox-exec, where the last
// rule that fits a call decides. Scratch is the wall's own folder, and path is where
// programs are found. Places that do not exist are left out, for there is no saying
// where they really lie.
func seatbeltProfile(p Policy, scratch string, path []string) string {
	written := slices.Concat([]string{filepath.Join(scratch, "tmp0")}, p.writable(), p.uppers())
	if p.Discard {
		written = append(written, p.Copy)
	}
	read := slices.Concat(written, []string{p.Tree}, p.cacheLayers())
	for _, c := range p.Caches {
		read = append(read, c.Dir)
	}
	b := &profile{}
	b.add("version 1")
	b.add("allow default")
	// Others of the user's processes, and those that would do work outside.
	b.add("deny signal process-info* mach-priv-task-port")
	b.add("allow signal process-info* mach-priv-task-port", "(target same-sandbox)")
	b.add("deny appleevent-send lsopen job-creation")
	b.add("deny mach-lookup", `(global-name "com.apple.SecurityServer")`, `(global-name "com.apple.securityd.xpc")`,
		`(global-name-prefix "com.apple.coreservices.")`, `(global-name "com.apple.pasteboard.1")`)
	b.add("deny file-write*")
	b.add(
		"allow file-write*",
		`(literal "/dev/null")`,
		`(literal "/dev/zero")`,
		`(literal "/dev/tty")`,
		`(literal "/dev/dtracehelper")`,
	)
	others := p.otherHomes()
	b.below("deny file-read* file-write*", others)
	b.below("allow file-read-metadata", others)
	for _, other := range others {
		b.below("allow file-read*", p.readInHome(other, path))
	}
	if home := p.ownHome(); home != "" {
		b.below("deny file-read* file-write*", []string{home})
		b.below("allow file-read-metadata", []string{home})
		b.below("allow file-read*", p.readInHome(home, path))
		b.below("allow file-read*", []string{filepath.Join(scratch, settingsDirName)})
	}
	b.below("deny file-read* file-write*", p.Hidden)
	b.below("allow file-read*", read)
	b.below("allow file-write*", written)
	if !p.Discard {
		b.below("deny file-write*", p.Fixed)
		// Moving a folder would move what is fixed in it out of the rules.
		b.each("deny file-write-unlink", "literal", ancestors(p.Fixed, written))
	}
	if p.Network {
		b.add("deny network-outbound", "(remote unix-socket)")
		b.add("allow network-outbound", `(remote unix-socket (path-literal "/private/var/run/mDNSResponder"))`)
	} else {
		b.add("deny network*")
	}
	return b.String()
}

// profile is a text of rules.
type profile struct{ strings.Builder }

// add writes a rule: what it does to which calls, and for which of them.
func (b *profile) add(rule string, filters ...string) {
	fmt.Fprintf(b, "(%s", rule)
	for _, f := range filters {
		fmt.Fprintf(b, "\n  %s", f)
	}
	b.WriteString(")\n")
}

// below writes a rule for places and all that is in them.
func (b *profile) below(rule string, paths []string) { b.each(rule, "subpath", paths) }

// each writes a rule for places under the names that the kernel knows them by.
// One that names none is left out, for it would hold for all.
func (b *profile) each(rule, filter string, paths []string) {
	var filters []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if text := fmt.Sprintf("(%s %s)", filter, schemeString(real)); err == nil && !slices.Contains(filters, text) {
			filters = append(filters, text)
		}
	}
	if len(filters) > 0 {
		b.add(rule, filters...)
	}
}

// schemeString writes a string of the profile's language.
func schemeString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// ancestors lists the folders that lead from one of the roots to a path, the
// roots with them.
func ancestors(paths, roots []string) []string {
	var out []string
	for _, path := range paths {
		dir := filepath.Dir(path)
		for slices.ContainsFunc(roots, func(root string) bool { return within(dir, root) }) {
			out = append(out, dir)
			dir = filepath.Dir(dir)
		}
	}
	return out
}

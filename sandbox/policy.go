package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Level is how much of a wall this machine can build, strongest first.
type Level string

// The levels. Each is what the next one falls back from.
const (
	// LevelNamespaces: namespaces of our own with an overlay on the tree,
	// Landlock and seccomp. Nothing is copied.
	LevelNamespaces Level = "namespaces"
	// LevelBubblewrap: the namespaces come from bwrap; the tree has to be copied.
	LevelBubblewrap Level = "bubblewrap"
	// LevelLandlock: no namespaces. A copied tree, Landlock, seccomp, and a
	// supervisor that ends what commands leave behind. Landlock does not see
	// chmod, touch and the like, so the real tree is compared afterwards.
	LevelLandlock Level = "landlock"
	// LevelSeatbelt: macOS's sandbox-exec, with a copied tree. What leaves its
	// process group lives on, and all processes are seen.
	LevelSeatbelt Level = "sandbox-exec"
	// LevelNone: no wall. A copied tree is all there is.
	LevelNone Level = "none"
)

// Levels lists the levels that this system has, strongest first.
func Levels() []Level { return append(systemLevels(), LevelNone) }

// NeedsCopy reports whether a tree that must not change has to be copied for
// its commands, because this level cannot lay a layer over it.
func (l Level) NeedsCopy() bool { return l != LevelNamespaces }

// mounts reports whether commands see a file system of their own.
func (l Level) mounts() bool { return l == LevelNamespaces || l == LevelBubblewrap }

// Policy says what the commands behind a wall may do. What it does not name
// can be read and not written. The temporary folders are always the wall's
// own, and the processes behind it see and reach no others.
//
// All paths are absolute. One that does not exist is left out, except Tree.
type Policy struct {
	// Tree is where the commands work, and may write.
	Tree string
	// Discard says that what is written to Tree and ExtraDirs is thrown away when
	// the wall is closed. Otherwise it is the real thing.
	Discard bool
	// Put are files that stand otherwise behind the wall than in the tree. They
	// need Discard.
	Put []Put
	// Tracked says that [Wall.Changes] and [Wall.Reset] will be asked for. They
	// need Discard; a copy is then looked at before the first command.
	Tracked bool
	// Copy is a copy of Tree to work in, where Discard is set and the level
	// needs one.
	Copy string
	// ExtraDirs are further directories that may be written like Tree.
	ExtraDirs []string
	// Fixed are files and directories in Tree and ExtraDirs that stay as they are.
	Fixed []string
	// Code are those files and directories in Tree and ExtraDirs that decide which
	// programs others run who work there, such as git's hooks. What of them is not
	// kept as it is by Fixed at this level, because the level can only grant or
	// because there is nothing yet, is put back as soon as the commands have ended.
	Code []string
	// CodeIn are directories in Tree and ExtraDirs in which more such files and
	// directories could be made: what was made there is removed with that.
	CodeIn []CodeDir
	// Starts is a directory out of reach where a record of Code and CodeIn stands
	// while commands could change them, for [RestoreStarts] of another process. "" is none.
	Starts string
	// Hidden are files and directories that cannot be read. Tree, ExtraDirs and
	// what else is named here can lie in them all the same.
	Hidden []string
	// Home is a directory of which only what is named here is seen: Tree, ExtraDirs,
	// Caches, Shown, Settings, and what the PATH of the commands names. Where commands
	// see a file system of their own they may write to the rest, which is empty and the
	// wall's own. A home that lies in Tree, or is Tree, is seen like Tree. "" is none.
	Home string
	// Homes are further directories of which only what is named here is seen, such as
	// those with the homes of others. Home may lie in one. Nothing is written to them.
	Homes []string
	// Shown are files and directories in Home and Homes, or where links in it lead, that can be
	// read. What lies in Hidden stays hidden.
	Shown []string
	// Settings are files of Home that stand there otherwise, read-only.
	Settings []Setting
	// Caches make builds fast. Their own folders are read and never written to.
	Caches []Cache
	// Unwatched are directories in Tree where others may write meanwhile:
	// changes there are no breach.
	Unwatched []string
	// Network says whether there is one. Without, there is a loopback of the
	// wall's own (LevelNamespaces and LevelBubblewrap), or none at all.
	Network bool
	// MaxProcesses bounds the processes and threads behind the wall. Default
	// 4096. Without a control group ([Bounded]) it counts those of an ordinary
	// user only, and not at all with LevelLandlock.
	MaxProcesses uint64
	// MaxMemory bounds, in bytes, the memory that everything behind the wall
	// uses together. 0 is no bound. Without a control group each process alone
	// is held to it, by what it may reserve to write to.
	MaxMemory uint64
}

// CodeDir is a directory in which only what holds data may be made.
type CodeDir struct {
	Dir  string   // need not be there
	Data []string // patterns of names, as [path.Match] knows them
	// Linked says that it holds a folder for each work tree or submodule. One that
	// commands cannot have made is left alone.
	Linked bool
}

// Setting is a settings file of a tool as its commands see it.
type Setting struct {
	Path string // where it stands in Home
	Data []byte // what is seen there
	// Changed says that the file itself holds something else, which is not to be
	// seen. Where nothing can be put at Path, the file itself is then hidden.
	Changed bool
	// Var is the environment variable that names such a file, "" if there is none.
	Var string
}

// Refusal says that a wall was asked for that cannot be built here.
type Refusal struct {
	Why []string // what is missing, one for each level tried
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("no sandbox can be built here: %v", r.Why)
}

// Hint says what to do about it.
func (r *Refusal) Hint() string {
	return `Allow user namespaces, install bubblewrap or use a kernel with Landlock ` +
		`("plan doctor" says what is missing); or let it run without: --sandbox auto.`
}

// writable lists the directories that are the real thing.
func (p Policy) writable() []string {
	if p.Discard {
		return nil
	}
	return append([]string{p.Tree}, p.ExtraDirs...)
}

// layered lists the directories whose changes are thrown away.
func (p Policy) layered() []string {
	if !p.Discard {
		return nil
	}
	return append([]string{p.Tree}, p.ExtraDirs...)
}

// ownHome is Home as the kernel knows it, "" where it is seen like Tree or is the
// root of everything.
func (p Policy) ownHome() string {
	home, err := filepath.EvalSymlinks(p.Home)
	if p.Home == "" || err != nil || home == "/" {
		return ""
	}
	tree, err := filepath.EvalSymlinks(p.Tree)
	if err != nil || within(home, tree) {
		return ""
	}
	return home
}

// otherHomes are Homes as the kernel knows them, without those that lie in Home or in
// each other, and those that are seen like Tree.
func (p Policy) otherHomes() []string {
	visible := realPaths([]string{p.Tree})
	if home := p.ownHome(); home != "" {
		visible = append(visible, home)
	}
	homes := slices.DeleteFunc(realPaths(p.Homes), func(home string) bool {
		return home == "/" || inAny(home, visible)
	})
	slices.Sort(homes)
	var out []string
	for _, home := range homes { // what lies in another comes behind it
		if !inAny(home, out) {
			out = append(out, home)
		}
	}
	return out
}

// dir is where a command works that says it works in dir.
func (p Policy) dir(l Level, dir string) string {
	if p.Discard && !l.mounts() && p.Copy != "" {
		return rebase(dir, p.Tree, p.Copy)
	}
	return dir
}

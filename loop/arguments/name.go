package arguments

import (
	"slices"
	"strings"
	"unicode"

	"github.com/plan-engine/plan/internal/spell"
)

// synonyms are names under which models know the same tool, folded; the first
// of a group is what it is called here. Words that could mean several tools
// (search, find, open, plan) are in no group on purpose: running the wrong one
// is worse than asking.
func synonyms() [][]string {
	rows := []string{
		"read cat view readfile openfile viewfile fileread fileview getfile getfilecontent " +
			"getfilecontents loadfile showfile readtextfile readfilecontent fsread",
		"listdir ls dir list listfiles listfile listdirectory listdirectorycontents listfolder " +
			"readdir readdirectory directorylist directorytree",
		"grep rg ripgrep searchfiles searchfile searchtext searchcode searchcontent searchfilecontent " +
			"searchinfiles grepsearch grepfiles findinfiles textsearch",
		"glob findfiles findfile filesearch globfiles globsearch fileglob findfilesbyname findbyname",
		"symbols symbol outline listsymbols findsymbol findsymbols getsymbols symbolsearch " +
			"documentsymbols fileoutline codeoutline listcodedefinitionnames",
		"write writefile createfile writetofile filewrite filecreate newfile savefile fswrite",
		"edit editfile fileedit strreplace stringreplace strreplaceeditor strreplacebasededittool " +
			"replaceinfile replacestringinfile searchreplace searchandreplace replace",
		"applypatch patch applydiff patchfile gitapply",
		"bash sh zsh shell cmd exec execute run command terminal runcommand execcommand " +
			"executecommand shellcommand bashcommand executebash runbash runshell runshellcommand " +
			"runterminalcmd runterminalcommand runinterminal localshell",
		"remember memorize savememory storememory addmemory writememory",
		"ask askuser askhuman question askquestion askuserquestion askfollowupquestion",
		"todo todowrite writetodo writetodos writetodolist todolist updatetodos updatetodolist " +
			"managetodolist",
	}
	var sets [][]string
	for _, row := range rows {
		sets = append(sets, strings.Fields(row))
	}
	return sets
}

// ResolveName finds the offered tool that a model means. A name that is
// offered is itself; otherwise case, separators, a namespace ("functions.") and
// the word "tool" at the end do not count, and common names of other systems
// stand for their like. If nothing can be meant but by guessing, resolved is
// "", and suggestion is the offered tool whose name is spelled nearly so, if
// there is one.
func ResolveName(name string, offered []string) (resolved, suggestion string) {
	if slices.Contains(offered, name) {
		return name, ""
	}
	plain := fold(bareName(name))
	for _, spelling := range []string{plain, strings.TrimSuffix(plain, "tool")} {
		if name := match(spelling, offered); name != "" {
			return name, ""
		}
	}
	return "", nearest(plain, offered)
}

// bareName takes off what some models put around a name: a namespace, the
// number of the call, control tokens.
func bareName(name string) string {
	name, _, _ = strings.Cut(name, "<|")
	name = strings.TrimSpace(name)
	for _, space := range []string{"functions.", "function.", "tools.", "tool.", "default_api."} {
		if len(name) > len(space) && strings.EqualFold(name[:len(space)], space) {
			name = name[len(space):]
			break
		}
	}
	if i := strings.LastIndexByte(name, ':'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	return name
}

// fold leaves the letters and digits of a name, in lower case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// match finds the one offered tool that a folded name stands for.
func match(spelling string, offered []string) string {
	if spelling == "" {
		return ""
	}
	same := func(o string) bool { return fold(o) == spelling }
	if name := only(offered, same); name != "" || slices.ContainsFunc(offered, same) {
		return name
	}
	for _, group := range synonyms() {
		if slices.Contains(group, spelling) {
			if name := only(offered, func(o string) bool { return fold(o) == group[0] }); name != "" {
				return name
			}
			return only(offered, func(o string) bool { return slices.Contains(group, fold(o)) })
		}
	}
	return ""
}

// only returns the one name that fits, or "" if none or several do.
func only(names []string, fits func(string) bool) string {
	match := ""
	for _, n := range names {
		if !fits(n) {
			continue
		}
		if match != "" {
			return ""
		}
		match = n
	}
	return match
}

// longestName is how long a name may be, in bytes, to be compared letter by
// letter.
const longestName = 64

// nearest finds the offered tool with a spelling at most a quarter away from
// this one; of several, the nearest, and of these the one offered first.
func nearest(spelling string, offered []string) string {
	if spelling == "" || len(spelling) > longestName {
		return ""
	}
	best, found := longestName, ""
	try := func(known, tool string) {
		longer := max(len([]rune(known)), len([]rune(spelling)))
		if d := spell.Distance(spelling, known); d < best && d*4 <= longer {
			best, found = d, tool
		}
	}
	for _, o := range offered {
		if len(o) <= longestName {
			try(fold(o), o)
		}
	}
	for _, group := range synonyms() {
		for _, alias := range group {
			if tool := match(alias, offered); tool != "" {
				try(alias, tool)
			}
		}
	}
	return found
}

package permit

import (
	"slices"
	"strings"
)

// harmless are the settings of git that only shape what it prints or records.
var harmless = []string{
	"user.",
	"author.",
	"committer.",
	"color.",
	"advice.",
	"init.",
	"commit.gpgsign",
	"tag.gpgsign",
	"core.quotepath",
	"core.autocrlf",
	"core.abbrev",
	"core.filemode",
	"gc.auto",
	"log.",
	"status.",
	"safe.directory",
	"diff.renames",
	"merge.conflictstyle",
	"protocol.version",
	"http.version",
}

// gitHazard says why git is asked about.
func gitHazard(p *Part) string {
	if risky(p.argv) {
		return "the setting may make git run other programs"
	}
	sub, args := gitCommand(p.argv)
	if !sub.known || sub.glob != "" {
		return "which subcommand it runs is only known when it runs"
	}
	g := &Part{argv: append([]word{sub}, args...)}
	first := ""
	if ops := g.operands(); len(ops) > 0 {
		first = ops[0].text
	}
	if h, ok := gitHazards[sub.text]; ok &&
		(len(h.options)+len(h.first) == 0 || slices.Contains(h.first, first) || g.has(h.options)) {
		return h.why
	}
	if sub.text == "config" && len(g.operands()) > 1 && !isHarmless(first) {
		return "the setting may make git run other programs"
	}
	return ""
}

// gitHazards are the subcommands that are asked about: with one of the options,
// or one of the words first behind it; without either, always.
var gitHazards = map[string]struct {
	why            string
	options, first []string
}{
	"push":          {why: "it sends work to others"},
	"send-email":    {why: "it sends work to others"},
	"send-pack":     {why: "it sends work to others"},
	"pull-request":  {why: "it changes what others see on the server"},
	"release":       {why: "it may change what others see on the server"},
	"api":           {why: "it may change what others see on the server"},
	"review":        {why: "it sends work to others"},
	"annex":         {why: "it may send work to others", first: []string{"sync", "assist", "push", "copy", "move"}},
	"svn":           {why: "it may send work to others"},
	"http-push":     {why: "it sends work to others"},
	"subtree":       {why: "it sends work to others", first: []string{"push"}},
	"lfs":           {why: "it sends work to others", first: []string{"push"}},
	"p4":            {why: "it may send work to others"},
	"reset":         {why: "it throws uncommitted work away", options: []string{"--hard", "--merge", "--keep"}},
	"clean":         {why: "it removes files that git does not know", options: []string{"-f", "--force"}},
	"filter-branch": {why: "it rewrites history"},
	"filter-repo":   {why: "it rewrites history"},
	"replace":       {why: "it rewrites history"},
	"reflog":        {why: "it throws kept work away", first: []string{"expire", "delete"}},
	"stash":         {why: "it throws kept work away", first: []string{"drop", "clear"}},
	"branch":        {why: "it removes a branch with what is only on it", options: []string{"-D", "--force"}},
	"tag":           {why: "it removes a tag", options: []string{"-d", "--delete"}},
	"update-ref":    {why: "it removes a name that work may hang on", options: []string{"-d", "--stdin"}},
	"gc":            {why: "it throws kept work away", options: []string{"--prune"}},
	"prune":         {why: "it throws kept work away"},
	"checkout":      {why: "it throws uncommitted work away", options: []string{"-f", "--force"}},
	"switch": {
		why:     "it throws uncommitted work away",
		options: []string{"-f", "--force", "--discard-changes"},
	},
	"worktree": {why: "it removes a work tree", first: []string{"remove", "prune"}},
	"config":   {why: "it changes settings outside the tree", options: []string{"--global", "--system"}},
	"remote": {
		why:   "it changes where work is sent",
		first: []string{"add", "set-url", "rename", "remove", "rm"},
	},
}

// risky reports whether git is given a setting, before its subcommand, that may
// make it run other programs.
func risky(argv []word) bool {
	_, args := gitCommand(argv)
	own := argv[1 : len(argv)-len(args)]
	for i, w := range own {
		value, ok := strings.CutPrefix(w.text, "-c")
		if !ok {
			continue
		}
		if value == "" && i+1 < len(own) {
			value = own[i+1].text
		}
		if !isHarmless(value) {
			return true
		}
	}
	return false
}

func isHarmless(setting string) bool {
	return slices.ContainsFunc(
		harmless,
		func(h string) bool { return strings.HasPrefix(strings.ToLower(setting), h) },
	)
}

// has reports whether one of the options is given, also one letter in a group.
func (p *Part) has(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		if strings.HasPrefix(o, "--") {
			return p.flag("", o)
		}
		return p.flag(o[1:])
	})
}

// git reads the commands that git is given to run.
func (r *reader) git(at int) {
	sub, args := gitCommand(r.parts[at].argv)
	r.alias(at, sub, args)
	for i, a := range args {
		for _, line := range r.parts[at].lines(a) {
			r.inside(at, line)
		}
		next := args[min(i+1, len(args)):]
		var value []word
		switch {
		case sub.text == "bisect" && a.text == "run":
			value = next
		case sub.text == "submodule" && a.text == "foreach":
			r.evaluated(
				at,
				"eval",
				slices.DeleteFunc(slices.Clone(next), func(w word) bool { return strings.HasPrefix(w.text, "--") }),
			)
			return
		case sub.text == "difftool" && (a.text == "-x" || a.text == "--extcmd") && len(next) > 0:
			r.inside(at, next[0].text)
		case sub.text == "rebase" && (a.text == "-x" || a.text == "--exec") && len(next) > 0:
			r.evaluated(at, "eval", next[:1])
		case sub.text == "rebase" && strings.HasPrefix(a.text, "--exec="):
			r.script(strings.TrimPrefix(a.text, "--exec="), unfed)
		}
		if value != nil {
			r.simple(value, unfed, nil)
			return
		}
	}
}

// alias reads what an alias means that is given before the subcommand.
func (r *reader) alias(at int, sub word, args []word) {
	argv := r.parts[at].argv
	for i, w := range argv[:len(argv)-len(args)] {
		setting := w.text
		if w.text == "-c" && i+1 < len(argv) {
			setting = argv[i+1].text
		}
		key, line, ok := strings.Cut(strings.TrimPrefix(setting, "-c"), "=")
		if !ok || !strings.EqualFold(key, "alias."+sub.text) {
			continue
		}
		if command, ok := strings.CutPrefix(line, "!"); ok {
			r.script(command+" "+meant(args), unfed)
			continue
		}
		full := []word{value("git")}
		for _, field := range strings.Fields(line) {
			full = append(full, value(field))
		}
		r.simple(append(full, args...), unfed, nil)
	}
}

// gitCommand is the subcommand behind git's own options, and what follows it.
func gitCommand(argv []word) (sub word, args []word) {
	for i := 1; i < len(argv); i++ {
		switch a := argv[i].text; {
		case a == "-C",
			a == "-c",
			a == "--git-dir",
			a == "--work-tree",
			a == "--namespace",
			a == "--config-env",
			a == "--attr-source",
			a == "--super-prefix",
			a == "--exec-path":
			i++
		case strings.HasPrefix(a, "-"):
		default:
			return argv[i], argv[i+1:]
		}
	}
	return value(""), nil
}

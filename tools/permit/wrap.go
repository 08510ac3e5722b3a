package permit

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a command that runs another one, which follows it.
type wrapper struct {
	takes    string // short options with a value of their own
	long     string // long options with a value of their own, blank-separated
	skip     int    // words between the options and the command
	lookup   string // short options with which nothing is run
	assigns  bool   // NAME=value may come before the command
	appended bool   // it adds words that are only known when it runs
}

// wrappers knows the commands that run another one.
var wrappers = map[string]wrapper{
	"builtin": {}, "busybox": {}, "command": {lookup: "vV"}, "doas": {
		takes:   "uC",
		assigns: true,
	}, "env": {
		takes:   "uCS",
		long:    "--unset --chdir --split-string",
		assigns: true,
	},
	"exec": {takes: "a"}, "flock": {
		takes: "wE",
		skip:  1,
	}, "ionice": {takes: "cnpPu"}, "ltrace": {takes: "eopu"}, "nice": {
		takes: "n",
		long:  "--adjustment",
	},
	"nohup": {}, "setarch": {skip: 1}, "setsid": {}, "stdbuf": {takes: "ioe"}, "strace": {takes: "eopPs"},
	"sudo": {
		takes:   "ugpChrRtTD",
		long:    "--user --group --prompt --host --chdir --chroot",
		assigns: true,
	}, "taskset": {skip: 1},
	"time": {takes: "of"}, "timeout": {
		takes: "ks",
		long:  "--kill-after --signal",
		skip:  1,
	}, "unbuffer": {}, "watch": {takes: "n"}, "winpty": {}, "xvfb-run": {takes: "nsef"},
	"xargs": {
		takes:    "adEILnPs",
		long:     "--arg-file --delimiter --max-args --max-procs --max-lines --replace --max-chars",
		appended: true,
	},
}

// shells run a script.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"}

// interpreters run a program that they may read on standard input.
var interpreters = []string{
	"python",
	"python2",
	"python3",
	"perl",
	"ruby",
	"node",
	"nodejs",
	"deno",
	"bun",
	"php",
	"lua",
	"Rscript",
	"osascript",
	"pwsh",
}

// unwrap looks into a command for the commands that it is given to run.
func (r *reader) unwrap(at int, in feed, hereText *string) {
	argv := r.parts[at].argv
	name, args := r.parts[at].program(), argv[1:]
	switch {
	case slices.Contains(shells, name):
		r.shell(at, args, in, hereText)
	case name == "eval", name == "trap":
		r.evaluated(at, name, args)
	case name == "." || name == "source":
		r.sourced(at, args, in, hereText)
	case name == "script" && r.parts[at].flag("c", "--command"):
		r.evaluated(at, "eval", r.parts[at].option("-c", "-qc", "-qec", "--command"))
	case name == "find" || name == "fd":
		r.find(name, args)
	case name == "git":
		r.git(at)
	case name == "alias", name == "enable", name == "hash":
		if len(args) > 1 || (len(args) == 1 && (name == "enable" || !strings.HasPrefix(args[0].text, "-"))) {
			r.parts[at].Opaque = "it gives names another meaning"
		}
	case name == "parallel":
		r.parallel(at, args)
	default:
		if w, ok := wrappers[name]; ok {
			r.wrapped(at, w, args, in, hereText)
			return
		}
		r.hidden(at, hereText)
		r.executes(at)
	}
}

// parallel reads the command line that parallel is given, in one word or in many.
func (r *reader) parallel(at int, args []word) {
	if end := slices.IndexFunc(args, func(w word) bool { return strings.HasPrefix(w.text, ":::") }); end >= 0 {
		args = args[:end]
	}
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		if (wrapper{takes: "jSPnNIa"}).takesNext(args[0].text) {
			args = args[min(1, len(args)-1):]
		}
		args = args[1:]
	}
	if !known(args) || strings.Contains(meant(args), "{") {
		r.parts[at].Opaque = "what it runs is only known when it runs"
		return
	}
	r.script(meant(args)+` "$PARALLEL"`, unfed)
}

// shell reads the script that a shell is given.
func (r *reader) shell(at int, args []word, in feed, hereText *string) {
	for i, a := range args {
		switch {
		case !a.known:
			r.parts[at].Opaque = "the script is only known when it runs"
			return
		case a.text == "--command":
			r.inline(at, args[i+1:])
			return
		case a.text == "-" || strings.HasPrefix(a.text, "--"):
			if (a.text == "--rcfile" || a.text == "--init-file") && i+1 < len(args) {
				args[i+1] = value("--")
			}
			continue
		case strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text[1:], "cs"),
			strings.HasPrefix(a.text, "+") && !strings.ContainsAny(a.text[1:], "cs"):
			if strings.ContainsAny(a.text[1:], "oO") && i+1 < len(args) {
				args[i+1] = value("--") // the value of -o
			}
			continue
		case strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "c"):
			r.inline(at, args[i+1:])
			return
		case strings.HasPrefix(a.text, "-"): // -s: as without a script
			continue
		}
		if !isInput(a) {
			r.scriptFile(at, a)
			return
		}
	}
	r.fed(at, in, hereText)
}

// sourced reads the file that a shell takes commands from.
func (r *reader) sourced(at int, args []word, in feed, hereText *string) {
	switch {
	case len(args) == 0:
	case !args[0].known:
		r.parts[at].Opaque = "what it reads is only known when it runs"
	case isInput(args[0]):
		r.fed(at, in, hereText)
	default:
		r.scriptFile(at, args[0])
	}
}

// fed reads the script that a shell finds on its standard input.
func (r *reader) fed(at int, in feed, hereText *string) {
	switch {
	case hereText != nil:
		r.script(*hereText, unfed)
	case in != unfed:
		r.parts[at].Opaque = "it runs whatever it is sent"
	}
}

// inline reads the script behind a shell's -c.
func (r *reader) inline(at int, args []word) {
	for len(args) > 0 && args[0].known && strings.HasPrefix(args[0].text, "-") {
		args = args[1:] // more options
	}
	switch {
	case len(args) == 0:
	case !args[0].known:
		r.parts[at].Opaque = "the script is only known when it runs"
	default:
		r.scoped(func() { r.script(args[0].text, unfed) })
	}
}

// evaluated reads what eval and trap run.
func (r *reader) evaluated(at int, name string, args []word) {
	if name == "trap" {
		if len(args) < 2 || strings.HasPrefix(args[0].text, "-") {
			return
		}
		args = args[:1]
	}
	for _, a := range args {
		if !a.known {
			r.parts[at].Opaque = "what it runs is only known when it runs"
			return
		}
	}
	r.script(meant(args), unfed)
}

// wrapped reads the command behind one that runs it.
func (r *reader) wrapped(at int, w wrapper, args []word, in feed, hereText *string) {
	for len(args) > 0 {
		a := args[0].text
		switch {
		case !args[0].known && args[0].split:
			r.parts[at].Opaque = "what it runs is only known when it runs"
			return
		case a == "--":
			r.behind(at, w, args[1:], in, hereText)
			return
		case w.assigns && isAssign(a):
			r.assigned(a)
		case !strings.HasPrefix(a, "-"):
			r.behind(at, w, args, in, hereText)
			return
		case w.looksUp(a):
			r.parts[at].quiet = true
			return
		case w.assigns && r.splits(a, args[1:]):
			return
		case w.takesNext(a):
			args = args[min(1, len(args)-1):]
		}
		args = args[1:]
	}
}

// looksUp reports whether nothing is run with an option.
func (w wrapper) looksUp(option string) bool {
	return w.lookup != "" && !strings.HasPrefix(option, "--") && strings.ContainsAny(option, w.lookup)
}

// takesNext reports whether the word after an option is its value.
func (w wrapper) takesNext(option string) bool {
	if strings.HasPrefix(option, "--") {
		return slices.Contains(strings.Fields(w.long), option)
	}
	value := strings.IndexAny(option[1:], w.takes)
	return value >= 0 && value == len(option)-2
}

// behind reads the command itself.
func (r *reader) behind(at int, w wrapper, args []word, in feed, hereText *string) {
	for w.assigns && len(args) > 0 && isAssign(args[0].text) {
		r.assigned(args[0].text)
		args = args[1:]
	}
	if len(args) <= w.skip {
		return
	}
	args = slices.Clone(args[w.skip:])
	switch name := path.Base(r.parts[at].argv[0].text); {
	case w.appended:
		for i := range args {
			if strings.Contains(args[i].text, "{}") {
				args[i] = unsaid(args[i].text)
			}
		}
		r.fromInput(args, in)
		return
	case name == "flock" && args[0].text == "-c" && len(args) > 1, name == "watch":
		if name == "flock" {
			args = args[1:]
		}
		r.evaluated(at, "eval", args)
		return
	}
	r.simple(args, in, hereText)
}

// fromInput reads a command that gets further words from its input.
func (r *reader) fromInput(args []word, in feed) {
	at := len(r.parts)
	r.simple(append(slices.Clone(args), unsaid("…")), in, nil)
	if len(r.lists) == 0 || !known(args) || at != len(r.parts)-1 {
		return
	}
	// What of its words is not known are names of files, and it is known which.
	p := &r.parts[at]
	if slices.Contains(readers, p.program()) && !p.flag("", "--pre", "--hostname-bin") {
		p.unsure, p.opens = false, r.lists
	}
}

// splits reads the command line that env is given as one word.
func (r *reader) splits(option string, rest []word) bool {
	text, ok := strings.CutPrefix(option, "--split-string")
	if !ok {
		if text, ok = strings.CutPrefix(option, "-S"); !ok {
			return false
		}
	}
	if text = strings.TrimPrefix(text, "="); text == "" && len(rest) > 0 {
		text, rest = rest[0].text, rest[1:]
	}
	if strings.Contains(text, `\`) {
		r.opaque(text, "env has backslashes of its own in a command that is one word")
		return true
	}
	for _, w := range rest {
		quoted, err := syntax.Quote(w.text, syntax.LangBash)
		if err != nil || !w.known {
			quoted = "$unknown"
		}
		text += " " + quoted
	}
	r.script("env "+text, unfed)
	return true
}

func isAssign(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" &&
		strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// find reads the commands that find runs on what it finds.
func (r *reader) find(name string, args []word) {
	start := value(".")
	if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") {
		start = args[0]
	}
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
		default:
			continue
		}
		var argv []word
		found := false
		for i++; i < len(args) && args[i].text != ";" && args[i].text != "+"; i++ {
			a := args[i]
			found = found || strings.Contains(a.text, "{}")
			switch {
			case a.text == "{}" && len(argv) > 0:
				a = start
			case strings.Contains(a.text, "{}"):
				a = unsaid(a.text)
			}
			argv = append(argv, a)
		}
		at := len(r.parts)
		r.simple(argv, unfed, nil)
		if (found || name == "fd") && at < len(r.parts) {
			r.parts[at].unsure = r.parts[at].namesFiles()
		}
	}
}

// assigned is assign for a word of a command.
func (r *reader) assigned(text string) {
	name, _, _ := strings.Cut(text, "=")
	r.variable(name)
}

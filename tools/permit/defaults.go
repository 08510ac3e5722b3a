package permit

import (
	"fmt"
	"slices"
	"strings"
)

// hazard says why a command is asked about where no rule says anything: it
// cannot be told what it does, or what it does cannot be taken back or reaches
// beyond the tree. It is "" for everything else.
func (p *Part) hazard(place Place) string {
	if p.Opaque != "" {
		return fmt.Sprintf("%s: %s", short(p.Text), p.Opaque)
	}
	if why := p.outside(place); why != "" {
		return why
	}
	if p.Redirect {
		return ""
	}
	name := p.program()
	if why, ok := always[name]; ok {
		return fmt.Sprintf("%s %s", name, why)
	}
	if look, ok := sometimes[name]; ok {
		if why := look(p); why != "" {
			return fmt.Sprintf("%s: %s", short(p.Text), why)
		}
	}
	if why := p.interprets(name); why != "" {
		return why
	}
	if why := p.handsOn(); why != "" {
		return fmt.Sprintf("%s: %s", short(p.Text), why)
	}
	if p.publishes() {
		return fmt.Sprintf("%s: it publishes to others", short(p.Text))
	}
	return p.sends()
}

// handsOn says why a command is asked about that a program which is not known may
// be given to run.
func (p *Part) handsOn() string {
	name := p.program()
	if _, ok := wrappers[name]; ok || slices.Contains(shells, name) || slices.Contains(haveVerbs, name) {
		return "" // what it runs is a part by itself, or elsewhere
	}
	for _, rest := range p.rests() {
		if look, ok := sometimes[rest[0].text]; ok && len(rest) > 1 {
			if why := look(&Part{argv: rest}); why != "" {
				return why
			}
		}
	}
	return ""
}

// interprets says that an interpreter runs a program that no rule has seen.
func (p *Part) interprets(name string) string {
	if !slices.Contains(interpreters, name) && !strings.HasPrefix(name, "python") {
		return ""
	}
	inFile := false
	for _, w := range p.operands() {
		if strings.HasPrefix(w.text, "<(") {
			return fmt.Sprintf("%s: it runs what another command prints", short(p.Text))
		}
		inFile = inFile || w.text != "-"
	}
	if p.feed == fetched && !inFile && !p.flag("ceE") {
		return name + " runs what was fetched from the network"
	}
	return ""
}

// outside says that the command writes outside the tree.
func (p *Part) outside(place Place) string {
	if p.vague {
		return fmt.Sprintf("%s: which file it writes is only known when it runs", short(p.Text))
	}
	for _, path := range p.writes {
		real := resolved(path)
		switch {
		case within(place.Root, real):
		case place.Temp != "" && within(place.Temp, real):
		case slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"}, path),
			strings.HasPrefix(path, "/dev/fd/"):
		default:
			return fmt.Sprintf("%s: it writes outside the tree, to %s", short(p.Text), path)
		}
	}
	return ""
}

// always is asked about, whatever the arguments.
var always = map[string]string{
	"sudo": "runs commands as another user", "doas": "runs commands as another user",
	"su":     "runs commands as another user",
	"pkexec": "runs commands as another user", "runuser": "runs commands as another user",
	"ssh": "works on another machine", "scp": "works on another machine", "sftp": "works on another machine",
	"chroot": "works outside the tree", "nsenter": "works outside the tree", "unshare": "leaves the sandbox's view",
	"mount": "changes the machine", "umount": "changes the machine", "mkfs": "changes the machine",
	"fdisk":     "changes the machine",
	"systemctl": "changes the machine", "service": "changes the machine", "crontab": "changes the machine",
	"at":       "runs commands later",
	"shutdown": "stops the machine", "reboot": "stops the machine", "halt": "stops the machine",
	"poweroff": "stops the machine",
	"iptables": "changes the machine", "useradd": "changes the machine", "usermod": "changes the machine",
	"passwd":  "changes the machine",
	"killall": "ends processes by name", "pkill": "ends processes by name", "shred": "destroys files for good",
	"twine": "publishes to others", "goreleaser": "publishes to others", "semantic-release": "publishes to others",
	"terraform": "changes what runs elsewhere", "tofu": "changes what runs elsewhere",
	"pulumi": "changes what runs elsewhere",
	"aws":    "works on an account elsewhere", "gcloud": "works on an account elsewhere",
	"az":     "works on an account elsewhere",
	"wipefs": "destroys a disk", "parted": "changes the machine",
}

// sometimes is asked about, depending on the arguments.
var sometimes = map[string]func(*Part) string{
	"rm": func(p *Part) string {
		switch {
		case p.flag("rR", "--recursive"):
			return "it removes folders with all that is in them"
		case slices.ContainsFunc(p.argv[1:], func(w word) bool { return w.split }):
			return "what it removes is only known when it runs"
		}
		return ""
	},
	"find":  flagged("it removes what it finds", "", "-delete"),
	"chmod": flagged("it changes the modes of whole folders", "R", "--recursive"),
	"chown": flagged("it changes the owner of whole folders", "R", "--recursive"),
	"chgrp": flagged("it changes the group of whole folders", "R", "--recursive"),
	"rsync": func(p *Part) string {
		for _, w := range p.operands() {
			if strings.Contains(w.text, ":") {
				return "it copies to or from another machine"
			}
		}
		if p.flag("", "--delete", "--remove-source-files") {
			return "it removes files"
		}
		return ""
	},
	"kill": func(p *Part) string {
		if slices.ContainsFunc(p.argv[1:], func(w word) bool { return w.text == "-1" || w.text == "0" }) &&
			len(p.argv) > 2 {
			return "it ends every process it can"
		}
		return ""
	},
	"dd": func(p *Part) string {
		for _, w := range p.writes {
			if strings.HasPrefix(w, "/dev/") && w != "/dev/null" {
				return "it writes to a device"
			}
		}
		return ""
	},
	"git": gitHazard,
	"gh": verbs(
		"it changes what others see on the server",
		"api",
		"auth",
		"secret",
		"create",
		"merge",
		"close",
		"delete",
		"edit",
		"upload",
		"fork",
		"run",
		"comment",
		"review",
		"reopen",
		"rename",
		"archive",
		"transfer",
		"sync",
		"publish",
	),
	"glab": verbs(
		"it changes what others see on the server",
		"api",
		"auth",
		"create",
		"merge",
		"close",
		"delete",
		"update",
	),
	"kubectl": verbs(
		"it changes what runs elsewhere",
		"apply",
		"delete",
		"create",
		"replace",
		"patch",
		"scale",
		"rollout",
		"exec",
		"edit",
		"drain",
		"cordon",
		"set",
		"run",
		"expose",
		"label",
		"annotate",
	),
	"helm": verbs(
		"it changes what runs elsewhere",
		"install",
		"upgrade",
		"uninstall",
		"delete",
		"rollback",
		"push",
	),
	"jj":     pushes,
	"hg":     pushes,
	"sl":     pushes,
	"bzr":    pushes,
	"fossil": pushes,
	"darcs":  pushes,
	"pijul":  pushes,
	"dvc":    pushes,
	"svn":    verbs("it sends work to others", "commit", "ci", "import", "lock", "unlock", "copy", "cp", "mkdir"),
	"gt":     verbs("it sends work to others", "submit", "ss", "merge"),
	"arc":    verbs("it sends work to others", "diff", "land"),
	"repo":   verbs("it sends work to others", "upload"),
	"docker": verbs("it reaches beyond the tree", "push", "login", "logout", "prune", "rmi", "swarm", "stack"),
	"podman": verbs("it reaches beyond the tree", "push", "login", "logout", "prune", "rmi"),
	"apt": verbs(
		"it changes the machine",
		"install",
		"remove",
		"purge",
		"upgrade",
		"update",
		"full-upgrade",
		"autoremove",
	),
	"apt-get": verbs(
		"it changes the machine",
		"install",
		"remove",
		"purge",
		"upgrade",
		"update",
		"dist-upgrade",
		"autoremove",
	),
	"yum":    verbs("it changes the machine", "install", "remove", "update", "upgrade"),
	"dnf":    verbs("it changes the machine", "install", "remove", "update", "upgrade"),
	"apk":    verbs("it changes the machine", "add", "del", "upgrade"),
	"pacman": flagged("it changes the machine", "SRU"),
	"brew":   verbs("it changes the machine", "install", "uninstall", "remove", "upgrade", "link", "tap"),
	"snap":   verbs("it changes the machine", "install", "remove", "refresh"),
	"npm":    global, "pnpm": global, "yarn": verbs("it changes the machine", "global"),
	"pip": userWide, "pip3": userWide,
}

// pushes looks for what version control other than git sends work to others with.
var pushes = verbs("it sends work to others", "push", "sync", "email")

func flagged(why, short string, long ...string) func(*Part) string {
	return func(p *Part) string {
		if p.flag(short, long...) {
			return why
		}
		return ""
	}
}

// verbs looks for a subcommand; one that is not known is asked about.
func verbs(why string, names ...string) func(*Part) string {
	return func(p *Part) string {
		for i, w := range p.operands() {
			switch {
			case i > 1:
				return ""
			case !w.known && (i == 0 || w.split):
				return "which subcommand it runs is only known when it runs"
			case slices.Contains(names, w.text):
				return why
			}
		}
		return ""
	}
}

func global(p *Part) string {
	if p.flag("g", "--global") || slices.ContainsFunc(p.operands(), func(w word) bool { return w.text == "link" }) {
		return "it changes the machine, not the tree"
	}
	return ""
}

func userWide(p *Part) string {
	if p.flag("", "--user", "--break-system-packages") {
		return "it changes the machine, not the tree"
	}
	return ""
}

// publishers are the subcommands that make a package public.
var publishers = map[string][]string{
	"npm":  {"publish", "unpublish", "deprecate", "dist-tag", "owner", "access", "token", "adduser", "login"},
	"pnpm": {"publish", "login"},
	"yarn": {"publish", "login"},
	"bun":  {"publish"},
	"lerna": {
		"publish",
	}, "changeset": {"publish"}, "nx": {"release"}, "jsr": {"publish"}, "deno": {"publish"},
	"vsce": {"publish"}, "ovsx": {"publish"},
	"cargo": {"publish", "yank", "owner", "login"},
	"gem":   {"push", "yank", "owner", "signin"},
	"rake": {
		"release",
	}, "poetry": {"publish"}, "uv": {"publish"}, "hatch": {"publish"}, "flit": {"publish"},
	"pdm": {"publish"}, "maturin": {"publish", "upload"},
	"mvn": {
		"deploy",
	}, "gradle": {"publish"}, "gradlew": {"publish"}, "sbt": {"publish"}, "dotnet": {"push"},
	"nuget": {"push"}, "dart": {"publish"}, "flutter": {"publish"},
	"mix": {
		"hex.publish",
	}, "cabal": {"upload"}, "opam": {"publish"}, "conan": {"upload"}, "fastlane": {"release", "deliver"},
	"vercel": {""}, "netlify": {"deploy"},
	"wrangler": {
		"deploy",
		"publish",
	}, "firebase": {"deploy"}, "heroku": {""}, "flyctl": {"deploy"}, "fly": {"deploy"},
}

// publishes reports whether the command makes something public. Runners that
// are given the program's name as a word are looked through.
func (p *Part) publishes() bool {
	argv := p.argv
	for len(argv) > 1 {
		name := pathBase(argv[0].text)
		switch {
		case name == "npx", name == "bunx", name == "pipx", name == "uvx":
		case strings.HasPrefix(name, "python") && argv[1].text == "-m":
			argv = argv[1:]
		default:
			return published(name, argv[1:])
		}
		argv = argv[1:]
		for len(argv) > 1 && strings.HasPrefix(argv[0].text, "-") {
			argv = argv[1:]
		}
		if always[pathBase(argv[0].text)] == "publishes to others" {
			return true
		}
	}
	return false
}

func published(name string, args []word) bool {
	subs, ok := publishers[name]
	if !ok || slices.ContainsFunc(args, func(w word) bool { return w.text == "--dry-run" || w.text == "--help" }) {
		return false
	}
	for _, w := range args {
		if !strings.HasPrefix(w.text, "-") &&
			slices.Contains(
				[]string{"test", "run", "build", "check", "install", "ci", "exec", "view", "info", "help", "add"},
				w.text,
			) {
			return false // what follows is a name of something else
		}
	}
	return slices.ContainsFunc(args, func(w word) bool {
		task := w.text[strings.LastIndexByte(w.text, ':')+1:] // of Gradle, behind its project
		return slices.ContainsFunc(subs, func(s string) bool {
			return w.text == s || strings.HasPrefix(name, "gradle") && strings.HasPrefix(task, s)
		}) || (len(subs) == 1 && subs[0] == "")
	})
}

func pathBase(text string) string { return text[strings.LastIndexByte(text, '/')+1:] }
